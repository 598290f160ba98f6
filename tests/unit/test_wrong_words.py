"""Are wrong words one clear line, before anything is opened?"""

import os
from pathlib import Path

import pytest

from vademecum.cli.main import run


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
        ("recall|x|--stage|odd", "usage"),
        ("recall|x|--conversation|not-an-id", "usage"),
        ("memories|show|not-an-id", "usage"),
        ("memories|edit|not-an-id|--text|x", "usage"),
        ("memories|pin|not-an-id", "usage"),
        ("memories|confirm|not-an-id", "usage"),
        ("memories|reject|not-an-id", "usage"),
        ("memories|forget|not-an-id", "usage"),
        ("conversations|show|not-an-id", "usage"),
        ("conversations|delete|not-an-id", "usage"),
        ("keys|revoke|not-an-id", "usage"),
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
    for name in [name for name in os.environ if name.startswith(("VADE_", "DATABASE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VADE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run(words.split("|"))
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    (line,) = said.err.strip().splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f"[{code}]")
    assert not home.exists()
