"""What do the two legs of the index propose?"""

from collections.abc import Mapping
from dataclasses import dataclass

from vademecum.model.ids import ChunkId, Tenant
from vademecum.model.index import Selection, TermStatistics
from vademecum.model.passage import Hit
from vademecum.ports.index import IndexReader
from vademecum.rank.bm25 import K1, idf, share
from vademecum.text.analyse import query_terms, term_id
from vademecum.text.language import UNKNOWN, detect

# Chunks that are scored: the best of many more are the same ones nearly always.
BUDGET = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordHits:
    """BM25 hits, best first, and U of each (share of the question's idf mass, 0..1)."""

    hits: tuple[Hit, ...]
    shares: dict[ChunkId, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What each term of a query is worth, and the most that a chunk could have of it."""

    weights: Mapping[int, float]
    upper_bound: float


async def keyword_leg(
    reader: IndexReader,
    tenant: Tenant,
    text: str,
    selection: Selection,
    k: int,
    budget: int = BUDGET,
) -> KeywordHits:
    """Return at most k hits by BM25 of about `budget` chunks. A word stems in each language that
    there is, and counts at its rarest."""
    held = frozenset(await reader.languages())
    languages = (held | {detect(text, held)}) - {UNKNOWN}
    asked = [
        {term_id(term, tenant) for term in alternatives}
        for alternatives in query_terms(text, languages)
    ]
    if not asked:
        return KeywordHits(hits=(), shares={})
    statistics = await reader.term_statistics(sorted(set().union(*asked)))
    weighed = weigh(asked, statistics, past=selection.as_of is not None)
    found = await reader.search_keyword(weighed.weights, statistics, selection, k, budget)
    return KeywordHits(
        hits=tuple(Hit(chunk_id=hit.chunk_id, score=(K1 + 1) * hit.score) for hit in found),
        shares={hit.chunk_id: share((K1 + 1) * hit.score, weighed.upper_bound) for hit in found},
    )


def weigh(asked: list[set[int]], statistics: TermStatistics, *, past: bool) -> Weighed:
    """Return idf by term. Each set of `asked` holds the alternatives of one word; a word that no
    chunk holds counts in the upper bound as the rarest there could be. Statistics tell of now: in
    the `past` a chunk may hold it all the same."""
    weights = {
        term: idf(statistics.chunks, frequency)
        for term, frequency in statistics.frequencies.items()
        if frequency or past
    }
    unknown = idf(statistics.chunks, 0)
    upper_bound = sum(
        max((weights[term] for term in terms if term in weights), default=unknown)
        for terms in asked
    )
    return Weighed(weights=weights, upper_bound=upper_bound)
