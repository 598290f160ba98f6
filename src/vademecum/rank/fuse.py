"""How do ranked lists become one?"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

RRF_K = 60
DENSE_WEIGHT = 0.5


def reciprocal_rank(
    lists: Sequence[Sequence[T]], *, k: int = RRF_K, weights: Sequence[float] | None = None
) -> dict[T, float]:
    """Return sum of weight / (k + rank) over the lists, ranks from 1 (Cormack et al. 2009).

    An item that stands twice in a list votes once, at its better rank.
    """
    if k < 0:
        raise ValueError(f"k must not be negative: {k}")
    chosen = weights or [1.0] * len(lists)
    fused: dict[T, float] = {}
    for ranked, weight in zip(lists, chosen, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranked), start=1):
            fused[item] = fused.get(item, 0.0) + weight / (k + rank)
    return fused


def min_max(scores: Mapping[T, float], *, low: float | None = None) -> dict[T, float]:
    """Return scores mapped to 0..1 between the lowest (or `low`) and the highest; equal ones to 1."""
    if not scores:
        return {}
    bottom = min(scores.values()) if low is None else low
    span = max(scores.values()) - bottom
    if span <= 0:
        return dict.fromkeys(scores, 1.0)
    return {item: max(0.0, (value - bottom) / span) for item, value in scores.items()}


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
