"""How do the two legs become one order, with every signal kept?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from vademecum.model.ids import ChunkId
from vademecum.model.index import DenseHits
from vademecum.model.passage import Signals
from vademecum.model.query import Mode
from vademecum.rank.fuse import (
    DENSE_WEIGHT,
    RRF_K,
    RRF_SMALL_K,
    Method,
    by_upper_bound,
    convex,
    distribution_based,
    reciprocal_rank,
    relative_score,
)
from vademecum.retrieve.search import KeywordHits

# U4 beside U: spelling says less than words.
NGRAM_WEIGHT = 0.5
# A mean over fewer candidates of a language would take away what one of them holds.
_FEWEST_OF_LANGUAGE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How the legs are merged. `dense_weight` (0..1) is the dense leg's share, the rest is the
    keyword leg's; `k` is that of the reciprocal ranks, None for the method's own."""

    method: Method = "upper_bound"
    k: int | None = None
    dense_weight: float = DENSE_WEIGHT


def fuse(
    fusion: Fusion, mode: Mode, dense: DenseHits, keyword: KeywordHits
) -> dict[ChunkId, Signals]:
    """Return the signals of every candidate, best first."""
    cosines = {hit.chunk_id: hit.score for hit in dense.hits}
    bm25 = {hit.chunk_id: hit.score for hit in keyword.hits}
    dense_ranks = {item: rank for rank, item in enumerate(cosines, start=1)}
    keyword_ranks = {item: rank for rank, item in enumerate(bm25, start=1)}
    if mode == "dense":
        fused: Mapping[ChunkId, float] = cosines
    elif mode == "keyword":
        fused = bm25
    else:
        fused = _fused(fusion, cosines, bm25, keyword.shares, dense.low)
    signals = {
        item: Signals(
            dense=cosines.get(item),
            dense_rank=dense_ranks.get(item),
            keyword=bm25.get(item),
            keyword_rank=keyword_ranks.get(item),
            keyword_share=keyword.shares.get(item),
        )
        for item in fused
    }
    return _in_order(signals, fused)


def with_spelling(
    fusion: Fusion, signals: Mapping[ChunkId, Signals], shares: Mapping[ChunkId, float]
) -> dict[ChunkId, Signals]:
    """Return the candidates in the order of S = a * minmax(cosine) + (1 - a) * 2 * (U + U4 / 2),
    where `shares` holds U4 (0..1) of each. U4 is known only once the texts are read."""
    weight = 2 * (1 - fusion.dense_weight) * NGRAM_WEIGHT
    fused = {item: own.fused + weight * shares[item] for item, own in signals.items()}
    spelt = {item: replace(own, ngram_share=shares[item]) for item, own in signals.items()}
    return _in_order(spelt, fused)


def levelled(
    fusion: Fusion, signals: Mapping[ChunkId, Signals], languages: Mapping[ChunkId, str]
) -> dict[ChunkId, Signals]:
    """Return the candidates of several languages in the order of S less what words give those of
    their language on average, above what they give all: a question shares more words with any
    passage in its own language, whatever it is about. A code or a name stands out as before."""
    words = {
        item: (own.keyword_share or 0.0) + NGRAM_WEIGHT * (own.ngram_share or 0.0)
        for item, own in signals.items()
    }
    common = fmean(words.values())
    shares: dict[str, list[float]] = {}
    for item, share in words.items():
        shares.setdefault(languages[item], []).append(share)
    usual = {
        language: fmean(own) if len(own) >= _FEWEST_OF_LANGUAGE else common
        for language, own in shares.items()
    }
    weight = 2 * (1 - fusion.dense_weight)
    fused = {
        item: own.fused - weight * (usual[languages[item]] - common)
        for item, own in signals.items()
    }
    return _in_order(signals, fused)


def _in_order(
    signals: Mapping[ChunkId, Signals], fused: Mapping[ChunkId, float]
) -> dict[ChunkId, Signals]:
    """Return the candidates by new fused scores, best first; ties by id, so that runs agree."""
    order = sorted(fused, key=lambda item: (-fused[item], item))
    return {item: replace(signals[item], fused=fused[item], final=fused[item]) for item in order}


def _fused(
    fusion: Fusion,
    cosines: Mapping[ChunkId, float],
    bm25: Mapping[ChunkId, float],
    shares: Mapping[ChunkId, float],
    low: float | None,
) -> Mapping[ChunkId, float]:
    weight = fusion.dense_weight
    lists = [list(cosines), list(bm25)]
    # At equal shares each list has one vote.
    weights = [2 * weight, 2 * (1 - weight)]
    usual = RRF_SMALL_K if fusion.method == "rrf_small" else RRF_K
    k = usual if fusion.k is None else fusion.k
    match fusion.method:
        case "upper_bound":
            return by_upper_bound(cosines, shares, low=low, dense_weight=weight)
        case "min_max":
            return convex(cosines, bm25, alpha=weight, dense_low=low)
        case "relative":
            return relative_score(cosines, bm25, alpha=weight)
        case "distribution":
            return distribution_based([cosines, bm25])
        case "rrf":
            return reciprocal_rank(lists, k=k, weights=weights)
        case "ranked" | "rrf_small":
            return reciprocal_rank(lists, k=k, first_rank=0, weights=weights)
