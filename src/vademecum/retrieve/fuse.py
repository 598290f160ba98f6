"""How do the two legs become one order, with every signal kept?"""

from collections.abc import Sequence

from vademecum.model.ids import ChunkId
from vademecum.model.passage import Hit, Signals
from vademecum.model.query import Mode
from vademecum.rank.fuse import by_upper_bound
from vademecum.retrieve.search import KeywordHits


def fuse(mode: Mode, dense: Sequence[Hit], keyword: KeywordHits) -> dict[ChunkId, Signals]:
    """Return the signals of every candidate, best first; ties by id, so that runs agree."""
    cosines = {hit.chunk_id: hit.score for hit in dense}
    bm25 = {hit.chunk_id: hit.score for hit in keyword.hits}
    dense_ranks = {hit.chunk_id: rank for rank, hit in enumerate(dense, start=1)}
    keyword_ranks = {hit.chunk_id: rank for rank, hit in enumerate(keyword.hits, start=1)}
    if mode == "dense":
        fused = cosines
    elif mode == "keyword":
        fused = bm25
    else:
        fused = by_upper_bound(cosines, keyword.shares)
    order = sorted(fused, key=lambda item: (-fused[item], item))
    return {
        item: Signals(
            dense=cosines.get(item),
            dense_rank=dense_ranks.get(item),
            keyword=bm25.get(item),
            keyword_rank=keyword_ranks.get(item),
            keyword_share=keyword.shares.get(item),
            fused=fused[item],
            final=fused[item],
        )
        for item in order
    }
