"""Is everything there, once and whole, after `vade ingest` and the server were killed at random?"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support import HALF

from vademecum.postgres import embedded
from vademecum.postgres.server.process import read_postmaster, serving

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

SOURCE = Path(__file__).parents[2] / "src"
VADE = "from vademecum.cli.main import run; run()"
NEW_DOCUMENTS = 5
CHANGED_DOCUMENTS = 2


def _text(number: int, version: int) -> str:
    """A document of as many chunks as sections, which grows and shrinks by version."""
    sections = 1 + (number + version) % 4
    body = "\n\n".join(
        f"## Gate {part}\n\nDocument {number} version {version}: gate {part} opens early."
        for part in range(sections)
    )
    return f"# Notice {number}\n\n{body}\n"


@dataclass(slots=True)
class Land:
    """A data folder, a folder of documents, and the command."""

    home: Path
    documents: Path
    versions: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    watched: int = 0
    halves: list[tuple[Any, ...]] = field(default_factory=list)

    def path(self, number: int) -> Path:
        return self.documents / f"{number:04d}.md"

    def write(self, number: int) -> Path:
        self.versions[number] = self.versions.get(number, 0) + 1
        path = self.path(number)
        path.write_text(_text(number, self.versions[number]), encoding="utf-8")
        return path

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment |= {"VADE_HOME": str(self.home), "PYTHONPATH": str(SOURCE)}
        return subprocess.Popen(
            [sys.executable, "-c", VADE, *map(str, arguments), "--json"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *arguments: str | Path) -> dict[str, Any]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, (out, err)
        told: dict[str, Any] = json.loads(out)
        return told

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the server, started if need be, as a superuser."""
        with closing(embedded.start(self.home)) as server, psycopg.connect(server.url) as asking:
            cursor = asking.execute(query)  # type: ignore[call-overload]
            while cursor.nextset():
                pass  # the last statement's rows count
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def watch(self, until: float) -> None:
        """Look at every moment for a revision that is in sight and not whole."""
        with (
            suppress(psycopg.Error),
            closing(embedded.start(self.home)) as server,
            psycopg.connect(server.url, autocommit=True) as asking,
        ):
            while time.monotonic() < until:
                self.halves += asking.execute(HALF).fetchall()  # type: ignore[call-overload]
                self.watched += 1
                time.sleep(0.02)

    def kill_server(self, draw: random.Random) -> None:
        data = self.home / "postgres" / "data"
        found = read_postmaster(data.resolve())
        assert found
        pids = serving(data.resolve())
        draw.shuffle(pids)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def land(open_folder: Path) -> Land:
    documents = open_folder / "documents"
    documents.mkdir()
    return Land(home=open_folder, documents=documents)


def _cycle(land: Land, cycle: int, draw: random.Random) -> None:
    """Acknowledge two documents, then kill an ingest of others at a random moment."""
    first = cycle * (NEW_DOCUMENTS + 2)
    safe = [land.write(first), land.write(first + 1)]
    told = land.run("ingest", "--no-wait", *safe)
    assert all(result["status"] == "accepted" for result in told["documents"])
    land.acknowledged |= {str(path): land.versions[first + i] for i, path in enumerate(safe)}
    for number in range(first + 2, first + 2 + NEW_DOCUMENTS):
        land.write(number)
    if cycle:
        for number in draw.sample(range(first), CHANGED_DOCUMENTS):
            land.write(number)
    process = land.start("ingest", land.documents)
    moment = time.monotonic() + draw.uniform(0.8, 8.0)
    watching = threading.Thread(target=land.watch, args=(moment,))
    watching.start()
    time.sleep(max(0.0, moment - time.monotonic()))
    if cycle % 2:
        land.kill_server(draw)
    process.kill()
    process.communicate()
    watching.join()
    assert land.sql(HALF) == []
    present = {uri for (uri,) in land.sql("SELECT uri FROM vademecum.document")}
    assert set(land.acknowledged) <= present


@pytest.mark.parametrize("cycles", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_and_doubles_nothing(
    land: Land, cycles: int, record_testsuite_property: Callable[[str, object], None]
) -> None:
    draw = random.Random(cycles)
    started = time.monotonic()
    land.write(9999)
    assert land.run("ingest", land.documents)["documents"][0]["status"] == "ready"
    for cycle in range(cycles):
        _cycle(land, cycle, draw)
    killed = time.monotonic()
    states = land.sql("SELECT state, count(*) FROM vademecum.revision GROUP BY state")

    told = land.run("ingest", land.documents)
    assert {result["status"] for result in told["documents"]} <= {"ready", "unchanged"}
    recovered = time.monotonic()

    assert land.sql(HALF) == []
    expected = {str(land.path(n)): (_text(n, v), v) for n, v in land.versions.items()}
    listed = {d["uri"]: d for d in land.run("documents", "list")["documents"]}
    assert listed.keys() == expected.keys()
    assert {d["status"] for d in listed.values()} == {"ready"}
    assert {uri: d["chunks"] for uri, d in listed.items()} == {
        uri: text.count("## ") for uri, (text, _) in expected.items()
    }
    texts = dict(
        land.sql(
            "SELECT d.uri, r.text FROM vademecum.document d"
            " JOIN vademecum.revision r ON r.tenant = d.tenant AND r.id = d.current_revision"
        )
    )
    assert texts == {uri: text for uri, (text, _) in expected.items()}
    assert land.sql("SELECT count(*) FROM vademecum.revision WHERE state <> 'ready'") == [(0,)]
    # What dead workers held goes with the first rescue after their last heartbeat has aged.
    left = land.sql(
        "UPDATE vademecum.procrastinate_workers SET last_heartbeat = now() - interval '31 s';"
        "SELECT vademecum.rescue_ingestion();"
        "SELECT count(*) FROM vademecum.procrastinate_jobs"
    )
    assert left == [(0,)]
    doubled = "SELECT uri FROM vademecum.document GROUP BY uri HAVING count(*) > 1"
    assert land.sql(doubled) == []
    number = max(n for n in land.versions if n != 9999)
    found = land.run("search", f"Document {number} version 1: which gate opens early?", "-k", "8")
    assert str(land.path(number)) in {passage["uri"] for passage in found["passages"]}
    assert land.watched > cycles
    assert land.halves == []
    seconds = {"killing": killed - started, "recovery": recovered - killed}
    chunks = land.sql("SELECT count(*) FROM vademecum.chunk")[0][0]
    facts = {"cycles": cycles, "documents": len(expected), "chunks": chunks, "before": states}
    record_testsuite_property(f"kill-{cycles}", facts | {"watched": land.watched} | seconds)
