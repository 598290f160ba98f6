"""Does the next start bring the embedded server back, whatever was killed, with every row?"""

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from vademecum.postgres import embedded
from vademecum.postgres.server.process import read_postmaster, serving

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="vade-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    embedded.stop(folder)
    shutil.rmtree(folder)


class Writer:
    """Inserts rows, a transaction each, until its server dies; keeps what was acknowledged."""

    def __init__(self, url: str, number: int) -> None:
        self.acknowledged: list[tuple[int, int]] = []
        self._url, self._number = url, number
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        with suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
            for row in itertools.count():
                connection.execute("INSERT INTO written VALUES (%s, %s)", [self._number, row])
                self.acknowledged.append((self._number, row))

    def join(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()


def kill(data: Path, victims: str) -> None:
    """Kill by pid; children first or last, as chance has it."""
    found = read_postmaster(data)
    assert found
    children = [pid for pid in serving(data) if pid != found.pid]
    pids = {"all": [found.pid, *children], "postmaster": [found.pid], "children": children}[victims]
    random.shuffle(pids)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def crash_under_writes(home: Path, victims: list[str]) -> tuple[int, list[float]]:
    """Kill once for each entry; return the rows acknowledged and the seconds of each start."""
    server = embedded.start(home)
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE written (writer int, row int)")
    acknowledged: set[tuple[int, int]] = set()
    seconds = []
    for cycle, each in enumerate(victims):
        writers = [Writer(server.url, 2 * cycle + number) for number in range(2)]
        time.sleep(random.uniform(0.2, 0.8))
        kill(server.data, each)
        began = time.monotonic()
        again = embedded.start(home)
        seconds.append(time.monotonic() - began)
        server.close()
        server = again
        for writer in writers:
            writer.join()
            assert writer.acknowledged
            acknowledged.update(writer.acknowledged)
        with psycopg.connect(server.url) as connection:
            kept = [tuple(row) for row in connection.execute("SELECT writer, row FROM written")]
        assert acknowledged - set(kept) == set()
        assert len(kept) == len(set(kept))
    return len(acknowledged), seconds


def test_five_kills_of_everything_lose_no_acknowledged_row(home: Path) -> None:
    rows, seconds = crash_under_writes(home, ["all"] * 5)
    print(f"{rows} rows acknowledged, starts of {min(seconds):.1f}-{max(seconds):.1f} s")
    assert rows > 50
    assert max(seconds) < 30


@pytest.mark.slow
def test_thirty_kills_lose_no_acknowledged_row(home: Path) -> None:
    rows, seconds = crash_under_writes(home, ["all", "postmaster", "children"] * 10)
    print(f"{rows} rows acknowledged, starts of {min(seconds):.1f}-{max(seconds):.1f} s")
    assert max(seconds) < 60


@pytest.mark.parametrize("victims", ["postmaster", "children"])
def test_a_part_of_the_server_that_is_killed_comes_back(home: Path, victims: str) -> None:
    rows, _ = crash_under_writes(home, [victims] * 2)
    assert rows > 20


def test_a_kill_of_keeper_and_server_at_once_is_made_good(home: Path) -> None:
    server = embedded.start(home)
    keeper = embedded.status(home).keeper
    assert keeper
    os.kill(keeper, signal.SIGKILL)
    kill(server.data, "all")
    steps: list[str] = []
    again = embedded.start(home, progress=steps.append)
    psycopg.connect(again.url).close()
    assert embedded.status(home).keeper not in (None, keeper)


def test_a_stuck_backend_without_its_postmaster_is_waited_for_then_killed(home: Path) -> None:
    server = embedded.start(home)
    found = read_postmaster(server.data)
    assert found
    stuck = psycopg.connect(server.url, autocommit=True)
    backend = stuck.info.backend_pid
    os.kill(backend, signal.SIGSTOP)  # It cannot see that its postmaster has died.
    os.kill(found.pid, signal.SIGKILL)
    steps: list[str] = []
    began = time.monotonic()
    again = embedded.start(home, progress=steps.append)
    assert time.monotonic() - began >= 4.0
    assert "waiting for the processes of a killed database server to end" in steps
    assert backend not in serving(server.data)
    psycopg.connect(again.url).close()
    stuck.close()


def test_a_start_waits_for_the_stopping_server_and_then_starts(home: Path) -> None:
    server = embedded.start(home)
    found = read_postmaster(server.data)
    assert found
    os.kill(found.pid, signal.SIGINT)
    again = embedded.start(home)
    latest = read_postmaster(server.data)
    assert latest and latest.pid != found.pid
    psycopg.connect(again.url).close()


@pytest.mark.parametrize("following", ["start", "stop"])
def test_a_starter_that_dies_before_its_server_is_up_does_no_harm(
    home: Path, following: str
) -> None:
    embedded.start(home).close()
    embedded.stop(home)
    kept = home / "postgres" / "keeper.lock"
    before = kept.read_text()
    code = "import sys, pathlib; from vademecum.postgres import embedded; "
    code += "embedded.start(pathlib.Path(sys.argv[1]))"
    source = str(Path(embedded.__file__).resolve().parents[2])
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(home)], env={**os.environ, "PYTHONPATH": source}
    )
    while kept.read_text() in ("", before):
        assert starter.poll() is None
    starter.kill()
    starter.wait()
    began = time.monotonic()
    if following == "start":
        psycopg.connect(embedded.start(home).url).close()
        assert str(embedded.status(home).keeper) == kept.read_text().strip()
    else:
        assert embedded.stop(home)
        assert serving(home / "postgres" / "data") == []
    assert time.monotonic() - began < 4.0
