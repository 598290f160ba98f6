"""How well does a ranked list match what is known to be relevant?

`hits` are ids, best first; `relevant` are the ids that should be found. In both, an id that stands
twice counts once: its repeats are taken out before ranks are counted. Every score lies in 0..1.
A question with no relevant item has no recall, precision or rank: those functions return None for
it, `mean` leaves it out, and `abstention` scores it instead. k below 1 raises ValueError.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def recall(hits: Sequence[T], relevant: Collection[T], k: int) -> float | None:
    """Return the relevant ids among the first k hits / all relevant ids."""
    top, wanted = _top(hits, k), set(relevant)
    return len(wanted.intersection(top)) / len(wanted) if wanted else None


def precision(hits: Sequence[T], relevant: Collection[T], k: int) -> float | None:
    """Return the relevant ids among the first k hits / k, also where there are fewer hits."""
    top, wanted = _top(hits, k), set(relevant)
    return len(wanted.intersection(top)) / k if wanted else None


def hit(hits: Sequence[T], relevant: Collection[T], k: int) -> float | None:
    """Return 1.0 if any of the first k hits is relevant, else 0.0."""
    top, wanted = _top(hits, k), set(relevant)
    return float(not wanted.isdisjoint(top)) if wanted else None


def reciprocal_rank(hits: Sequence[T], relevant: Collection[T]) -> float | None:
    """Return 1 / rank of the first relevant hit of one question, 0.0 if none is."""
    wanted = set(relevant)
    if not wanted:
        return None
    ranks = (rank for rank, item in enumerate(dict.fromkeys(hits), start=1) if item in wanted)
    first = next(ranks, None)
    return 0.0 if first is None else 1 / first


def mean_reciprocal_rank(
    questions: Iterable[tuple[Sequence[T], Collection[T]]],
) -> float | None:
    """Return MRR: the mean of the reciprocal ranks of (hits, relevant) of each question."""
    return mean(reciprocal_rank(hits, relevant) for hits, relevant in questions)


def ndcg(hits: Sequence[T], relevant: Collection[T], k: int) -> float | None:
    """Return DCG@k / the best DCG@k there could be (Järvelin and Kekäläinen 2002).

    Relevance is yes or no; a relevant hit at rank r, from 1, gains 1 / log2(r + 1).
    """
    top, wanted = _top(hits, k), set(relevant)
    if not wanted:
        return None
    gained = math.fsum(_gain(rank) for rank, item in enumerate(top, start=1) if item in wanted)
    best = math.fsum(_gain(rank) for rank in range(1, min(k, len(wanted)) + 1))
    return gained / best


def abstention(abstained: bool, relevant: Collection[T]) -> float | None:
    """Return 1.0 where a question without an answer was left unanswered, 0.0 where it was not;
    None for a question that has an answer."""
    return None if relevant else float(abstained)


def mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean of the scores that could be measured; None if none could."""
    measured = [score for score in scores if score is not None]
    return math.fsum(measured) / len(measured) if measured else None


def _top(hits: Sequence[T], k: int) -> list[T]:
    if k < 1:
        raise ValueError(f"k must be at least 1: {k}")
    return list(dict.fromkeys(hits))[:k]


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)
