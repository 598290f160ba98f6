"""How does the embedded PostgreSQL server run, shared by every process of one data folder?

In `<home>/postgres`: `data`, `log`, `start.log`, and three lock files. `lock` serialises starting
and stopping; `users.lock` is held shared by every client for as long as it uses the server;
`keeper.lock` is held by the keeper, the postmaster's parent (see `keeper`). A client takes its
lease on `users.lock` before it looks for a server, so the keeper, which needs that lock alone in
order to stop an idle server, cannot stop it between the look and the use.
"""

import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from vademecum.errors import DatabaseAway
from vademecum.postgres.server import keeper
from vademecum.postgres.server.cluster import LOGIN, explained, prepare_folder
from vademecum.postgres.server.launch import (
    DEATH_SECONDS,
    RECOVERY_SECONDS,
    Tell,
    address,
    adopt_server,
    answers,
    launch_server,
)
from vademecum.postgres.server.lock import Lease, locked, opened_lock, take_lock, try_lock
from vademecum.postgres.server.process import (
    PORT,
    SOCKET_FILES,
    alive,
    read_postmaster,
    send,
    serves,
    wait_for_exit,
)
from vademecum.postgres.server.program import installed_version

IDLE_SECONDS = 15 * 60.0
_LOCK_SECONDS = 600.0  # Another process may be recovering a big database.
_ANSWER_SECONDS = 60.0
_STOP_SECONDS = 120.0
_STARTER = "another vade process that starts or stops the database"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server, and this process's lease on it: it is not idle until `close`."""

    socket_folder: Path
    port: int
    database: str
    user: str
    data: Path
    lease: Lease = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """The address for libpq and psycopg."""
        return address(self.socket_folder, self.database)

    def close(self) -> None:
        """Give the lease back; the server stays for others and for a while."""
        self.lease.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What runs for a data folder. `version` is that of the installed programs, like 18.6."""

    running: bool
    pid: int | None
    keeper: int | None
    version: str
    data: Path
    socket_folder: Path | None


def start(
    home: Path, *, progress: Tell | None = None, idle_seconds: float = IDLE_SECONDS
) -> Server:
    """Make sure that the server of `home` runs and answers; return it with a lease on it.

    Blocks, at most for the minutes that a recovery takes. `progress` gets a short text for each
    longer step. `idle_seconds` counts for a server that this call starts or adopts.

    Raises: DatabaseAway, DataFolderUnusable, ServerVersionWrong, DiskFull, DatabaseUnusable.
    """
    tell = progress or (lambda _: None)
    folder = prepare_folder(home)
    with (
        explained(folder),
        locked(folder / "lock", seconds=_LOCK_SECONDS, awaited=_STARTER, tell=tell),
        ExitStack() as undo,
    ):
        lease = Lease(
            take_lock(
                folder / "users.lock",
                shared=True,
                seconds=_STOP_SECONDS,
                awaited="the idle server to stop",
                tell=tell,
            )
        )
        undo.callback(lease.close)
        with opened_lock(folder / "keeper.lock") as keeper_lock:
            socket_folder = _join_or_launch(folder, keeper_lock, idle_seconds, tell)
        undo.pop_all()
    return Server(
        socket_folder=socket_folder,
        port=PORT,
        database=LOGIN,
        user=LOGIN,
        data=(folder / "data").resolve(),
        lease=lease,
    )


def stop(home: Path) -> bool:
    """Stop the server of `home`, whoever uses it; tell whether one was running.

    Open transactions are rolled back. Nothing stays behind: no process, no socket folder.

    Raises: DatabaseAway if it does not stop, DataFolderUnusable.
    """
    folder = (home.expanduser().absolute() / "postgres").resolve()
    if not folder.is_dir():
        return False
    running, socket_folder = False, None
    with (
        explained(folder),
        locked(folder / "lock", seconds=_LOCK_SECONDS, awaited=_STARTER),
        opened_lock(folder / "keeper.lock") as keeper_lock,
    ):
        data = (folder / "data").resolve()
        until = time.monotonic() + _STOP_SECONDS
        while True:
            found = read_postmaster(data)
            if found and serves(found.pid, data):
                running, socket_folder = True, found.socket_folder
                send(found.pid, signal.SIGINT)
                wait_for_exit(found.pid, 5.0)
            elif try_lock(keeper_lock):
                break
            # Else its keeper is about to end, or has a server that is not up yet.
            if time.monotonic() > until:
                raise DatabaseAway(
                    f"PostgreSQL did not stop within {_STOP_SECONDS:.0f} seconds",
                    hint=f"Its log is in {folder / 'log'}.",
                )
            time.sleep(0.02)
        # The name comes from a file of the server's account: it must not lead root elsewhere.
        if socket_folder and socket_folder.name.startswith(f"{LOGIN}-"):
            keeper.remove_socket_folder(socket_folder)
    return running


def status(home: Path) -> ServerStatus:
    """Tell what runs for `home`, without starting, waiting or locking.

    Raises: DataFolderUnusable if the folder may not be read.
    """
    folder = (home.expanduser().absolute() / "postgres").resolve()
    with explained(folder):
        data = (folder / "data").resolve()
        found = read_postmaster(data)
        kept = keeper.read_keeper(folder)
    running = found is not None and serves(found.pid, data)
    return ServerStatus(
        running=running,
        pid=found.pid if found and running else None,
        keeper=kept if kept and running and alive(kept) else None,
        version=installed_version(),
        data=data,
        socket_folder=found.socket_folder if found and running else None,
    )


def _join_or_launch(folder: Path, keeper_lock: int, idle_seconds: float, tell: Tell) -> Path:
    """Return the socket folder of a server that answers."""
    data = (folder / "data").resolve()
    until = time.monotonic() + DEATH_SECONDS
    while True:
        if socket_folder := _join(folder, data, idle_seconds, tell):
            return socket_folder
        if try_lock(keeper_lock):
            return launch_server(folder, data, keeper_lock, idle_seconds, tell)
        # A keeper without a server: it is about to end, or its server is not up yet.
        if time.monotonic() > until:
            raise DatabaseAway(
                f"Something keeps {folder}, but no server runs there",
                hint=f"Look which process holds {folder / 'keeper.lock'}, and end it.",
            )
        time.sleep(0.02)


def _join(folder: Path, data: Path, idle_seconds: float, tell: Tell) -> Path | None:
    """Return the socket folder of the running server once it answers; None if there is none."""
    began, told, asked_to_stop = time.monotonic(), False, False
    while (found := read_postmaster(data)) and serves(found.pid, data):
        socket_folder = found.socket_folder
        if found.status == "ready" and socket_folder and answers(socket_folder):
            adopt_server(folder, data, found.pid, socket_folder, idle_seconds)
            return socket_folder
        waited = time.monotonic() - began
        if waited > 1.0 and not told:
            tell("waiting for the running database to answer")
            told = True
        lost = socket_folder is None or not (socket_folder / SOCKET_FILES[0]).exists()
        if found.status == "ready" and lost and waited > 2.0 and not asked_to_stop:
            # Its runtime folder was cleared, for example at the end of a login session.
            tell("restarting the database, whose socket was removed")
            send(found.pid, signal.SIGINT)
            asked_to_stop = True
        if waited > (_ANSWER_SECONDS if found.status == "ready" else RECOVERY_SECONDS):
            raise DatabaseAway(
                f"PostgreSQL (process {found.pid}) runs but does not answer",
                hint=f'Run "vade stop" and try again. Its log is in {folder / "log"}.',
            )
        time.sleep(0.05)
    return None
