"""What do the two legs of the index propose?"""

from dataclasses import dataclass

from vademecum.model.embedding import check_vectors
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.ports.embedder import Embedder
from vademecum.ports.index import Index
from vademecum.rank.bm25 import K1, TERM_SPACE, idf, share
from vademecum.text.analyse import query_terms, term_id


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordHits:
    """BM25 hits, best first, and U of each (share of the question's idf mass, 0..1)."""

    hits: tuple[Hit, ...]
    shares: dict[ChunkId, float]


async def dense_leg(
    index: Index, embedder: Embedder, scope: Scope, query: Query, k: int
) -> list[Hit]:
    """Return at most k hits by cosine to the query. Raises: what `Embedder.embed` raises."""
    vectors = await embedder.embed([query.text], "query")
    check_vectors(vectors, count=1, dimension=embedder.space.dimension)
    return await index.search_dense(scope, vectors[0], k, query.as_of)


async def keyword_leg(
    index: Index, scope: Scope, query: Query, languages: frozenset[str], k: int
) -> KeywordHits:
    """Return at most k hits by BM25. A word stems in each language and counts at its rarest."""
    asked = [
        {term_id(term, TERM_SPACE) for term in alternatives}
        for alternatives in query_terms(query.text, languages)
    ]
    if not asked:
        return KeywordHits(hits=(), shares={})
    statistics = await index.term_statistics(scope, sorted(set().union(*asked)), query.as_of)
    weights = {
        term: idf(statistics.chunks, frequency)
        for term, frequency in statistics.frequencies.items()
        if frequency
    }
    # A word that no chunk holds counts as the rarest there could be.
    unknown = idf(statistics.chunks, 0)
    upper_bound = sum(
        max((weights[term] for term in terms if term in weights), default=unknown)
        for terms in asked
    )
    found = await index.search_keyword(scope, weights, k, query.as_of)
    hits = tuple(Hit(chunk_id=hit.chunk_id, score=(K1 + 1) * hit.score) for hit in found)
    return KeywordHits(
        hits=hits, shares={hit.chunk_id: share(hit.score, upper_bound) for hit in hits}
    )
