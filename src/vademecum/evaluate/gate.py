"""Is one build of the index worse than another, by more than chance?"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np

from vademecum.errors import UsageError

# Scores of one build, question by question: id -> 0..1, higher is better.
Judge = Callable[[int], Awaitable[Mapping[str, float]]]
_RESAMPLES = 10_000
_SEED = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the documents that answer it, each by its id or its uri; whom it is asked as
    (None: the operator), and of which day."""

    id: str
    text: str
    relevant: frozenset[str]
    principal: str | None
    as_of: date | None


def questions(lines: Iterable[str]) -> list[Question]:
    """Read the questions of a golden set, a JSON object a line, that sources answer.

    Raises: UsageError that names the first line which is none.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            relevant = frozenset(str(place["document"]) for place in told["relevant"])
            question = Question(
                id=str(told["id"]),
                text=str(told["question"]),
                relevant=relevant,
                principal=told.get("principal"),
                as_of=date.fromisoformat(told["as_of"]) if told.get("as_of") else None,
            )
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"line {number} of the golden set is no question ({type(error).__name__})",
                hint='like {"id": "1", "question": "…", "relevant": [{"document": "a.md"}]}',
            ) from error
        if relevant:
            found.append(question)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Mean scores of the questions of both, and the 95 % interval of how much more the candidate
    has. `worse` tells that less is all that the interval allows."""

    questions: int
    current: float
    candidate: float
    low: float
    high: float

    @property
    def worse(self) -> bool:
        return self.high < 0


def compare(current: Mapping[str, float], candidate: Mapping[str, float]) -> Compared:
    """Compare two builds on the questions that both were asked.

    The interval is of the mean of the differences by question (paired bootstrap percentiles, Efron
    1979, of 10,000 resamples with a fixed seed). Where every question loses the same the interval
    is that loss. Raises: UsageError without a question.
    """
    asked = sorted(current.keys() & candidate.keys())
    if not asked:
        raise UsageError(
            "the golden set has no question that can be compared",
            hint="name documents that are in, under `relevant`",
        )
    before = np.array([current[question] for question in asked], np.float64)
    after = np.array([candidate[question] for question in asked], np.float64)
    drawn = np.random.default_rng(_SEED).integers(0, len(asked), (_RESAMPLES, len(asked)))
    low, high = np.percentile((after - before)[drawn].mean(axis=1), [2.5, 97.5])
    return Compared(
        questions=len(asked),
        current=float(before.mean()),
        candidate=float(after.mean()),
        low=float(low),
        high=float(high),
    )
