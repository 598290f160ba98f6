"""Are wrong words one clear line, before anything is opened?"""

import sys
from pathlib import Path

import pytest

from vademecum.cli import main


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("frobnicate", "usage"),
        ("ask", "usage"),
        ("ask| ", "usage"),
        ("search|x|-k|-1", "usage"),
        ("search|x|--mode|psychic", "usage"),
        ("search|x|--labels|group:a", "usage"),
        ("ingest|x|--meta|novalue", "usage"),
        ("ask|x|--conversation|not-an-id", "usage"),
        ("explain|not-an-id", "usage"),
        ("replay", "usage"),
        ("replay|not-an-id", "usage"),
        ("replay|--day|2026-01-01|--set|novalue", "usage"),
        ("replay|--day|2026-01-01|--set|search.fuson=x", "setting-unknown"),
    ],
)
def test_one_line_and_nothing_opened(
    words: str,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("VADE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["vade", *words.split("|")])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    (line,) = said.err.strip().splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f"[{code}]")
    assert not home.exists()
