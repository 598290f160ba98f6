"""How do ranked lists become one?

Three families: by rank (`reciprocal_rank`), by each list's own scores (`relative_score`,
`convex`, `distribution_based`), and the default, which measures the keyword leg against what the
query could have scored at most (`by_upper_bound`). An item that a list lacks gets 0 from it.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, TypeVar

T = TypeVar("T", bound=Hashable)
Method = Literal["upper_bound", "rrf", "ranked", "rrf_small", "min_max", "relative", "distribution"]

RRF_K = 60
# The k of engines that count ranks from 0 and favour the first places more.
RRF_SMALL_K = 2
DENSE_WEIGHT = 0.5


def reciprocal_rank(
    lists: Sequence[Sequence[T]],
    *,
    k: int = RRF_K,
    first_rank: int = 1,
    weights: Sequence[float] | None = None,
) -> dict[T, float]:
    """Return sum of weight / (k + rank) over the lists (Cormack, Clarke and Büttcher 2009).

    The paper counts ranks from 1 with k = 60. Two other conventions count from `first_rank` 0:
    `rankedFusion`, 1 / (rank + 60), and the short one with k = 2. An item that stands twice in a
    list votes once, at its better rank, and those behind it move up.
    """
    if k < 0 or first_rank < 0 or k + first_rank == 0:
        raise ValueError(f"k and first_rank must not be negative, nor both 0: {k}, {first_rank}")
    chosen = [1.0] * len(lists) if weights is None else weights
    fused: dict[T, float] = {}
    for ranked, weight in zip(lists, chosen, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranked), start=first_rank):
            fused[item] = fused.get(item, 0.0) + weight / (k + rank)
    return fused


def min_max(scores: Mapping[T, float], *, low: float | None = None) -> dict[T, float]:
    """Return scores mapped to 0..1 between the lowest (or `low`) and the highest.

    Without `low`, equal scores are all 1; with it, what lies at or below it is 0.
    """
    if not scores:
        return {}
    bottom = min(scores.values()) if low is None else low
    span = max(scores.values()) - bottom
    if span <= 0:
        return dict.fromkeys(scores, 1.0 if low is None else 0.0)
    return {item: max(0.0, (value - bottom) / span) for item, value in scores.items()}


def relative_score(
    dense: Mapping[T, float], keyword: Mapping[T, float], *, alpha: float = DENSE_WEIGHT
) -> dict[T, float]:
    """Return alpha * minmax(dense) + (1 - alpha) * minmax(keyword), in 0..1.

    Relative score fusion (Weighted CombSUM of Fox and Shaw 1994 over min-max): each list's own
    lowest score is its 0, so the last hit of a list counts nothing.
    """
    return _weighted(min_max(dense), min_max(keyword), alpha)


def convex(
    dense: Mapping[T, float],
    keyword: Mapping[T, float],
    *,
    alpha: float = DENSE_WEIGHT,
    dense_low: float | None = None,
    keyword_low: float = 0.0,
) -> dict[T, float]:
    """Return the convex combination of Bruch, Gai and Ingber (2023), in 0..1.

    As `relative_score`, but the 0 of each list is the lowest score that there can be, not the
    lowest that was retrieved: 0 for BM25, and for cosines what unrelated texts score.
    """
    return _weighted(min_max(dense, low=dense_low), min_max(keyword, low=keyword_low), alpha)


def distribution_based(lists: Sequence[Mapping[T, float]]) -> dict[T, float]:
    """Return the sum of each list's scores mapped from mean ± 3 standard deviations to 0..1.

    Distribution-based score fusion (Mazzeschi 2023): (x - mean + 3 sd) / (6 sd), cut to 0..1, with
    the deviation of the list itself (divided by n). Equal scores are all 0.5. In 0..len(lists).
    """
    fused: dict[T, float] = {}
    for scores in lists:
        for item, value in _by_deviation(scores).items():
            fused[item] = fused.get(item, 0.0) + value
    return fused


def by_upper_bound(
    cosines: Mapping[T, float],
    shares: Mapping[T, float],
    *,
    low: float | None = None,
    dense_weight: float = DENSE_WEIGHT,
) -> dict[T, float]:
    """Return S = a * minmax(cosine) + (1 - a) * 2 * U over all items of both legs.

    U is BM25 over the query's upper bound, so a question in another language, which carries
    little of its own idf mass in the text, makes the keyword leg fade by itself.
    """
    dense = min_max(cosines, low=low)
    return {
        item: dense_weight * dense.get(item, 0.0) + (1 - dense_weight) * 2 * shares.get(item, 0.0)
        for item in dict.fromkeys([*cosines, *shares])
    }


def _weighted(dense: Mapping[T, float], keyword: Mapping[T, float], alpha: float) -> dict[T, float]:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must lie in 0..1: {alpha}")
    return {
        item: alpha * dense.get(item, 0.0) + (1 - alpha) * keyword.get(item, 0.0)
        for item in dict.fromkeys([*dense, *keyword])
    }


def _by_deviation(scores: Mapping[T, float]) -> dict[T, float]:
    if not scores:
        return {}
    mean = math.fsum(scores.values()) / len(scores)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in scores.values()) / len(scores))
    if deviation == 0:
        return dict.fromkeys(scores, 0.5)
    return {
        item: min(1.0, max(0.0, (value - mean + 3 * deviation) / (6 * deviation)))
        for item, value in scores.items()
    }


def standardised(scores: Mapping[T, float]) -> dict[T, float]:
    """Return scores as deviations from their mean, in standard deviations (of the list itself,
    divided by n); equal scores are all 0."""
    if not scores:
        return {}
    mean = math.fsum(scores.values()) / len(scores)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in scores.values()) / len(scores))
    if deviation == 0:
        return dict.fromkeys(scores, 0.0)
    return {item: (value - mean) / deviation for item, value in scores.items()}
