"""How much of what is nearest, and of what is best by words, does a search find?

    python benchmarks/recall.py --peers FOLDER --home HOME [--chunks 100000] [--queries 100]
        [--sift FOLDER]

Over the database of HOME (`search_corpus.py` loads it where it is empty):

- the dense leg, as the product searches, against comparing everything, where 0.1, 1, 10 and 100 %
  of the chunks are allowed by access labels, and by a filter: recall@10, by how near things are,
  and how often fewer than min(k, allowed) came back (k = 100, as the search line asks);
- the keyword leg with its budget against scoring every chunk that holds any of the words:
  overlap@10 of their scores, the words being those of the questions and longer ones.

With --sift, the folder of 5,000 real vectors of 128 numbers: a database of its own with one chunk
a vector, 4,800 of them, a graph whatever their number, and 200 held out as queries.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import SCOPE, Lookup, opened_line, report
from ingest_peers import GivenChunks, GivenTexts
from numpy.typing import NDArray
from search_corpus import (
    LABELS,
    Questions,
    large_tenant,
    load_once,
    made,
    small_tenant,
    visible_to,
)

from vademecum.app import App
from vademecum.evaluate.plan import found_share
from vademecum.model.document import Source
from vademecum.model.filter import Filter
from vademecum.model.filter_json import parse_filter
from vademecum.model.index import EXACT_BELOW, Selection
from vademecum.model.principal import Scope
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import PostgresIndex
from vademecum.retrieve.pipeline import CANDIDATES
from vademecum.retrieve.search import BUDGET, keyword_leg

TOP = 10
EVERYTHING = 2**62
SIFT_HELD_OUT = 200


async def dense_row(
    app: App,
    vectors: NDArray[np.float32],
    name: str,
    *,
    allowed: int,
    scope: Scope = SCOPE,
    filters: Iterator[Filter | None],
    exact_below: int = EXACT_BELOW,
) -> dict[str, Any]:
    """Search each vector as the product does and exactly; compare."""
    pool, generation = app.catalogue.pool, app.ingest_parts.generation
    index = PostgresIndex(pool, generation, exact_below=exact_below)
    exact = PostgresIndex(pool, generation, exact_below=EVERYTHING)
    shares: list[float] = []
    plans: Counter[str] = Counter()
    took: dict[str, list[float]] = {"own": [], "exact": []}
    short = 0
    for vector, wanted in zip(vectors, filters, strict=False):
        found = {}
        for kind, one in (("exact", exact), ("own", index)):
            began = time.perf_counter()
            async with one.reading(scope) as reader:
                found[kind] = await reader.search_dense(
                    vector, Selection(filter=wanted), CANDIDATES
                )
            took[kind].append(1000 * (time.perf_counter() - began))
        scores = {kind: [hit.score for hit in hits.hits] for kind, hits in found.items()}
        shares.append(found_share(scores["own"], scores["exact"], TOP))
        short += len(scores["own"]) < min(CANDIDATES, allowed)
        plans[found["own"].plan] += 1
    return {
        "allowed": name,
        "queries": len(shares),
        "recall10": statistics.fmean(shares),
        "lowest": min(shares),
        "short": short,
        "plan": " ".join(f"{plan}:{count}" for plan, count in sorted(plans.items())),
        "p50_ms": statistics.median(took["own"]),
        "exact_p50_ms": statistics.median(took["exact"]),
    }


async def dense(app: App, questions: Questions, queries: int) -> list[dict[str, Any]]:
    vectors = questions.vectors[:queries]
    every: Iterator[None] = iter([None] * queries)
    rows = [await dense_row(app, vectors, "all", allowed=questions.chunks, filters=every)]
    for label, share in LABELS.items():
        allowed = int(visible_to(label, questions.chunks).sum())
        scope = Scope.for_principal("default", "user:bench", frozenset({label}))
        nothing: Iterator[None] = iter([None] * queries)
        rows.append(
            await dense_row(
                app, vectors, f"labels {share:.1%}", allowed=allowed, scope=scope, filters=nothing
            )
        )
    tenth = [{"eq": ["tenth", True]}] * queries
    hundredth = [{"eq": ["tenant", large_tenant(n)]} for n in range(queries)]
    thousandth = [{"eq": ["tenant", small_tenant(n)]} for n in range(queries)]
    for name, share, filters in (
        ("filter 10.0%", 0.1, tenth),
        ("filter 1.0%", 0.01, hundredth),
        ("filter 0.1%", 0.001, thousandth),
    ):
        rows.append(
            await dense_row(
                app, vectors, name, allowed=int(share * questions.chunks),
                filters=map(parse_filter, filters),
            )
        )  # fmt: skip
    return rows


async def keyword(app: App, texts: Sequence[str], name: str) -> dict[str, Any]:
    """Compare the keyword leg's best with those of a leg that has no budget."""
    shares: list[float] = []
    took: dict[int, list[float]] = {BUDGET: [], EVERYTHING: []}
    for text in texts:
        scores = {}
        for budget in (EVERYTHING, BUDGET):
            began = time.perf_counter()
            async with app.answer_parts.retrieve.index.reading(SCOPE) as reader:
                found = await keyword_leg(
                    reader, SCOPE.tenant, text, Selection(), CANDIDATES, budget
                )
            took[budget].append(1000 * (time.perf_counter() - began))
            scores[budget] = [hit.score for hit in found.hits]
        # Scores are inner products in double precision, added up in the same order in both.
        shares.append(found_share(scores[BUDGET], scores[EVERYTHING], TOP))
    return {
        "words": name,
        "queries": len(shares),
        "overlap10": statistics.fmean(shares),
        "lowest": min(shares),
        "p50_ms": statistics.median(took[BUDGET]),
        "all_p50_ms": statistics.median(took[EVERYTHING]),
    }


