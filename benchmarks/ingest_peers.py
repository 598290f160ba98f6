"""How fast does a store take texts with their vectors, beside other stores on the same ones?

    python benchmarks/ingest_peers.py --peers FOLDER [--peers-python PYTHON] [--chunks 10000]

FOLDER (or the environment variable VADE_PEERS) holds `corpus.py`, whose `make(n)` gives texts and
vectors, and `peers.py`, whose classes ingest them into other stores; PYTHON (or
VADE_PEERS_PYTHON) is an interpreter with those stores. Each row is a process of its own. Rows
alternate; medians are printed.

Ours is the product's own line over its embedded PostgreSQL: 15 chunks a document, every document
accepted, queued, claimed, its chunks counted, their language told, their terms stemmed, and all
of it published in a transaction of its own. Left out are reading a format and embedding, as for
the others.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

CHUNKS_A_DOCUMENT = 15
DELETIONS = 20


def ours(corpus: Any) -> dict[str, Any]:
    return asyncio.run(_ours(corpus))


async def _ours(corpus: Any) -> dict[str, Any]:
    import psycopg
    from bench_support import SCOPE, Lookup, Meter, metered, opened_line, percentile, source

    known = dict(zip(corpus.texts, corpus.vecs, strict=True))
    embedder = Lookup(known | dict(zip(corpus.q_texts, corpus.q_vecs, strict=True)))
    sources = [
        source(
            f"d{i}", json.dumps(corpus.texts[i * CHUNKS_A_DOCUMENT :][:CHUNKS_A_DOCUMENT]).encode()
        )
        for i in range(-(-len(corpus.texts) // CHUNKS_A_DOCUMENT))
    ]
    row: dict[str, Any] = {}
    async with opened_line(embedder, parser=GivenTexts(), chunking=GivenChunks()) as line:
        with metered(row, line.postmaster):
            results = await line.app.ingest(sources, scope=SCOPE)
        assert sum(result.chunks for result in results) == len(corpus.texts)
        assert embedder.embedded == len(corpus.texts), embedder.embedded

        again = Meter(line.postmaster)
        results = await line.app.ingest(sources, scope=SCOPE)
        assert all(result.status == "unchanged" for result in results)
        row["unchanged_s"] = again.read()["wall_s"]
        row["unchanged_times"] = row["wall_s"] / row["unchanged_s"]
        row["unchanged_embedded"] = embedder.embedded - len(corpus.texts)

        with psycopg.connect(line.url, autocommit=True) as connection:
            connection.execute("SET maintenance_work_mem = '1GB'")
            built = Meter(line.postmaster)
            connection.execute(
                "CREATE INDEX ON vademecum.chunk_vector USING hnsw"
                f" ((embedding::halfvec({corpus.vecs.shape[1]})) halfvec_cosine_ops)"
            )
            row["hnsw_s"], row["hnsw_cpu_s"] = built.read()["wall_s"], built.read()["cpu_s"]

        deletions, queries, stale = [], [], 0
        for i in range(DELETIONS):
            began = time.perf_counter()
            document = results[i].id
            assert document is not None
            await line.app.catalogue.delete(document, scope=SCOPE)
            deleted = time.perf_counter()
            found = await line.app.search(corpus.q_texts[i], scope=SCOPE, k=20)
            queries.append(time.perf_counter() - deleted)
            deletions.append(deleted - began)
            stale += sum(p.source.uri == f"d{i}" for p in found.retrieval.passages)
        row |= {
            "delete_p50_ms": percentile(deletions, 50),
            "requery_p50_ms": percentile(queries, 50),
            "stale": stale,
        }
    return row


class GivenTexts:
    """A parser that takes the texts of a document as they are, one a block."""

    fingerprint = "given"

    async def parse(self, content: bytes, uri: str) -> Any:
        from vademecum.model.document import Block, ParsedDocument

        blocks, start, texts = [], 0, json.loads(content)
        for text in texts:
            end = start + len(text)
            blocks.append(Block(kind="paragraph", start=start, end=end, level=0, heading_path=()))
            start = end + 2
        return ParsedDocument(
            text="\n\n".join(texts), blocks=tuple(blocks), page_starts=(), title="",
            media_type="text/plain", warnings=(),
        )  # fmt: skip


class GivenChunks:
    """Chunking and chunker in one: each block is a chunk."""

    notes = ()

    def choose(self, collection: str, media_type: str, asked: str | None = None) -> Any:
        return self

    def fingerprint(self, collection: str, asked: str | None = None) -> str:
        return "given"

    def split(self, document: Any, tokenizer: Any) -> list[Any]:
        from vademecum.model.chunk import Span

        return [Span(start=b.start, end=b.end, heading_path=()) for b in document.blocks]


def peer(name: str, corpus: Any) -> dict[str, Any]:
    """Run a class of the harness; its libraries are imported before the time begins."""
    peers = import_module("peers")

    for module in {"chroma": ["chromadb"], "llamaindex": ["llama_index.core", "bm25s"]}.get(
        name, []
    ):
        import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        store = peers.PEERS[name](folder, corpus)
        wall, cpu = time.perf_counter(), sum(os.times()[:4])
        store.ingest()
        row: dict[str, Any] = {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": sum(os.times()[:4]) - cpu,
            "load1": os.getloadavg()[0],
        }
        deletions, queries, stale = [], [], 0
        for i in range(DELETIONS):
            gone = [f"c{j}" for j in range(i * CHUNKS_A_DOCUMENT, (i + 1) * CHUNKS_A_DOCUMENT)]
            began = time.perf_counter()
            store.delete(f"d{i}", gone)
            deleted = time.perf_counter()
            found = store.hybrid(corpus.q_texts[i], corpus.q_vecs[i], 20)
            queries.append(time.perf_counter() - deleted)
            deletions.append(deleted - began)
            stale += len(set(found) & set(gone))
        row |= {
            "delete_p50_ms": statistics.median(deletions) * 1000,
            "requery_p50_ms": statistics.median(queries) * 1000,
            "stale": stale,
        }
        store.close()
    return row


def one_row(name: str, chunks: int) -> None:
    made = import_module("corpus").make(chunks)
    print(json.dumps(ours(made) if name == "ours" else peer(name, made), default=float))


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one row in a process of its own."""
    python = sys.executable if name == "ours" else options.peers_python
    done = subprocess.run(
        [python, __file__, "--row", name, "--chunks", str(options.chunks)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(
                filter(None, (os.environ.get("PYTHONPATH"), options.peers))
            ),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "ANONYMIZED_TELEMETRY": "False",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"# {name}: {json.dumps(row)}", file=sys.stderr)
    return row


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", default=os.environ.get("VADE_PEERS"))
    arguments.add_argument(
        "--peers-python", default=os.environ.get("VADE_PEERS_PYTHON", sys.executable)
    )
    arguments.add_argument("--chunks", type=int, default=10_000)
    arguments.add_argument("--repeats", type=int, default=1)
    arguments.add_argument("--only", nargs="*", default=["ours", "chroma", "llamaindex"])
    arguments.add_argument("--row", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.row:
        one_row(options.row, options.chunks)
        return
    if not options.peers or not Path(options.peers, "corpus.py").is_file():
        sys.exit("name the folder of corpus.py and peers.py with --peers or VADE_PEERS")
    from bench_support import report

    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in options.only}
    for _ in range(options.repeats):
        for name in options.only:
            measured[name].append(run(name, options))
    rows = []
    for name, runs in measured.items():
        middle = {key: statistics.median(row[key] for row in runs) for key in runs[0]}
        speed = {"row": name, "chunks": options.chunks, "per_s": options.chunks / middle["wall_s"]}
        rows.append(speed | middle)
        if "hnsw_s" in middle:
            whole = middle["wall_s"] + middle["hnsw_s"]
            rows.append(
                {"row": f"{name}, with HNSW", "chunks": options.chunks}
                | {"per_s": options.chunks / whole, "wall_s": whole}
                | {"cpu_s": middle["cpu_s"] + middle["hnsw_cpu_s"]}
            )
    report(rows)


if __name__ == "__main__":
    main()
