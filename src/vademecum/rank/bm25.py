"""What is a term worth in a chunk? BM25 in the form of Robertson and Zaragoza (2009)."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

K1 = 1.2
B = 0.75


def idf(chunks: int, frequency: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): never negative, also for a term in every chunk."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))


def saturation(count: int, length: int, average_length: float) -> float:
    """tf / (tf + k1 * (1 - b + b * length / average)), in 0..1: BM25's tf part without (k1 + 1)."""
    return count / (count + K1 * (1 - B + B * length / average_length))


def average_length(lengths: Iterable[int]) -> float:
    """Return the mean number of terms a chunk; 1.0 where no chunk holds any, so that nothing
    divides by zero."""
    counted = list(lengths)
    return sum(counted) / len(counted) if any(counted) else 1.0


def document_weights(terms: Iterable[T], average_length: float) -> dict[T, float]:
    """Return each term's saturation in a chunk that holds `terms`."""
    counts = Counter(terms)
    length = sum(counts.values())
    return {term: saturation(count, length, average_length) for term, count in counts.items()}


def score(query: Mapping[T, float], document: Mapping[T, float]) -> float:
    """Return BM25 with the (k1 + 1) factor from idf by query term and saturation by chunk term."""
    return (K1 + 1) * sum(weight * document.get(term, 0.0) for term, weight in query.items())


def share(bm25: float, upper_bound: float) -> float:
    """Return U in 0..1: the part of the query's idf mass that the chunk carries."""
    # A chunk that holds two stems of one word of the query has both counted in `bm25`.
    return min(1.0, bm25 / ((K1 + 1) * upper_bound)) if upper_bound > 0 else 0.0
