"""How well is it refused to answer what the documents do not tell?

    python benchmarks/refusal.py --model MODEL_FOLDER --data FOLDER --cache FOLDER
        [--only NAME ...] [--fit]

Two tests. `missing`: each question of a collection is asked with its document and, by a filter,
without it. `clapnq`: 300 questions that a passage of the collection answers and 300 that it does
not, though it is about them. Columns: the area under the curve of `confidence`, and that of the
best cosine beside it; what is refused, at the default point, of the questions that cannot be
answered and of those that can (`loss`); what is refused where a tenth of the answerable is lost.
Near misses pass: a question answered by similarity cannot be judged better than passages look.

Only the halves that are not for development are shown. With `--fit` the others (half of CLAPnq
dev, Apache-2.0, and Pira validation, CC BY 4.0) give the constants of `retrieve/abstain.py`, as
`vade eval calibrate` fits those of one collection, with the points of refusal that lose a tenth of
the answerable.
"""

import argparse
import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_support import SCOPE, opened_line, report
from kept_states import open_kept
from quality_sets import Question, clapnq, collections

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.app import App
from vademecum.evaluate.calibrate import Case, fit_branch
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.model.document import Source
from vademecum.model.filter import Filter, Not, OneOf
from vademecum.retrieve.abstain import REFUSE_BELOW
from vademecum.retrieve.rerank import RERANKED

LOSS = 0.1
SETS = ("xquad-en", "xquad-es", "pira-pt", "pira-en", "clapnq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it was judged, and the best cosine that its passages have."""

    judged: Case
    cosine: float
    development: bool

    @property
    def refused(self) -> bool:
        return self.judged.confidence < REFUSE_BELOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table."""

    set: str
    cases: int
    auc: float
    cosine_auc: float
    refused: float
    loss: float
    refused_at_tenth: float


def auc(good: Sequence[float], bad: Sequence[float]) -> float:
    """Return how often a good one stands above a bad one; ties count half."""
    above, below = np.asarray(good)[:, None], np.asarray(bad)[None, :]
    return float(((above > below) + 0.5 * (above == below)).mean())


def row(name: str, cases: Sequence[Asked]) -> Row:
    good = [case for case in cases if case.judged.answerable]
    bad = [case for case in cases if not case.judged.answerable]
    confident = [case.judged.confidence for case in good]
    doubtful = [case.judged.confidence for case in bad]
    tenth = float(np.quantile(confident, LOSS))
    return Row(
        set=name,
        cases=len(cases),
        auc=auc(confident, doubtful),
        cosine_auc=auc([c.cosine for c in good], [c.cosine for c in bad]),
        refused=float(np.mean([case.refused for case in bad])),
        loss=float(np.mean([case.refused for case in good])),
        refused_at_tenth=float(np.mean([value < tenth for value in doubtful])),
    )


async def judged(app: App, question: Question, *, hidden: str | None = None) -> Asked:
    """Ask, with the document `hidden` left out."""
    wanted: Filter | None = None
    if hidden is not None:
        wanted = Not(part=OneOf(key="document.uri", texts=(hidden,)))
    asked = await app.search(question.text, scope=SCOPE, k=RERANKED, filter=wanted)
    found = asked.retrieval
    assert found.abstention.signals, found.degraded
    case = Case(
        question=question.text,
        answerable=bool(question.relevant) and hidden is None,
        signals=found.abstention.signals,
        confidence=found.abstention.confidence,
    )
    cosine = max(p.signals.dense or 0.0 for p in found.passages)
    return Asked(judged=case, cosine=cosine, development=question.development)


async def missing(app: App, questions: Sequence[Question]) -> list[Asked]:
    """Ask each question with its document and without it."""
    cases = []
    for question in questions:
        (gold,) = question.relevant
        cases += [await judged(app, question), await judged(app, question, hidden=gold)]
    return cases


async def measured(model: LocalE5, name: str, data: Path) -> dict[str, list[Asked]]:
    """Return the cases of a set, test by test, over a fresh database that holds its documents."""
    documents: Sequence[Source]
    if name == "clapnq":
        documents, questions = clapnq(data)
        tests = {"clapnq": questions}
    else:
        collection = collections()[name](data)
        documents = collection.documents
        tests = {f"missing: {task.name}": task.questions for task in collection.tasks}
    window = model.max_tokens - CONTEXT_TOKENS
    chunking = ChunkingRules(ChunkingRule(size=min(440, window)), window=window)
    async with opened_line(model, chunking=chunking) as line:
        await line.app.ingest(documents, scope=SCOPE)
        if name == "clapnq":
            return {"clapnq": [await judged(line.app, asked) for asked in tests["clapnq"]]}
        return {test: await missing(line.app, asked) for test, asked in tests.items()}


async def _run(model: LocalE5, asked: argparse.Namespace) -> dict[str, list[Asked]]:
    tests: dict[str, list[Asked]] = {}
    for name in asked.only:
        tests |= await measured(model, name, asked.data)
        print(f"# {name} is asked", flush=True)
    return tests


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure refusal on public sets.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=os.environ.get("VADE_SHARED_DATA"))
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args()
    asked.data = Path(asked.data)
    model, kept = open_kept(ensure_model(asked.model), asked.cache, threads=1)
    try:
        tests = asyncio.run(_run(model, asked))
    finally:
        model.close()
        kept.close()
    rows = [row(n, held) for n, c in tests.items() if (held := [x for x in c if not x.development])]
    names = Row.__slots__
    report(
        [
            {n: round(v, 3) if isinstance(v := getattr(r, n), float) else v for n in names}
            for r in rows
        ]
    )
    if asked.fit:
        cases = [one.judged for own in tests.values() for one in own if one.development]
        for across in (False, True):
            # A cosine has another scale in each collection, and in mixed ones.
            fit = fit_branch(cases, across=across, loss=LOSS, more=((),))
            print("across" if across else "same", fit)


if __name__ == "__main__":
    main()
