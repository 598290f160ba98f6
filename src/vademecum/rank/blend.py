"""How does a second opinion change an order, and is it worth asking for?"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from vademecum.rank.fuse import standardised

T = TypeVar("T", bound=Hashable)

# What ranks the best candidates where nothing else is set: late interaction.
MAXSIM = "local:maxsim"
# So many were blended where it was measured (RANKING, section 7).
RERANK_FIRST = 10
# Chosen and not yet measured: `benchmarks/reranker.py` tells what is asked and gained at each lead.
RERANK_LEAD = 1.0
# With fewer scores their spread says nothing.
_FEWEST = 10


def blended(
    first: Mapping[T, float], second: Mapping[T, float], *, most: int, weight: float
) -> dict[T, float]:
    """Return S = z(first) + weight * z(second) of every item; `first` comes best first.

    Only the best `most` change places, among themselves: the others stay behind, in order. One of
    them that `second` lacks has its mean.
    """
    own = standardised({item: first[item] for item in list(first)[:most]})
    other = standardised({item: second[item] for item in own if item in second})
    final = {item: value + weight * other.get(item, 0.0) for item, value in own.items()}
    lowest = min(final.values(), default=0.0)
    for place, item in enumerate(first):
        if item not in final:
            final[item] = lowest - (place + 1 - len(own))
    return final


def lead(scores: Mapping[T, float]) -> float:
    """Return by how many standard deviations (of the list itself, divided by n) the highest score
    stands above the second: at least 0, and 0 where there are fewer than ten."""
    if len(scores) < _FEWEST:
        return 0.0
    best, second, *_ = sorted(standardised(scores).values(), reverse=True)
    return best - second
