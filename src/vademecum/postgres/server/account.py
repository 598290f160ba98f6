"""As which account does the server run, and what may that account reach?"""

import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from vademecum.errors import DatabaseUnusable, DataFolderUnusable

NAME = "vademecum"
_SECONDS_FOR_ANOTHER_USERADD = 10.0
_WITHOUT_ACCOUNT = (
    f"Make a system account named {NAME}, run vade as a normal user, or set DATABASE_URL."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account to drop to. Only root can; everybody else runs the server as themselves."""

    name: str
    uid: int
    gid: int


def server_account(data: Path) -> Account | None:
    """Return the account that the server of this data folder drops to; None without root.

    The owner of an existing data folder, so that root can join what a normal user made;
    else the system account `vademecum`, which is made when it is missing.

    Raises: DatabaseUnusable, DataFolderUnusable.
    """
    if os.geteuid() != 0:
        return None
    try:
        owner = data.stat()
    except FileNotFoundError:
        return _system_account()
    if owner.st_uid == 0:
        raise DataFolderUnusable(
            f"The data folder {data} belongs to root, and PostgreSQL does not run as root",
            hint=f'Run "chown -R {NAME} {data}".',
        )
    return Account(name=_name_of(owner.st_uid), uid=owner.st_uid, gid=owner.st_gid)


def run_as(
    account: Account | None, command: list[str], *, env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a short command as the account and return its output as text; never raises on failure.

    Raises: OSError if the program cannot be executed at all.
    """
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        cwd="/",
        env=env,
        stdin=subprocess.DEVNULL,
        umask=0o077,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def require_reach(account: Account | None, folder: Path) -> None:
    """Make sure that the account can enter the folder, by trying.

    Raises: DataFolderUnusable, naming the first folder on the way that it cannot enter.
    """
    if account is None:
        return
    way = [str(step) for step in reversed([folder, *folder.parents])]
    script = 'for step in "$@"; do cd -- "$step" 2>/dev/null || { echo "$step"; exit 1; }; done'
    tried = run_as(account, ["/bin/sh", "-c", script, "sh", *way])
    if tried.returncode:
        blocking = tried.stdout.strip() or str(folder)
        raise DataFolderUnusable(
            f"The account {account.name} cannot enter {blocking}, so PostgreSQL cannot run there",
            hint=f"Set VADE_HOME to a folder that the account {account.name} can enter, "
            "for example /var/lib/vademecum.",
        )


def _system_account() -> Account:
    until = time.monotonic() + _SECONDS_FOR_ANOTHER_USERADD
    while True:
        if known := _find_system_account():
            return known
        why = _add_system_account()
        # Another process may have made it, or be at it, which locks the password file.
        if why and not _find_system_account():
            if time.monotonic() > until:
                raise DatabaseUnusable(
                    f"The system account {NAME}, which PostgreSQL needs instead of root, "
                    f"could not be made: {why}",
                    hint=_WITHOUT_ACCOUNT,
                )
            time.sleep(0.2)


def _find_system_account() -> Account | None:
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        return None
    return Account(name=NAME, uid=entry.pw_uid, gid=entry.pw_gid)


def _add_system_account() -> str:
    """Add the account; return why it failed, empty if it did not."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    program = shutil.which("useradd", path=path)
    if program is None:
        raise DatabaseUnusable(
            f"There is no useradd to make the account {NAME}, which PostgreSQL needs "
            "instead of root",
            hint=_WITHOUT_ACCOUNT,
        )
    shell = shutil.which("nologin", path=path) or "/bin/false"
    options = [
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
    ]
    done = run_as(None, [program, *options, "--shell", shell, NAME])
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"
