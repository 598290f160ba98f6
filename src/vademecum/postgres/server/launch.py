"""How does a server come up: after a crash, at once, and with a keeper of its own?"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from vademecum.errors import DatabaseAway, DatabaseUnusable
from vademecum.postgres.server import keeper
from vademecum.postgres.server.account import require_reach, server_account
from vademecum.postgres.server.cluster import (
    LOGIN,
    disk_full,
    is_disk_full,
    log_since,
    make_socket_folder,
    prepare_data,
    telling_line,
)
from vademecum.postgres.server.lock import opened_lock, try_lock
from vademecum.postgres.server.process import (
    PORT,
    ending,
    exists,
    read_postmaster,
    readable,
    send,
    server_environment,
    serving,
)
from vademecum.postgres.server.program import find_program

RECOVERY_SECONDS = 600.0
DEATH_SECONDS = 60.0
_ORPHAN_SECONDS = 5.0  # Backends see by themselves that their postmaster died, mostly at once.
# Signs of a predecessor that the kernel has not quite cleared away yet.
_TRANSIENT = ('lock file "postmaster.pid" already exists', "pre-existing shared memory block")

Tell = Callable[[str], None]


def address(socket_folder: Path, database: str) -> str:
    """Return the libpq address of a database of the server whose socket lies in the folder."""
    place = quote(str(socket_folder), safe="")
    return f"postgresql://{LOGIN}@/{database}?host={place}&port={PORT}"


def launch_server(folder: Path, data: Path, lock: int, idle_seconds: float, tell: Tell) -> Path:
    """Start the server, after whatever is left of the one before has gone.

    `lock` is the held keeper.lock, so no keeper lives; the new one inherits it.
    Return the socket folder.

    Raises: DatabaseAway, DataFolderUnusable, ServerVersionWrong, DiskFull, DatabaseUnusable.
    """
    account = server_account(data)
    require_reach(account, folder)
    _await_dead(data, tell)
    program = find_program(folder, account)
    data = prepare_data(folder, program, account, tell)
    tell("starting the database")
    until = time.monotonic() + DEATH_SECONDS
    while True:
        # The folder before this one was removed by the keeper that held the lock.
        socket_folder = make_socket_folder(data, account)
        order = keeper.Order(
            command=(str(program.bin / "postgres"), "-D", str(data), "-k", str(socket_folder)),
            adopted=0,
            data=str(data),
            folder=str(folder),
            socket_folder=str(socket_folder),
            idle_seconds=idle_seconds,
            uid=account.uid if account else -1,
            gid=account.gid if account else -1,
            lock=lock,
        )
        failure = _launch(order, tell)
        if failure is None:
            return socket_folder
        text, log = failure
        if is_disk_full(text, folder):
            raise disk_full(folder)
        if not any(sign in text for sign in _TRANSIENT) or time.monotonic() > until:
            raise DatabaseAway(
                f"PostgreSQL did not start: {telling_line(text)}", hint=f"Its log is {log}."
            )
        time.sleep(0.5)
        _await_dead(data, tell)


def adopt_server(
    folder: Path, data: Path, pid: int, socket_folder: Path, idle_seconds: float
) -> None:
    """Give the running server a new keeper if its own was killed."""
    with opened_lock(folder / "keeper.lock") as lock:
        if try_lock(lock):
            order = keeper.Order(
                command=(),
                adopted=pid,
                data=str(data),
                folder=str(folder),
                socket_folder=str(socket_folder),
                idle_seconds=idle_seconds,
                uid=-1,
                gid=-1,
                lock=lock,
            )
            os.close(_spawn(order))


def answers(socket_folder: Path) -> bool:
    """Tell whether a real connection works; make our database if it is missing.

    Raises: DatabaseUnusable if the server refuses for a reason that waiting does not cure.
    """
    import psycopg  # Not at the top: stop and status do without the driver.

    try:
        with psycopg.connect(address(socket_folder, LOGIN), connect_timeout=5) as connection:
            connection.execute("SELECT 1")
        return True
    except psycopg.OperationalError as error:
        why = str(error)
    if "too many clients" in why or "remaining connection slots" in why:
        return True  # It works, and hard.
    if f'database "{LOGIN}" does not exist' in why:
        return _make_database(socket_folder)
    if "role" in why and "does not exist" in why:
        raise DatabaseUnusable(
            f"The database has no login {LOGIN}, so it was not made by vademecum",
            hint="Set VADE_HOME to another folder, or DATABASE_URL.",
        )
    return False


def _make_database(socket_folder: Path) -> bool:
    import psycopg

    try:
        with psycopg.connect(address(socket_folder, "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {LOGIN}")
    except psycopg.errors.DiskFull as error:
        raise disk_full(socket_folder) from error
    except psycopg.OperationalError:
        return False  # It went down again: the caller looks why.
    return True


def _launch(order: keeper.Order, tell: Tell) -> tuple[str, Path] | None:
    """Launch a keeper with a server and wait for its first answer.

    If the server ends instead, return what it logged and where that lies.
    """
    folder = Path(order.folder)
    (folder / "start.log").write_bytes(b"")
    moment = (folder / "start.log").stat().st_mtime
    ended = _spawn(order)
    try:
        answered = _await_first_answer(order, ended, tell)
    finally:
        os.close(ended)
    return None if answered else log_since(folder, moment)


def _spawn(order: keeper.Order) -> int:
    """Start a keeper, which inherits the held lock; return a pipe that ends when it does."""
    reading, writing = os.pipe()
    root = str(Path(keeper.__file__).resolve().parents[3])
    try:
        with (Path(order.folder) / "start.log").open("ab") as log:
            done = subprocess.run(
                # Neither site packages nor the current folder: a small process, started fast.
                [sys.executable, "-P", "-S", "-m", keeper.__name__, order.as_text()],
                check=False,
                cwd="/",
                env={**server_environment(), "PYTHONPATH": root},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(order.lock, writing),
            )
    finally:
        os.close(writing)
    if done.returncode:
        os.close(reading)
        raise DatabaseUnusable(
            "The process that keeps the embedded PostgreSQL could not be started",
            hint=f"Its log is {Path(order.folder) / 'start.log'}.",
        )
    return reading


def _await_first_answer(order: keeper.Order, ended: int, tell: Tell) -> bool:
    """Wait for a server that was just launched; false if it ended instead."""
    began, told = time.monotonic(), False
    while not readable(ended, 0.02):
        found = read_postmaster(Path(order.data))
        if found and found.status == "ready" and answers(Path(order.socket_folder)):
            return True
        waited = time.monotonic() - began
        if waited > 2.0 and not told:
            tell("waiting for the database, which may be recovering")
            told = True
        if waited > RECOVERY_SECONDS:
            raise DatabaseAway(
                f"PostgreSQL was started, but did not answer within {waited:.0f} seconds",
                hint=f"Try again later. Its log is in {Path(order.folder) / 'log'}.",
            )
    return False


def _await_dead(data: Path, tell: Tell) -> None:
    """Wait until nothing of a killed server is left, then remove a pid file that misleads.

    No server answers to the pid file. Its process may still be on its way out, and backends
    may have outlived their postmaster; those that stay are killed.
    """
    began, told = time.monotonic(), False
    found = read_postmaster(data)
    while (orphans := serving(data)) or (found and ending(found.pid)):
        waited = time.monotonic() - began
        if not told:
            tell("waiting for the processes of a killed database server to end")
            told = True
        if waited > _ORPHAN_SECONDS:
            for pid in orphans:
                send(pid, signal.SIGKILL)
        if waited > DEATH_SECONDS:
            raise DatabaseAway(
                f"Processes of a killed PostgreSQL do not end: {orphans or found}",
                hint="Look why they hang, for example for a disk that does not answer.",
            )
        time.sleep(0.05)
    if found and exists(found.pid):
        # A zombie, or the pid of another program by now. PostgreSQL would take either for a
        # running server; a pid that is free it sees through by itself.
        (data / "postmaster.pid").unlink(missing_ok=True)
