"""Killed before and after each step of the line, worker or server: is what is found right after
the restart one version, the old or the new one, whole; and does it end as if nothing had been?"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support import HALF, OPERATOR, make_bench, paragraphs

from vademecum.failpoint import POINTS, VARIABLE
from vademecum.postgres import embedded
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import open_pool
from vademecum.postgres.server.process import read_postmaster
from vademecum.worker.loop import once

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

HERE = Path(__file__).parent
URI = "rules"
CHUNKS = 6
ROWS = "SELECT r::text FROM vademecum.revision r ORDER BY number"
A_FEW = ["blob.after", "accept.after", "claim.after", "embed.before", "flip.after", "terms.after"]
# Killed up to here, nothing was acknowledged: the old version stays until it is brought again.
BEFORE_ACCEPTANCE = {
    "receive.before",
    "receive.after",
    "blob.before",
    "blob.after",
    "accept.before",
}


def text(version: int) -> str:
    """Each version has words of its own, and shares half of its chunks with the one before."""
    return paragraphs(
        [f"v{version + part % 2}p{part}x" for part in range(CHUNKS)] + [f"v{version}"]
    )


def start(url: str, blobs: Path, version: int, failpoint: str | None) -> subprocess.Popen[str]:
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])
    if failpoint:
        environment[VARIABLE] = failpoint
    return subprocess.Popen(
        [sys.executable, str(HERE / "failpoint_worker.py"), url, str(blobs), URI, text(version)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(worker: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return exit status, output and errors of a worker that ends by itself."""
    out, err = worker.communicate(timeout=60)
    return worker.returncode, out.strip(), err


async def look(url: str, blobs: Path) -> str:
    """Return the text of the one version that both legs find, after looking that it is whole."""
    async with open_pool(url, size=4) as pool:
        bench = await make_bench(pool, url, blobs)
        assert bench.sql(HALF) == []
        texts = []
        for mode in ("dense", "keyword"):
            found = await bench.app.search("rule", scope=OPERATOR, k=50, mode=mode)
            passages = [p.source.chunk for p in found.retrieval.passages]
            ordered = sorted(passages, key=lambda chunk: chunk.start)
            texts.append("\n\n".join(chunk.text for chunk in ordered))
        assert texts[0] == texts[1], "the legs see two versions"
        return texts[0]


async def recover(url: str, blobs: Path) -> None:
    """What a worker does after the leases of the dead have run out."""
    async with open_pool(url, size=4) as pool:
        bench = await make_bench(pool, url, blobs)
        bench.sql("UPDATE vademecum.revision SET lease_until = now() - interval '1 s'"
                  " WHERE lease_until IS NOT NULL")  # fmt: skip
        bench.sql("UPDATE vademecum.procrastinate_workers"
                  " SET last_heartbeat = now() - interval '31 s'")  # fmt: skip
        await once(bench.app)
        assert await bench.app.catalogue.jobs.pending(OPERATOR) == []
        assert bench.count("procrastinate_jobs") == 0
        assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == CHUNKS + 1


def run_through(
    url: Callable[[], str], blobs: Path, points: list[str], kill: Callable[[str, int], None]
) -> None:
    """Bring one new version a point, kill at the point, look, recover, and look again."""
    assert ended(start(url(), blobs, 0, None))[1] == "ready"
    for version, point in enumerate(points, 1):
        kill(point, version)
        old, new = text(version - 1), text(version)
        assert asyncio.run(look(url(), blobs)) in (old, new), point
        asyncio.run(recover(url(), blobs))
        found = asyncio.run(look(url(), blobs))
        assert found == (old if point in BEFORE_ACCEPTANCE else new), point
        _, out, err = ended(start(url(), blobs, version, None))  # again: nothing is doubled
        assert out == ("ready" if point in BEFORE_ACCEPTANCE else "unchanged"), (point, err)
        assert asyncio.run(look(url(), blobs)) == new, point


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(A_FEW, id="a few"),
        pytest.param(list(POINTS), id="all", marks=pytest.mark.slow),
    ],
)
def test_a_worker_killed_at_any_step(database_url: str, tmp_path: Path, points: list[str]) -> None:
    blobs = tmp_path / "blobs"

    def kill(point: str, version: int) -> None:
        status, *told = ended(start(database_url, blobs, version, f"{point}:kill"))
        assert status == -signal.SIGKILL, (point, told)

    run_through(lambda: database_url, blobs, points, kill)


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(["accept.after", "chunks.after", "event.after"], id="a few"),
        pytest.param(list(POINTS), id="all", marks=pytest.mark.slow),
    ],
)
def test_a_server_killed_at_any_step(open_folder: Path, tmp_path: Path, points: list[str]) -> None:
    blobs = tmp_path / "blobs"
    held = tmp_path / "held"
    with closing(embedded.start(open_folder)) as server:
        migrate(server.url)

    def url() -> str:
        running = embedded.start(open_folder)
        running.close()
        return running.url

    def kill(point: str, version: int) -> None:
        worker = start(url(), blobs, version, f"{point}:hold={held}")
        until = time.monotonic() + 60
        while not held.exists():
            assert worker.poll() is None, (point, worker.communicate())
            assert time.monotonic() < until, point
            time.sleep(0.01)
        postmaster = read_postmaster(server.data)
        assert postmaster
        os.kill(postmaster.pid, signal.SIGKILL)
        held.unlink()
        try:
            worker.communicate(timeout=2)
        except subprocess.TimeoutExpired:  # it waits for a server that may come back
            worker.kill()
            worker.communicate()

    run_through(url, blobs, points, kill)


def test_a_worker_that_was_stopped_for_longer_than_its_lease_changes_nothing(
    database_url: str, tmp_path: Path
) -> None:
    blobs = tmp_path / "blobs"
    assert ended(start(database_url, blobs, 0, None))[1] == "ready"
    stopped = start(database_url, blobs, 1, "embed.after:stop")
    while Path(f"/proc/{stopped.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
        assert stopped.poll() is None
        time.sleep(0.02)
    asyncio.run(recover(database_url, blobs))
    assert asyncio.run(look(database_url, blobs)) == text(1)
    assert ended(start(database_url, blobs, 2, None))[1] == "ready"
    with psycopg.connect(database_url) as connection:
        before = connection.execute(ROWS).fetchall()
    os.kill(stopped.pid, signal.SIGCONT)
    _, out, err = ended(stopped)
    assert out == "ready", err  # its document is: another did the work
    assert asyncio.run(look(database_url, blobs)) == text(2)
    with psycopg.connect(database_url) as connection:
        after = connection.execute(ROWS).fetchall()
    assert after == before
