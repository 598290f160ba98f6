"""Which processes serve a data folder, and are they alive?

Standard library only: the keeper, which must stay small, imports it as well.
"""

import contextlib
import hashlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PORT = 5432  # Names the socket file only: the server never listens on TCP.
SOCKET_FILES = (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    """What postmaster.pid says. `status` is starting, stopping, ready, standby or empty."""

    pid: int
    socket_folder: Path | None
    status: str


def read_postmaster(data: Path) -> Postmaster | None:
    """Return what the data folder's postmaster.pid says; None if it is missing or unfinished."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not lines or not lines[0].strip().lstrip("-").isdigit():
        return None
    folder = lines[4].strip() if len(lines) > 4 else ""
    return Postmaster(
        pid=abs(int(lines[0])),
        socket_folder=Path(folder) if folder else None,
        status=lines[7].strip() if len(lines) > 7 else "",
    )


def exists(pid: int) -> bool:
    """Tell whether the process table has this pid, be it only as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def alive(pid: int) -> bool:
    """Tell whether the process exists and is not a zombie."""
    if not _has_proc():
        return exists(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    # The name, in parentheses, may hold anything; the state is the first field after it.
    return stat.rpartition(")")[2].split()[:1] not in (["Z"], ["X"], [])


def cluster_name(data: Path) -> str:
    """Return the name of the data folder's server, which its processes bear in their titles."""
    return f"vademecum-{hashlib.sha256(os.fsencode(data)).hexdigest()[:8]}"


def serves(pid: int, data: Path) -> bool:
    """Tell whether the process is alive and a PostgreSQL process of this data folder.

    Every PostgreSQL process works inside its data folder, so a pid that was given to
    another program, or to the server of another folder, is told apart by that.
    """
    if not alive(pid):
        return False
    if not _has_proc():
        return True
    place = _PROC / str(pid)
    try:
        command = (place / "cmdline").read_bytes().split(b"\0")
        # A killed process that still gives back its memory has lost its command line already.
        program = os.path.basename(command[0].partition(b":")[0])
        if program not in (b"", b"postgres"):
            return False
        # Compared as files: a path looks different from another mount namespace.
        return os.path.samefile(place / "cwd", data)
    except PermissionError:
        # Root in a container may not look where another account's process works.
        title = f"postgres: {cluster_name(data)}:".encode()
        return command[0].startswith(title) or command[1:3] == [b"-D", os.fsencode(data)]
    except OSError:
        return False


def orphan(socket_folder: Path, data: Path) -> int | None:
    """Return the living server that holds the socket though it does not serve this data folder: of
    one of the same name that somebody deleted. None without /proc."""
    try:
        first = (socket_folder / SOCKET_FILES[1]).read_text(errors="replace").split("\n")[0].strip()
        command = (_PROC / first / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    if not first.isdigit() or command[1:3] != [b"-D", os.fsencode(data)]:
        return None
    return None if serves(int(first), data) else int(first)


def ending(pid: int) -> bool:
    """Tell whether the process is on its way out: no zombie yet, but without a command line."""
    try:
        return alive(pid) and not (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def serving(data: Path) -> list[int]:
    """Return every living PostgreSQL process of this data folder; empty without /proc."""
    if not _has_proc():
        return []
    return [pid for pid in _pids() if serves(pid, data)]


def wait_for_exit(pid: int, seconds: float) -> bool:
    """Wait until the process is gone or a zombie; tell whether that is so."""
    until = time.monotonic() + seconds
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        except OSError:
            pass  # A kernel without pidfd: look again and again instead.
        else:
            try:
                return readable(descriptor, seconds)
            finally:
                os.close(descriptor)
    while alive(pid):
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)
    return True


def readable(descriptor: int, seconds: float) -> bool:
    """Wait until there is something to read, the end included; tell whether there is."""
    # Not select: a process with many connections has descriptors that it does not take.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def server_environment() -> dict[str, str]:
    """Return the environment of a PostgreSQL program: none of the caller's secrets or PG*."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TZ": "UTC"}


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that has just gone is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def _has_proc() -> bool:
    return (_PROC / "self" / "stat").exists()
