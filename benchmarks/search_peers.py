"""What does a search cost, beside other stores on the same texts, vectors and questions?

    python benchmarks/search_peers.py --peers FOLDER [--peers-python PYTHON] [--chunks 10000]
        [--home HOME] [--only ours parts ...]

FOLDER (or VADE_PEERS) holds `corpus.py` and `peers.py`, whose classes are the other rows; PYTHON
(or VADE_PEERS_PYTHON) is an interpreter with those stores. HOME keeps our database between runs
(`search_corpus.py` loads it where it is empty), else it is made for this run and removed.

Every row is a process of its own that is loaded once; then all of them take turns, round by round,
so that what else the machine does meets each alike. A round is hybrid top 20, the same under a
filter that keeps 1 % and one that keeps 0.1 %. After the rounds each deletes documents and asks
again. Medians of the rounds are printed. Ours is `App.search` with its permissions, confirmation,
text, trace and audit row, once as it is set by default and once without reranking; vectors and
token states are looked up, never computed. Processor time is of all processes, PostgreSQL's too.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from search_corpus import (
    TOP,
    Questions,
    documents_of,
    large_tenant,
    load_once,
    made,
    small_tenant,
    sources,
    tenant_of,
)

OURS = ("ours", "ours_norerank")
PEERS = ("parts", "chroma", "lancedb", "lancedb_ann", "langchain", "llamaindex", "haystack")
PEERS_100K = ("parts", "chroma", "lancedb", "lancedb_ann")
DELETIONS = 20
RECALLED = 50


class Store(Protocol):
    """A row. Chunks are told by their numbers."""

    def hybrid(self, question: int) -> list[int]: ...

    def filtered(self, question: int, tenant: str) -> list[int]: ...

    def nearest(self, question: int, k: int) -> list[int]: ...

    def before_deletions(self) -> None: ...

    def delete(self, document: int, chunks: Sequence[int]) -> None: ...

    def cpu_seconds(self) -> float: ...

    def memory_bytes(self) -> int: ...

    def disk_bytes(self) -> dict[str, int]: ...

    def close(self) -> None: ...


class Peer:
    """A class of the harness, with the corpus that it was given."""

    def __init__(self, name: str, chunks: int, folder: Path) -> None:
        self._corpus = made(chunks)
        self._folder = folder
        self._before = _own_bytes()
        self._store = import_module("peers").PEERS[name](str(folder), self._corpus)
        self._is_parts = name == "parts"
        began = time.perf_counter()
        self._store.ingest()
        self.loaded: dict[str, Any] = {"ingest_s": time.perf_counter() - began}

    def hybrid(self, question: int) -> list[int]:
        c = self._corpus
        return _numbers(self._store.hybrid(c.q_texts[question], c.q_vecs[question], TOP))

    def filtered(self, question: int, tenant: str) -> list[int]:
        c = self._corpus
        if self._is_parts and int(tenant[1:]) >= 100 - 5:
            return self._exact_parts(question, tenant)
        return _numbers(self._store.filtered(c.q_texts[question], c.q_vecs[question], TOP, tenant))

    def _exact_parts(self, question: int, tenant: str) -> list[int]:
        """The harness's parts know only which chunks are in its own hundredths: of a thousandth
        the same exact scan over a ready list, and the same keyword search, fused the same way."""
        np, fuse, c = import_module("numpy"), import_module("peers").rrf, self._corpus
        own = np.arange(int(tenant[1:]), len(c.ids), 1000)
        best = own[np.argsort(-(c.vecs[own] @ c.q_vecs[question]))[:40]]
        words = self._store.keyword(c.q_texts[question], 40, tenant)
        return _numbers(fuse([[f"c{number}" for number in best], words], top=TOP))

    def nearest(self, question: int, k: int) -> list[int]:
        return _numbers(self._store.vector(self._corpus.q_vecs[question], k))

    def before_deletions(self) -> None:
        """Nothing is to be looked up."""

    def delete(self, document: int, chunks: Sequence[int]) -> None:
        self._store.delete(f"d{document}", [f"c{chunk}" for chunk in chunks])

    def cpu_seconds(self) -> float:
        return sum(os.times()[:4])

    def memory_bytes(self) -> int:
        return _own_bytes() - self._before

    def disk_bytes(self) -> dict[str, int]:
        return {"disk_mib": _size(self._folder)}

    def close(self) -> None:
        self._store.close()


class Ours:
    """The product's own line over the database of a folder."""

    def __init__(self, home: Path, *, rerank: bool) -> None:
        self._before = _own_bytes()
        from bench_support import Lookup, opened_line

        self._home = home
        self._questions = Questions.load(home / "questions.npz")
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        opened = opened_line(Lookup(self._questions.known), home=home)
        line = self._runner.run(self._stack.enter_async_context(opened))
        self._line, self._app = line, ranked(line.app, rerank=rerank)
        self._gone: list[int] = []
        self._by_uri: dict[str, Any] = {}
        self.loaded: dict[str, Any] = {}

    async def _documents(self) -> Any:
        from bench_support import SCOPE

        return await self._app.catalogue.documents.all(SCOPE)

    def _run(self, work: Any) -> Any:
        return self._runner.run(work)

    def _search(self, question: int, **how: Any) -> list[int]:
        from bench_support import SCOPE

        found = self._run(
            self._app.search(self._questions.texts[question], scope=SCOPE, **({"k": TOP} | how))
        )
        assert not found.retrieval.degraded, found.retrieval.degraded
        # A chunk's last word is its code, which is its number.
        return [int(p.source.chunk.text.split()[-1][2:]) for p in found.retrieval.passages]

    def hybrid(self, question: int) -> list[int]:
        return self._search(question)

    def filtered(self, question: int, tenant: str) -> list[int]:
        from vademecum.model.filter_json import parse_filter

        return self._search(question, filter=parse_filter({"eq": ["tenant", tenant]}))

    def nearest(self, question: int, k: int) -> list[int]:
        return self._search(question, mode="dense", k=k)

    def before_deletions(self) -> None:
        """Look up the ids: those that another row deleted and brought back have new ones."""
        self._by_uri = {document.uri: document.id for document in self._run(self._documents())}

    def delete(self, document: int, chunks: Sequence[int]) -> None:
        from bench_support import SCOPE

        self._run(self._app.catalogue.delete(self._by_uri[f"d{document}"], scope=SCOPE))
        self._gone.append(document)

    def cpu_seconds(self) -> float:
        from bench_support import server_cpu_seconds

        return sum(os.times()[:4]) + server_cpu_seconds(self._line.postmaster)

    def memory_bytes(self) -> int:
        from bench_support import server_bytes

        return _own_bytes() - self._before + server_bytes(self._line.postmaster)

    def disk_bytes(self) -> dict[str, int]:
        import psycopg

        with psycopg.connect(self._line.url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return {
            "disk_mib": int(row[0]) + _size(self._home / "blobs"),
            "disk_with_wal_mib": _size(self._home),
        }

    def close(self) -> None:
        self._run(self._stack.aclose())
        self._runner.close()

    def restore(self) -> None:
        """Bring back what was deleted, so that the folder can be used again."""
        self._run(self._stack.aclose())
        self._run(_restored(self._home, self._gone, self._questions.chunks))
        self._runner.close()


async def _restored(home: Path, gone: Sequence[int], chunks: int) -> None:
    from bench_support import SCOPE, Lookup, opened_line
    from ingest_peers import GivenChunks, GivenTexts

    corpus = made(chunks)
    wanted = {f"d{document}" for document in gone}
    embedder = Lookup(dict(zip(corpus.texts, corpus.vecs, strict=True)))
    async with opened_line(
        embedder, parser=GivenTexts(), chunking=GivenChunks(), home=home
    ) as line:
        back = [source for source in sources(corpus) if source.uri in wanted]
        await line.app.ingest(back, scope=SCOPE)


def ranked(app: Any, *, rerank: bool) -> Any:
    """Return the App with or without late interaction."""
    parts = app.answer_parts.retrieve
    ranking = replace(parts.ranking, rerank=rerank)
    answering = replace(app.answer_parts, retrieve=replace(parts, ranking=ranking))
    return replace(app, answer_parts=answering)


def _numbers(ids: Sequence[str]) -> list[int]:
    return [int(name[1:]) for name in ids]


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _own_bytes() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell what a process shares")


def timed(
    store: Store, ask: Callable[[int], list[int]], questions: Sequence[int], limit: float
) -> tuple[dict[str, float], list[list[int]]]:
    """Ask one after another, until the time is up; return milliseconds and what was found."""
    times: list[float] = []
    found: list[list[int]] = []
    cpu, end = store.cpu_seconds(), time.perf_counter() + limit
    for question in questions:
        began = time.perf_counter()
        found.append(ask(question))
        times.append(1000 * (time.perf_counter() - began))
        if time.perf_counter() > end:
            break
    quantiles = statistics.quantiles(times, n=20) if len(times) > 1 else [times[0]] * 19
    return {
        "p50": statistics.median(times),
        "p95": quantiles[18],
        "cpu": 1000 * (store.cpu_seconds() - cpu) / len(times),
    }, found


def one_round(store: Store, questions: Sequence[int], held: int, limit: float) -> dict[str, Any]:
    """Return one round's figures; what must never be is counted."""
    row: dict[str, Any] = {"load1": os.getloadavg()[0]}
    own, found = timed(store, store.hybrid, questions, limit)
    row |= {f"hybrid_{name}": value for name, value in own.items()}
    row["rows"] = statistics.fmean(len(numbers) for numbers in found)
    for name, tenants in (("1%", large_tenant), ("0.1%", small_tenant)):

        def filtered(question: int, tenants: Callable[[int], str] = tenants) -> list[int]:
            return store.filtered(question, tenants(question))

        own, found = timed(store, filtered, questions, limit)
        row |= {f"{name}_{key}": value for key, value in own.items()}
        pairs = list(zip(questions, found, strict=False))
        row[f"{name}_leaks"] = sum(
            tenant_of(number) != tenants(question) for question, numbers in pairs
            for number in numbers
        )  # fmt: skip
        row[f"{name}_short"] = sum(
            len(numbers) < min(TOP, _held(tenants(question), held)) for question, numbers in pairs
        )
    return row


def _held(tenant: str, chunks: int) -> int:
    """Return how many chunks a tenant has."""
    number = int(tenant[1:])
    return len(range(number, chunks, 100 if number < 95 else 1000))


def last_round(store: Store, chunks: int, targets: Sequence[int], limit: float) -> dict[str, Any]:
    """Return what deleting takes, and what is left of memory and disk. Recall comes first."""
    row: dict[str, Any] = {}
    nearest = Path(os.environ["VADE_BENCH_NEAREST"])
    exact = json.loads(nearest.read_text())
    row["recall10"] = statistics.fmean(
        len(set(store.nearest(question, 10)) & set(exact[question])) / 10
        for question in range(RECALLED)
    )
    row["memory_mib"] = store.memory_bytes() / 2**20
    store.before_deletions()
    documents = documents_of(chunks)
    place = {chunk: number for number, own in enumerate(documents) for chunk in own}
    deletions: list[float] = []
    again: list[float] = []
    stale, seen, end = 0, set(), time.perf_counter() + limit
    for question, target in enumerate(targets):
        document = place[target]
        if document in seen:
            continue
        seen.add(document)
        began = time.perf_counter()
        store.delete(document, documents[document])
        deleted = time.perf_counter()
        found = store.hybrid(question)
        again.append(1000 * (time.perf_counter() - deleted))
        deletions.append(1000 * (deleted - began))
        stale += len(set(found) & set(documents[document]))
        if len(seen) == DELETIONS or time.perf_counter() > end:
            break
    row |= {
        "delete_p50": statistics.median(deletions),
        "requery_p50": statistics.median(again),
        "stale": stale,
    }
    return row | {name: value / 2**20 for name, value in store.disk_bytes().items()}


def serve(name: str, options: argparse.Namespace) -> None:
    """Be one row: load, then do what is asked, a line each, and answer with a line."""
    folder = Path(tempfile.mkdtemp(prefix="vade-peer-"))
    store: Peer | Ours
    if name in OURS:
        store = Ours(options.home, rerank=name == "ours")
        targets = Questions.load(options.home / "questions.npz").targets
    else:
        store = Peer(name, options.chunks, folder)
        targets = Questions.of(store._corpus).targets  # noqa: SLF001
    for question in range(5):
        store.hybrid(len(targets) - 1 - question)
    say(store.loaded)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "round":
            first = asked["number"] * options.questions
            questions = range(first, first + options.questions)
            say(one_round(store, questions, options.chunks, options.limit))
        else:
            say(last_round(store, options.chunks, targets, options.limit))
            break
    if isinstance(store, Ours):
        store.restore()
    else:
        store.close()
    shutil.rmtree(folder, ignore_errors=True)


def say(row: dict[str, Any]) -> None:
    print(f"ROW {json.dumps(row)}", flush=True)


class Row:
    """A row as the one who asks sees it."""

    def __init__(self, name: str, options: argparse.Namespace, environment: dict[str, str]) -> None:
        python = sys.executable if name in OURS else options.peers_python
        given = ["--row", name, "--chunks", str(options.chunks), "--home", str(options.home)]
        given += ["--questions", str(options.questions), "--limit", str(options.limit)]
        self.name = name
        self._process = subprocess.Popen(
            [python, __file__, *given],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.loaded = self._answer()

    def ask(self, **what: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        return self._answer()

    def end(self) -> None:
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # libraries print what they like between
            if line.startswith("ROW "):
                row: dict[str, Any] = json.loads(line[4:])
                print(f"# {self.name}: {json.dumps(row)}", file=sys.stderr)
                return row
        sys.exit(f"{self.name} ended")


def measured(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Load every row, let them take turns, and return a row of medians for each."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), options.peers))),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "RUST_LOG": "error",
        "PYTHONWARNINGS": "ignore",
        "VADE_BENCH_NEAREST": str(options.nearest),
    }
    rows = [Row(name, options, environment) for name in options.only]
    rounds: dict[str, list[dict[str, Any]]] = {row.name: [] for row in rows}
    for number in range(options.repeats):
        for row in rows:
            rounds[row.name].append(row.ask(do="round", number=number))
    result = []
    for row in rows:
        own = rounds[row.name]
        middle = {key: statistics.median(one[key] for one in own) for key in own[0]}
        for key in own[0]:
            if key.endswith(("leaks", "short")):
                middle[key] = sum(one[key] for one in own)
        result.append({"row": row.name, "chunks": options.chunks} | middle)
    for row, figures in zip(rows, result, strict=True):
        figures.update(row.loaded | row.ask(do="last"))
        row.end()
    return result


def ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each row's hybrid p50 and processor time as a multiple of others', and of its own
    without a filter."""
    by_name = {row["row"]: row for row in rows}
    result = []
    for row in rows:
        own: dict[str, Any] = {"row": row["row"]}
        for other in ("parts", "lancedb", "lancedb_ann"):
            if other in by_name:
                for key in ("hybrid_p50", "hybrid_cpu"):
                    own[f"{key}/{other}"] = row[key] / by_name[other][key]
        own["1%/unfiltered"] = row["1%_p50"] / row["hybrid_p50"]
        own["0.1%/unfiltered"] = row["0.1%_p50"] / row["hybrid_p50"]
        result.append(own)
    return result


def keep_nearest(path: Path, peers: str, chunks: int) -> None:
    """Write the exact nearest ten of the first questions where every row can read them."""
    sys.path.append(peers)
    corpus = made(chunks)
    scores = corpus.vecs @ corpus.q_vecs[:RECALLED].T
    path.write_text(json.dumps((-scores).argsort(axis=0)[:10].T.tolist()))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", default=os.environ.get("VADE_PEERS"))
    arguments.add_argument(
        "--peers-python", default=os.environ.get("VADE_PEERS_PYTHON", sys.executable)
    )
    arguments.add_argument("--chunks", type=int, default=10_000)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--questions", type=int, default=40, help="of a round")
    arguments.add_argument("--limit", type=float, default=20.0, help="seconds of a kind of search")
    arguments.add_argument("--home", type=Path)
    arguments.add_argument("--only", nargs="*")
    arguments.add_argument("--row", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.row:
        serve(options.row, options)
        return
    if not options.peers or not Path(options.peers, "corpus.py").is_file():
        sys.exit("name the folder of corpus.py and peers.py with --peers or VADE_PEERS")
    from bench_support import report

    from vademecum.postgres import embedded

    others = PEERS if options.chunks <= 20_000 else PEERS_100K
    options.only = options.only or [*OURS, *others]
    kept = options.home is not None
    scratch = Path(tempfile.mkdtemp(prefix="vade-bench-"))
    scratch.chmod(0o755)
    options.home = options.home or scratch / "home"
    options.nearest = scratch / "nearest.json"
    try:
        load_once(options.home, options.peers, options.chunks)
        keep_nearest(options.nearest, options.peers, options.chunks)
        rows = measured(options)
    finally:
        if not kept:
            embedded.stop(options.home)
        shutil.rmtree(scratch, ignore_errors=True)
    report(rows)
    report(ratios(rows))


if __name__ == "__main__":
    main()
