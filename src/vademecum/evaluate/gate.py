"""Is one build of the index worse than another, by more than chance?"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

from vademecum.errors import UsageError
from vademecum.evaluate.bootstrap import interval


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

    The interval is of the mean of the differences by question (see `bootstrap`). Where every
    question loses the same it is that loss. Raises: UsageError without a question.
    """
    asked = sorted(current.keys() & candidate.keys())
    if not asked:
        raise UsageError(
            "the golden set has no question that can be compared",
            hint="name documents that are in, under `relevant`",
        )
    before = [current[question] for question in asked]
    after = [candidate[question] for question in asked]
    low, high = interval([new - old for old, new in zip(before, after, strict=True)])
    return Compared(
        questions=len(asked),
        current=fsum(before) / len(asked),
        candidate=fsum(after) / len(asked),
        low=low,
        high=high,
    )
