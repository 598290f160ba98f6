"""How does a test use `vade` as a person does: as a process, in a data folder of its own?"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vademecum.postgres import embedded

START = "from vademecum.cli.main import run; run()"


@dataclass(frozen=True)
class Vade:
    """Runs `vade` over one data folder."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(
        self, *arguments: str, stdin: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VADE_", "DATABASE_", "OPENAI_"))
        }
        result = subprocess.run(
            [sys.executable, "-c", START, *arguments],
            env=inherited | {"VADE_HOME": str(self.home)} | self.environment | environment,
            cwd=self.home,
            input=stdin,
            capture_output=True,
            timeout=300,
            check=False,
        )
        return subprocess.CompletedProcess(
            result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
        )

    def json(self, *arguments: str, failing: bool = False, **environment: str) -> Any:
        """Run with --json, expect success (or 1), and return the one document on stdout."""
        result = self(*arguments, "--json", **environment)
        assert result.returncode == failing, result.stderr + result.stdout
        return json.loads(result.stdout)

    def fails(self, *arguments: str, status: int, code: str, **environment: str) -> str:
        """Expect one clear line on stderr with a stable code, nothing else; return it."""
        result = self(*arguments, **environment)
        lines = result.stderr.strip().splitlines()
        assert result.returncode == status, result.stderr + result.stdout
        assert result.stdout == ""
        assert len(lines) == 1, lines
        assert lines[0].startswith("error: ")
        assert lines[0].endswith(f"[{code}]"), lines[0]
        assert "Traceback" not in result.stderr
        return lines[0]


def _home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="vade-e2e-", dir="/tmp"))
    home.chmod(0o755)
    return home


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """A data folder with the model converted, to be copied from."""
    home = _home()
    assert Vade(home)("model", "fetch").returncode == 0
    yield home / "models"
    shutil.rmtree(home)


@pytest.fixture(scope="module")
def vade(prepared: Path) -> Iterator[Vade]:
    """`vade` over a data folder that the tests of one module share."""
    home = _home()
    shutil.copytree(prepared, home / "models")
    yield Vade(home)
    embedded.stop(home)
    shutil.rmtree(home)


@pytest.fixture
def empty_vade() -> Iterator[Vade]:
    """`vade` over an empty data folder."""
    home = _home()
    yield Vade(home)
    embedded.stop(home)
    shutil.rmtree(home, ignore_errors=True)