async def measured(home: Path, peers: str, chunks: int, queries: int) -> None:
    questions = Questions.load(home / "questions.npz")
    sys.path.append(peers)
    texts = made(chunks).texts
    rng = np.random.default_rng(5)
    # A chunk's own words, drawn where they stand: common ones as often as they are common.
    longer = [
        " ".join(rng.choice(texts[target].split()[:-1], 7))
        for target in questions.targets[:queries]
    ]
    async with opened_line(Lookup(questions.known), home=home) as line:
        report(await dense(line.app, questions, queries))
        report(
            [
                await keyword(line.app, questions.texts[:queries], "questions"),
                await keyword(line.app, longer, "seven words as they are common"),
            ]
        )


async def sift(folder: Path) -> None:
    """Real vectors, each a chunk whose text is its number, behind a graph."""
    rows = np.loadtxt(folder / "sift-dataset-5k.tsv", dtype=np.float32)[:, :128]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.random.default_rng(5).permutation(len(rows))
    held_out, kept = rows[order[:SIFT_HELD_OUT]], rows[order[SIFT_HELD_OUT:]]
    texts = [f"number {n}" for n in range(len(kept))]
    embedder = Lookup(dict(zip(texts, kept, strict=True)))
    async with opened_line(embedder, parser=GivenTexts(), chunking=GivenChunks()) as line:
        await line.app.ingest(
            (
                Source(
                    uri=f"s{at}", content=json.dumps(texts[at : at + 50]).encode(),
                    collection="default", access=("tenant",), metadata={}, language="en",
                    title=None,
                )
                for at in range(0, len(texts), 50)
            ),
            scope=SCOPE,
        )  # fmt: skip
        graph = PostgresGraph(line.url, line.app.ingest_parts.generation, fewest=1)
        assert await graph.tend()
        nothing: Iterator[None] = iter([None] * SIFT_HELD_OUT)
        row = await dense_row(
            line.app, held_out, "sift, all by the graph", allowed=len(kept), filters=nothing,
            exact_below=0,
        )  # fmt: skip
        report([row])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peers", default=os.environ.get("VADE_PEERS"))
    arguments.add_argument("--home", type=Path)
    arguments.add_argument("--chunks", type=int, default=100_000)
    arguments.add_argument("--queries", type=int, default=100)
    arguments.add_argument("--sift", type=Path)
    options = arguments.parse_args()
    if options.sift:
        asyncio.run(sift(options.sift))
    if options.home:
        load_once(options.home, options.peers, options.chunks)
        asyncio.run(measured(options.home, options.peers, options.chunks, options.queries))
    elif not options.sift:
        sys.exit("name the folder of the database with --home, or that of real vectors with --sift")


if __name__ == "__main__":
    main()
