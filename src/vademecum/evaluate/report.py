"""What do the results of a run say together?"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vademecum.evaluate.bootstrap import interval
from vademecum.evaluate.metrics import mean
from vademecum.evaluate.score import METRICS
from vademecum.model.evaluation import Result, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where a question is refused whose confidence is below `threshold`: the share of those
    without an answer that are `refused`, and of those with one that are `lost`."""

    threshold: float
    refused: float
    lost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The refusal curve, from refusing nothing to refusing all; `chosen` is the product's own
    point; `auc` the chance that a question with an answer has the higher confidence."""

    points: tuple[Point, ...]
    chosen: Point
    auc: float


def summarise(results: Sequence[Result]) -> tuple[Summary, ...]:
    """Return each metric over all questions, over each kind and over each language. The mean is
    over what was measured; what could not be is counted apart, by its reason."""
    groups: dict[str, list[Result]] = {"": list(results)}
    for result in sorted(results, key=lambda one: one.kind):
        groups.setdefault(f"kind:{result.kind}", []).append(result)
    for result in sorted(results, key=lambda one: one.language):
        groups.setdefault(f"language:{result.language}", []).append(result)
    return tuple(
        _summary(group, metric, held)
        for group, held in groups.items()
        for metric in METRICS
        if any(metric in one.scores or metric in one.apart for one in held)
    )


def _summary(group: str, metric: str, results: Iterable[Result]) -> Summary:
    held = list(results)
    values = [one.scores[metric] for one in held if metric in one.scores]
    low, high = interval(values) if values else (None, None)
    return Summary(
        group=group,
        metric=metric,
        mean=mean(values),
        low=low,
        high=high,
        measured=len(values),
        apart=dict(Counter(one.apart[metric] for one in held if metric in one.apart)),
    )


def refusal(results: Sequence[Result], threshold: float) -> Refusal | None:
    """Return the refusal curve over the confidence of the searches; None where all questions have
    an answer, or none has."""
    with_answer = [one.confidence for one in results if one.answerable]
    without = [one.confidence for one in results if not one.answerable]
    if not with_answer or not without:
        return None

    def point(at: float) -> Point:
        return Point(
            threshold=at,
            refused=sum(value < at for value in without) / len(without),
            lost=sum(value < at for value in with_answer) / len(with_answer),
        )

    # Just above a confidence it is refused; 0 refuses nothing.
    steps = sorted({0.0, *(value + 1e-9 for value in (*with_answer, *without))})
    return Refusal(
        points=tuple(point(at) for at in steps),
        chosen=point(threshold),
        auc=_auc(with_answer, without),
    )


def _auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return the share of pairs in the right order; equal ones count half."""
    won = sum((a > b) + (a == b) / 2 for a in higher for b in lower)
    return won / (len(higher) * len(lower))
