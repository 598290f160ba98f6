"""Who proposes chunks for a query?"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId
from vademecum.model.index import DenseHits, Selection, TermStatistics
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope


class IndexReader(Protocol):
    """One look at the index as one scope sees it. Every hit is confirmed before use."""

    async def languages(self) -> Mapping[str, int]:
        """Return how many chunks there are in each language."""
        ...

    async def term_statistics(self, terms: Sequence[int]) -> TermStatistics:
        """Return how many chunks there are, and how many of them hold each term.

        A selection does not narrow them: what a term is worth does not hang on a filter.
        """
        ...

    async def search_keyword(
        self,
        weights: Mapping[int, float],
        statistics: TermStatistics,
        selection: Selection,
        k: int,
        budget: int,
    ) -> list[Hit]:
        """Return at most k hits by inner product of query and chunk weights, best first.

        Only chunks that hold one of the rarest terms are scored, of as many terms as make
        `budget` chunks; of more terms where k would not be found. Chunks that hold none of the
        terms are never returned.
        """
        ...

    async def search_dense(self, query: FloatArray, selection: Selection, k: int) -> DenseHits:
        """Return min(k, selected) hits by cosine; `query` has shape (d,).

        Where the searched collections hold several languages, a score is the cosine less that of
        the mean of the chunk's language: how much nearer it is than a usual text of its language.
        """
        ...

    async def token_signs(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the packed signs of the chunks' token states; a chunk without any is left out."""
        ...


class Index(Protocol):
    """Propose hits of one generation."""

    def reading(self, scope: Scope) -> AbstractAsyncContextManager[IndexReader]:
        """Open a look at the index; use it from one task at a time."""
        ...
