"""Do the layers hold, and does a planted violation fail?"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-logo",
            "--no-cache",
        ],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    result = _lint(copy)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("model/chunk.py", "import vademecum.postgres.pool", "Layers"),
        ("retrieve/fuse.py", "import vademecum.answer.cite", "Layers"),
        ("ingest/embed.py", "import vademecum.purge.pipeline", "Layers"),
        ("rank/bm25.py", "import psycopg", "no vendor"),
        ("answer/prompt.py", "import pydantic", "no vendor"),
    ],
)
def test_a_planted_import_is_caught(copy: Path, module: str, line: str, broken: str) -> None:
    path = copy / "src" / "vademecum" / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    result = _lint(copy)
    assert result.returncode == 1
    assert any("BROKEN" in row and broken in row for row in result.stdout.splitlines())


def test_a_planted_cycle_is_caught(copy: Path) -> None:
    for name, other in (("numbers", "sentences"), ("sentences", "numbers")):
        path = copy / "src" / "vademecum" / "text" / f"{name}.py"
        path.write_text(f"import vademecum.text.{other}\n", encoding="utf-8")
    result = _lint(copy)
    assert result.returncode == 1
    assert any("BROKEN" in row and "cycles" in row for row in result.stdout.splitlines())
