"""Which of the best candidates speak of what is asked, token by token?"""

from collections.abc import Mapping

from vademecum.model.embedding import FloatArray, TokenStates
from vademecum.model.ids import ChunkId
from vademecum.rank.fuse import standardised
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
    """Return S = z(fused) + w * z(MaxSim) of every candidate; `fused` comes best first.

    Only those with a MaxSim change places, among themselves: the others stay behind, in order.
    One without states has the mean. `mixed` tells that the collections hold several languages.
    """
    first = standardised({item: fused[item] for item in list(fused)[:RERANKED]})
    second = standardised({item: late[item] for item in first if item in late})
    weight = _weight(best_share, mixed=mixed)
    final = {item: value + weight * second.get(item, 0.0) for item, value in first.items()}
    lowest = min(final.values(), default=0.0)
    for place, item in enumerate(fused):
        if item not in final:
            final[item] = lowest - (place + 1 - len(first))
    return final


def _weight(best_share: float, *, mixed: bool) -> float:
    if best_share < _LITTLE_SHARE:
        return _WEIGHT_ACROSS
    return _WEIGHT_MIXED if mixed else _WEIGHT
