"""How well does the product find what is known to be relevant, in one language and across?

    python benchmarks/quality.py --model MODEL_FOLDER --data FOLDER --cache FOLDER
        [--only NAME ...] [--questions N] [--chunk-tokens 440] [--threads 1] [--without-legs]

FOLDER (or the environment variable VADE_SHARED_DATA) holds the public sets `ret-scifact`,
`ret-xquad` and `ret-pira`. Each collection is ingested by the product's own line into a fresh
database, one passage a document in its language, and asked all its questions (or N of them, drawn
with a seed) by `App.search`. A document counts at its best passage; a passage that is longer than
a chunk becomes several.

Columns are nDCG@10 of the keyword leg (BM25), of the dense leg, of both by reciprocal rank fusion
with k = 60 over the first 100 of each, and of the default (`hybrid`) with a 95 % bootstrap
interval over questions, its recall@10 and its MRR. Beside it stand what a prototype reached and
the goal. `verdict` is `goal` where the goal is met, `reached` where the prototype's figure is
met, `as reached` where it lies inside the interval, else `below`.

Embedding is most of the cost: what the model gives is kept in the cache's folder (about 800 bytes
a token, 2 GB for all sets), so a second run takes minutes.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import SCOPE, opened_line, report
from kept_states import KeptSession, open_kept
from quality_sets import Collection, Question, Target, Task, collections

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.app import App
from vademecum.evaluate.metrics import ndcg, recall, reciprocal_rank
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.model.query import Mode
from vademecum.rank.fuse import reciprocal_rank as fused_by_rank

FIRST = 10
# A document may stand in the list with several passages.
PASSAGES = 30
LEG_PASSAGES = 100
RESAMPLES = 2_000
Hits = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One way of searching, question by question: nDCG@10, recall@10, reciprocal rank."""

    ndcg: Sequence[float]
    recall: Sequence[float]
    reciprocal_rank: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table; the legs are None where they were not asked for."""

    set: str
    questions: int
    bm25: float | None
    dense: float | None
    rrf_60: float | None
    hybrid: float
    low: float
    high: float
    recall_10: float
    mrr: float
    reached: float
    goal: float
    verdict: str
    search_ms: float


def scores(hits: Sequence[Hits], questions: Sequence[Question]) -> Scores:
    """Return the scores of lists of uris, best first, one a question."""
    pairs = list(zip(hits, (question.relevant for question in questions), strict=True))
    return Scores(
        ndcg=[_known(ndcg(found, wanted, FIRST)) for found, wanted in pairs],
        recall=[_known(recall(found, wanted, FIRST)) for found, wanted in pairs],
        reciprocal_rank=[_known(reciprocal_rank(found, wanted)) for found, wanted in pairs],
    )


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean; the same for the same values."""
    given = np.asarray(values, np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(given), (RESAMPLES, len(given)))
    low, high = np.percentile(given[drawn].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def verdict(mean: float, high: float, target: Target) -> str:
    """Return how a mean with the upper end of its interval compares with its target."""
    if mean >= target.goal:
        return "goal"
    if mean >= target.reached:
        return "reached"
    return "as reached" if high >= target.reached else "below"


def by_rank(dense: Hits, keyword: Hits) -> list[str]:
    """Return the documents of both legs by reciprocal rank fusion, best first, ties by uri."""
    fused = fused_by_rank([dense, keyword])
    return sorted(fused, key=lambda uri: (-fused[uri], uri))


def drawn(questions: Sequence[Question], count: int | None) -> Sequence[Question]:
    """Return `count` of the questions in their order, the same ones each time; all for None."""
    if count is None or count >= len(questions):
        return questions
    chosen = sorted(random.Random(0).sample(range(len(questions)), count))
    return [questions[i] for i in chosen]


def row(task: Task, found: Mapping[Mode, Sequence[Hits]], milliseconds: float) -> Row:
    """Return the line of a task from the lists that each mode found, one a question."""
    hybrid = scores(found["hybrid"], task.questions)
    mean = _mean(hybrid.ndcg)
    low, high = interval(hybrid.ndcg)
    legs: dict[str, float | None] = dict.fromkeys(("bm25", "dense", "rrf_60"))
    if "dense" in found and "keyword" in found:
        both = [by_rank(d, k) for d, k in zip(found["dense"], found["keyword"], strict=True)]
        for name, hits in (("bm25", found["keyword"]), ("dense", found["dense"]), ("rrf_60", both)):
            legs[name] = _mean(scores(hits, task.questions).ndcg)
    return Row(
        set=task.name,
        questions=len(task.questions),
        **legs,
        hybrid=mean,
        low=low,
        high=high,
        recall_10=_mean(hybrid.recall),
        mrr=_mean(hybrid.reciprocal_rank),
        reached=task.target.reached,
        goal=task.target.goal,
        verdict=verdict(mean, high, task.target),
        search_ms=milliseconds,
    )


async def measured(
    collection: Collection, model: LocalE5, modes: Sequence[Mode], asked: argparse.Namespace
) -> list[Row]:
    """Ingest a collection into a fresh database and ask its questions."""
    window = model.max_tokens - CONTEXT_TOKENS
    chunking = ChunkingRules(ChunkingRule(size=min(asked.chunk_tokens, window)), window=window)
    async with opened_line(model, chunking=chunking) as line:
        results = await line.app.ingest(collection.documents, scope=SCOPE)
        unread = [result.uri for result in results if result.status != "ready"]
        if unread:
            sys.exit(f"{collection.name}: {len(unread)} documents are not ready, as {unread[0]}")
        chunks = sum(result.chunks for result in results)
        print(f"# {collection.name}: {len(results)} documents, {chunks} chunks", flush=True)
        rows = []
        for task in collection.tasks:
            part = Task(
                name=task.name,
                questions=drawn(task.questions, asked.questions),
                target=task.target,
            )
            began = time.perf_counter()
            found = {mode: await searched(line.app, part.questions, mode) for mode in modes}
            each = len(part.questions) * len(modes)
            rows.append(row(part, found, 1000 * (time.perf_counter() - began) / each))
            print(f"# {rows[-1]}", flush=True)
        return rows


async def searched(app: App, questions: Sequence[Question], mode: Mode) -> list[Hits]:
    """Return the uris found for each question, a document once, best first."""
    k = PASSAGES if mode == "hybrid" else LEG_PASSAGES
    lists: list[Hits] = []
    for question in questions:
        found = await app.search(question.text, scope=SCOPE, k=k, mode=mode)
        if found.retrieval.degraded:
            sys.exit(f"a search was degraded: {found.retrieval.degraded}")
        lists.append(list(dict.fromkeys(p.source.uri for p in found.retrieval.passages)))
    return lists


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the lines as they are printed: three digits."""
    return [
        {
            key: ("-" if value is None else round(value, 3) if isinstance(value, float) else value)
            for key, value in asdict(line).items()
        }
        for line in rows
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _known(score: float | None) -> float:
    if score is None:
        raise ValueError("a question of these sets always has a relevant document")
    return score


def _arguments() -> argparse.Namespace:
    known = collections()
    parser = argparse.ArgumentParser(description="Measure retrieval quality on public sets.")
    parser.add_argument("--model", type=Path, required=True, help="where the model's files are")
    parser.add_argument("--data", type=Path, default=os.environ.get("VADE_SHARED_DATA"))
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=list(known), default=list(known))
    parser.add_argument("--questions", type=int, help="so many of each task, instead of all")
    parser.add_argument("--chunk-tokens", type=int, default=440)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without-legs", action="store_true", help="ask in the default mode only")
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("name the folder of the sets with --data or VADE_SHARED_DATA")
    asked.data = Path(asked.data)
    return asked


async def _run(asked: argparse.Namespace, model: LocalE5, kept: KeptSession) -> list[Row]:
    modes: tuple[Mode, ...] = ("hybrid",) if asked.without_legs else ("keyword", "dense", "hybrid")
    rows = []
    for name, read in collections().items():
        if name in asked.only:
            rows += await measured(read(asked.data), model, modes, asked)
            print(f"# {kept.computed} texts were embedded so far, others were kept", flush=True)
    return rows


def main() -> None:
    asked = _arguments()
    model, kept = open_kept(ensure_model(asked.model), asked.cache, threads=asked.threads)
    try:
        rows = asyncio.run(_run(asked, model, kept))
    finally:
        model.close()
        kept.close()
    report(table(rows))


if __name__ == "__main__":
    main()
