"""How are the turns of one person's conversations ranked? All of them, by arrays.

Measured on LoCoMo (Maharana et al. 2024), development conversations only; see docs/explanation/
conversations.md. Every array has one entry a turn, in the order of saving.
"""

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vademecum.model.embedding import FloatArray
from vademecum.rank.bm25 import K1, B, idf
from vademecum.rank.maxsim import unpacked_signs

Array = NDArray[np.float64]
T = TypeVar("T", bound=Hashable)
# Token states of so many turns are unpacked at a time.
_BLOCK = 512
_BEST_OF_SESSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWeights:
    """What each signal counts. `speaker` and `time` are standard deviations of the score; `late`
    is the weight of late interaction beside the first stage, both standardised."""

    dense: float = 0.5
    grams: float = 0.5
    late: float = 1.0
    speaker: float = 2.0
    time: float = 0.5
    neighbours: float = 0.2


TURN_WEIGHTS = TurnWeights()


def keyword_shares(
    asked: Sequence[AbstractSet[int]], held: Sequence[NDArray[np.int64]]
) -> tuple[Array, Array]:
    """Return BM25 of each text, with the (k1 + 1) factor, and U: its share (0..1) of what the
    query could have scored at most.

    Each set of `asked` holds the alternatives of one word, which counts at its best; `held` are
    the terms of each text, as often as they stand there. A word that no text holds counts in the
    upper bound as the rarest there could be.
    """
    count = len(held)
    if not count or not asked:
        return np.zeros(count), np.zeros(count)
    wanted = np.array(sorted(set().union(*asked)), np.int64)
    lengths = np.array([len(terms) for terms in held], np.float64)
    flat = np.concatenate(held) if lengths.any() else np.empty(0, np.int64)
    owners = np.repeat(np.arange(count), lengths.astype(np.int64))
    at = np.minimum(np.searchsorted(wanted, flat), len(wanted) - 1)
    hit = wanted[at] == flat
    counts = np.zeros((count, len(wanted)))
    np.add.at(counts, (owners[hit], at[hit]), 1)
    frequencies = (counts > 0).sum(axis=0)
    weights = np.array([idf(count, int(n)) if n else 0.0 for n in frequencies])
    norms = K1 * (1 - B + B * lengths / max(1.0, lengths.mean()))
    worth = weights * counts / (counts + norms[:, None])
    total, upper_bound = np.zeros(count), 0.0
    for alternatives in asked:
        columns = np.searchsorted(wanted, sorted(alternatives))
        total += worth[:, columns].max(axis=1)
        upper_bound += weights[columns].max() or idf(count, 0)
    return (K1 + 1) * total, total / upper_bound


def late_scores(query: FloatArray, weights: FloatArray, signs: Sequence[bytes | None]) -> Array:
    """Return MaxSim (-1..1) of each text with the query's centred unit states (q, d), NaN where
    the text has no packed signs."""
    scores = np.full(len(signs), np.nan)
    known = [i for i, packed in enumerate(signs) if packed]
    if not len(query):
        return scores
    dimension = query.shape[1]
    width = -(-dimension // 8)
    shares = weights / weights.sum()
    for start in range(0, len(known), _BLOCK):
        block = known[start : start + _BLOCK]
        packed = [signs[i] or b"" for i in block]
        tokens = unpacked_signs(b"".join(packed), dimension)
        begins = np.cumsum([0, *(len(p) // width for p in packed[:-1])])
        best = np.maximum.reduceat(tokens @ query.T, begins, axis=0)
        scores[block] = best @ shares
    return scores


def first_stage(
    cosines: Array, shares: Array, gram_shares: Array, weights: TurnWeights = TURN_WEIGHTS
) -> Array:
    """Return S = a * minmax(cosine) + (1 - a) * 2 * (U + g * U4), with NaN cosines as the lowest:
    the default fusion, over all turns instead of candidates."""
    dense = np.zeros(len(cosines))
    known = ~np.isnan(cosines)
    if known.any():
        low, high = cosines[known].min(), cosines[known].max()
        dense[known] = (cosines[known] - low) / (high - low) if high > low else 1.0
    keyword = shares + weights.grams * gram_shares
    return weights.dense * dense + (1 - weights.dense) * 2 * keyword


def standard(scores: Array) -> Array:
    """Return deviations from the mean in standard deviations, 0 where a score is not known."""
    known = ~np.isnan(scores)
    result = np.zeros(len(scores))
    if known.any() and (deviation := scores[known].std()) > 0:
        result[known] = (scores[known] - scores[known].mean()) / deviation
    return result


def ranked(
    first: Array,
    late: Array,
    *,
    by_named: NDArray[np.bool_],
    in_time: NDArray[np.bool_],
    sessions: Sequence[Hashable],
    weights: TurnWeights = TURN_WEIGHTS,
) -> Array:
    """Return the score of each turn: z(first) + late * z(MaxSim), more for turns of the speaker
    whom the question names and of the time it names, then some of the better neighbour's."""
    scores = standard(first) + weights.late * standard(late)
    deviation = scores.std() if len(scores) else 0.0
    scores = scores + deviation * (weights.speaker * by_named + weights.time * in_time)
    return smoothed(scores, sessions, weights.neighbours)


def smoothed(scores: Array, sessions: Sequence[Hashable], share: float) -> Array:
    """Return s(i) + share * max(s(i - 1), s(i + 1)) over neighbours of the same session, counted
    from the lowest score, so that a neighbour never takes anything away."""
    if not len(scores):
        return scores
    above: Array = scores - scores.min()
    best = np.zeros(len(scores))
    for i in range(1, len(scores)):
        if sessions[i] == sessions[i - 1]:
            best[i] = max(best[i], above[i - 1])
            best[i - 1] = max(best[i - 1], above[i])
    total: Array = above + share * best
    return total


def session_scores(scores: Array, sessions: Sequence[T]) -> dict[T, float]:
    """Return the mean of the best three turns of each session, fewer where it has fewer."""
    own: dict[T, list[float]] = {}
    for session, score in zip(sessions, scores, strict=True):
        own.setdefault(session, []).append(float(score))
    return {
        session: float(np.mean(sorted(values)[-_BEST_OF_SESSION:]))
        for session, values in own.items()
    }
