"""Who proposes chunks for a query?"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol

from vademecum.model.embedding import FloatArray
from vademecum.model.index import TermStatistics
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope


class Index(Protocol):
    """Propose hits of one generation, of revisions in force at the end of the day `as_of`, or now.
    Every hit is confirmed against the store before use."""

    async def search_dense(
        self, scope: Scope, query: FloatArray, k: int, as_of: date | None
    ) -> list[Hit]:
        """Return min(k, visible) hits by cosine, best first; `query` has shape (d,)."""
        ...

    async def term_statistics(
        self, scope: Scope, terms: Sequence[int], as_of: date | None
    ) -> TermStatistics:
        """Return how many chunks the scope may see, and how many of them hold each term."""
        ...

    async def search_keyword(
        self, scope: Scope, query_weights: Mapping[int, float], k: int, as_of: date | None
    ) -> list[Hit]:
        """Return at most k hits by inner product of query and chunk weights, best first.

        Chunks that hold none of the terms are never returned.
        """
        ...
