"""Where is a first place close enough to ask a reranker, and what does one gain there?

    python benchmarks/reranker.py --model MODEL_FOLDER --data FOLDER --cache FOLDER
        [--only NAME ...] [--questions N] [--reranker PATH]

The development questions of Pira (CC BY 4.0) and of CLAPnq (Apache-2.0, those that are answered)
are asked by `App.search`. A row is a task and a lead (`rank.blend.lead`: by how many standard
deviations the best stands above the second): the share of questions that lead by less, for which a
reranker would be asked (`asked`), how often the first of these is right (`right_asked`), and of the
others (`right_left`).

With a cross-encoder (`file:PATH` of `models.reranker`) the best ten are scored for every question,
and columns of nDCG@10 follow: as it was, blended where it is asked, and by the scores alone; with
the milliseconds of a question that was asked.
"""

import argparse
import asyncio
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_support import SCOPE, opened_line, report
from kept_states import open_kept
from quality_sets import Question, clapnq, collections

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.rerankers.cross_encoder import CrossEncoder
from vademecum.app import App
from vademecum.evaluate.metrics import ndcg
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage
from vademecum.rank.blend import RERANK_FIRST, lead
from vademecum.retrieve.rerank import RERANKED, by_texts

SETS = ("pira-pt", "pira-en", "clapnq")
LEADS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 100.0)
FIRST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question: its lead, whether the first was right, and nDCG@10 before, blended and by scores
    alone (None without a reranker), with the milliseconds of scoring."""

    lead: float
    right: bool
    before: float
    blended: float | None = None
    alone: float | None = None
    ms: float = 0.0


async def case(app: App, question: Question, reranker: CrossEncoder | None) -> Case:
    asked = await app.search(question.text, scope=SCOPE, k=RERANKED)
    passages = asked.retrieval.passages
    finals = {p.source.chunk.id: p.signals.final for p in passages}
    before = _gain(passages, question)
    right = bool(_uris(passages[:1]) & question.relevant)
    if reranker is None:
        return Case(lead=lead(finals), right=right, before=before)
    first = passages[:RERANK_FIRST]
    began = time.perf_counter()
    scores = await reranker.scores(question.text, [p.source.chunk.embedded_text for p in first])
    ms = 1000 * (time.perf_counter() - began)
    found = {p.source.chunk.id: s for p, s in zip(first, scores, strict=True) if s is not None}
    blended = list(by_texts({p.source.chunk.id: p.signals for p in passages}, found, RERANK_FIRST))
    alone = sorted(found, key=lambda item: -found[item])
    alone += [item for item in finals if item not in found]
    return Case(
        lead=lead(finals),
        right=right,
        before=before,
        blended=_gain(_ordered(passages, blended), question),
        alone=_gain(_ordered(passages, alone), question),
        ms=ms,
    )


def _ordered(passages: Sequence[Passage], order: Sequence[ChunkId]) -> list[Passage]:
    by_id = {p.source.chunk.id: p for p in passages}
    return [by_id[item] for item in order]


def _uris(passages: Sequence[Passage]) -> set[str]:
    return {p.source.uri for p in passages}


def _gain(passages: Sequence[Passage], question: Question) -> float:
    uris = list(dict.fromkeys(p.source.uri for p in passages))
    return ndcg(uris, question.relevant, FIRST) or 0.0


def rows(name: str, cases: Sequence[Case]) -> list[Mapping[str, Any]]:
    """Return a row for each lead."""
    return [_row(name, cases, least) for least in LEADS]


def _row(name: str, cases: Sequence[Case], least: float) -> Mapping[str, Any]:
    asked = [one for one in cases if one.lead < least]
    left = [one for one in cases if one.lead >= least]
    row: dict[str, Any] = {
        "set": name,
        "questions": len(cases),
        "lead": least,
        "asked": _mean([float(one.lead < least) for one in cases]),
        "right_asked": _mean([float(one.right) for one in asked]),
        "right_left": _mean([float(one.right) for one in left]),
    }
    if cases and cases[0].blended is not None:
        row |= {
            "before": _mean([one.before for one in cases]),
            "blended": _mean(
                [one.blended or 0.0 if one.lead < least else one.before for one in cases]
            ),
            "alone": _mean([one.alone or 0.0 if one.lead < least else one.before for one in cases]),
            "ms": _mean([one.ms for one in asked]),
        }
    return row


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 3) if values else None


async def measured(
    model: LocalE5, name: str, asked: argparse.Namespace, reranker: CrossEncoder | None
) -> list[Mapping[str, Any]]:
    """Return the rows of a set, over a fresh database that holds its documents."""
    if name == "clapnq":
        documents, questions = clapnq(asked.data)
        tasks = {"clapnq": [one for one in questions if one.relevant]}
    else:
        collection = collections()[name](asked.data)
        documents = collection.documents
        tasks = {task.name: list(task.questions) for task in collection.tasks}
    window = model.max_tokens - CONTEXT_TOKENS
    chunking = ChunkingRules(ChunkingRule(size=min(440, window)), window=window)
    found: list[Mapping[str, Any]] = []
    async with opened_line(model, chunking=chunking) as line:
        await line.app.ingest(documents, scope=SCOPE)
        for task, questions in tasks.items():
            own = [one for one in questions if one.development]
            random.Random(7).shuffle(own)
            own = own[: asked.questions]
            found += rows(task, [await case(line.app, one, reranker) for one in own])
            report(found[-len(LEADS) :])
    return found


async def _run(model: LocalE5, asked: argparse.Namespace) -> None:
    reranker = CrossEncoder.load(asked.reranker) if asked.reranker else None
    try:
        for name in asked.only:
            await measured(model, name, asked, reranker)
    finally:
        if reranker is not None:
            await reranker.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure when a reranker pays.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=os.environ.get("VADE_SHARED_DATA"))
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--reranker", type=Path)
    asked = parser.parse_args()
    asked.data = Path(asked.data)
    model, kept = open_kept(ensure_model(asked.model), asked.cache, threads=1)
    try:
        asyncio.run(_run(model, asked))
    finally:
        model.close()
        kept.close()


if __name__ == "__main__":
    main()
