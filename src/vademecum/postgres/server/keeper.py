"""Who starts the postmaster, reaps it, and stops it when nobody has used it for a while?

A small detached process, started by `embedded.start`. It is the postmaster's parent, or adopts
a running one whose keeper was killed. It imports the standard library only. It holds an exclusive
lock on `keeper.lock` for its life (inherited from its starter, so that there is no moment without
it). Every client holds a shared lock on `users.lock`; when the keeper has found no such lock, and
no new one, for `idle_seconds`, it takes the lock for itself, stops the server and exits. A client
that comes meanwhile waits for the lock and then starts a new server.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from vademecum.postgres.server.process import (
    SOCKET_FILES,
    send,
    server_environment,
    serves,
    wait_for_exit,
)

LONGEST_PAUSE = 5.0  # Seconds between two looks at the users' lock.
KEPT_LOGS = 8
_LOG_CHECK = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a keeper is to do. Paths are texts, since it travels as JSON.

    `command` starts a postmaster; if empty, the running process `adopted` is kept instead.
    `uid`, `gid` is the account to drop to, -1 to stay. `lock` is the descriptor of the held
    keeper.lock.
    """

    command: tuple[str, ...]
    adopted: int
    data: str
    folder: str
    socket_folder: str
    idle_seconds: float
    uid: int
    gid: int
    lock: int

    def as_text(self) -> str:
        return json.dumps(asdict(self))


def main(text: str) -> int:
    """Carry out an order in a process of its own that no caller has to reap."""
    order = Order(**json.loads(text))
    if os.fork():
        os._exit(0)
    os.ftruncate(order.lock, 0)
    os.pwrite(order.lock, f"{os.getpid()}\n".encode(), 0)
    try:
        if order.command:
            server = _launch(order)
            _watch(server.pid, order)
            server.wait()
        elif serves(order.adopted, Path(order.data)):
            _watch(order.adopted, order)
    finally:
        if not _replaced(order):
            remove_socket_folder(Path(order.socket_folder))
    return 0


def _replaced(order: Order) -> bool:
    """Tell whether somebody deleted the data folder and made another one of its name: then the
    socket's folder is that one's."""
    try:
        now = os.stat(Path(order.folder) / "keeper.lock")
    except OSError:
        return False
    return not os.path.samestat(now, os.fstat(order.lock))


def read_keeper(folder: Path) -> int | None:
    """Return the pid that the last keeper wrote; it may be dead."""
    try:
        text = (folder / "keeper.lock").read_text().strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None


def remove_socket_folder(folder: Path) -> None:
    """Remove the socket, its lock file and the folder of a server that is no more."""
    for name in SOCKET_FILES:
        (folder / name).unlink(missing_ok=True)
    # It stays if somebody put a file there; that is not in the next server's way.
    with suppress(OSError):
        folder.rmdir()


def prune_logs(folder: Path, kept: int = KEPT_LOGS) -> None:
    """Remove all but the newest server logs; their names sort by time."""
    for path in sorted(folder.glob("server-*.log"))[:-kept]:
        path.unlink(missing_ok=True)


def _launch(order: Order) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        order.command,
        # Inside its folder from the first moment on, so that it is known as its server.
        cwd=order.data,
        env=server_environment(),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,
        user=order.uid if order.uid >= 0 else None,
        group=order.gid if order.gid >= 0 else None,
        extra_groups=[] if order.uid >= 0 else None,
    )


def _watch(pid: int, order: Order) -> None:
    """Return when the server has ended, be it of itself or because nobody used it."""
    pause = max(0.05, min(LONGEST_PAUSE, order.idle_seconds / 4))
    users = os.open(Path(order.folder) / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    last_use = last_prune = time.monotonic()
    stamp = os.fstat(users).st_mtime_ns
    while not wait_for_exit(pid, pause):
        now = time.monotonic()
        if now - last_prune > _LOG_CHECK:
            prune_logs(Path(order.folder) / "log")
            last_prune = now
        if not _taken(users):
            last_use = now
            continue
        # A client touches the file, so that one who came and went between two looks counts.
        latest = os.fstat(users).st_mtime_ns
        if latest != stamp:
            stamp, last_use = latest, now
        if now - last_use < order.idle_seconds:
            fcntl.flock(users, fcntl.LOCK_UN)
            continue
        send(pid, signal.SIGINT)
        while not wait_for_exit(pid, LONGEST_PAUSE):
            pass
        return


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
