"""Which of the best candidates speak of what is asked, token by token, or as a model reads them?"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vademecum.errors import ModelUnusable
from vademecum.model.embedding import FloatArray, TokenStates
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.model.passage import Signals
from vademecum.rank.blend import blended, lead
from vademecum.rank.maxsim import maxsim, normalised, unpacked_signs

RERANKED = 50
# Where the best chunk carries less of the question's idf mass than this, the question is likely
# in another language than the documents, and words say little.
_LITTLE_SHARE = 0.2
_WEIGHT, _WEIGHT_MIXED, _WEIGHT_ACROSS = 1.0, 2.0, 3.0


def late_interaction(
    query: TokenStates, centre: FloatArray, signs: Mapping[ChunkId, bytes]
) -> dict[ChunkId, float]:
    """Return MaxSim (-1..1) of each candidate whose token states are there, and are whole; `centre`
    (d,) is the usual state of the query's language."""
    asked = normalised(query.states, centre)
    if not len(asked):
        return {}
    dimension = asked.shape[1]
    return {
        item: maxsim(asked, unpacked_signs(packed, dimension), query.weights)
        for item, packed in signs.items()
        if len(packed) % -(-dimension // 8) == 0
    }


def reordered(
    fused: Mapping[ChunkId, float], late: Mapping[ChunkId, float], *, best_share: float, mixed: bool
) -> dict[ChunkId, float]:
    """Return S = z(fused) + w * z(MaxSim) of every candidate; see `blended`. One without states
    has the mean. `mixed` tells that the collections hold several languages."""
    return blended(fused, late, most=RERANKED, weight=_weight(best_share, mixed=mixed))


def is_close(signals: Mapping[ChunkId, Signals], least_lead: float) -> bool:
    """Tell whether there is a first place to argue about: two candidates or more, the best of
    which leads by less than `least_lead` standard deviations of those that were reranked."""
    finals = {item: own.final for item, own in list(signals.items())[:RERANKED]}
    return len(finals) > 1 and lead(finals) < least_lead


def checked_scores(scores: Sequence[float | None], count: int) -> list[float | None]:
    """Return the scores as they are. Raises: ModelUnusable where they are not one a text, or not
    numbers: they would upset every ordering."""
    if len(scores) != count:
        raise ModelUnusable(
            f"the reranker gave {len(scores)} scores for {count} texts", hint="Try another model"
        )
    if not all(score is None or math.isfinite(score) for score in scores):
        raise ModelUnusable(
            "the reranker gave a score that is no finite number", hint="Try another model"
        )
    return list(scores)


def by_texts(
    signals: Mapping[ChunkId, Signals], scores: Mapping[ChunkId, float], most: int
) -> dict[ChunkId, Signals]:
    """Return the candidates in the order of z(order so far) + z(score), the best `most` of which
    change places: beside what ranked them before a reranker adds little and harms little, alone it
    loses up to .04 nDCG@10 (RANKING, section 7). Without any score nothing changes."""
    if not scores:
        return dict(signals)
    final = blended(
        {item: own.final for item, own in signals.items()}, scores, most=most, weight=1.0
    )
    order = sorted(final, key=lambda item: (-final[item], item))
    return {
        item: replace(signals[item], reranked=scores.get(item), final=final[item]) for item in order
    }


def capped(
    signals: Mapping[ChunkId, Signals], documents: Mapping[ChunkId, DocumentId], most: int
) -> dict[ChunkId, Signals]:
    """Return the best `most` candidates of each document, in their order; all where it is 0."""
    if not most:
        return dict(signals)
    taken: Counter[DocumentId] = Counter()
    kept = {}
    for item, own in signals.items():
        taken[documents[item]] += 1
        if taken[documents[item]] <= most:
            kept[item] = own
    return kept


def _weight(best_share: float, *, mixed: bool) -> float:
    if best_share < _LITTLE_SHARE:
        return _WEIGHT_ACROSS
    return _WEIGHT_MIXED if mixed else _WEIGHT
