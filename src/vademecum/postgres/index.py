"""How are candidates found? Both legs of one index generation, inside PostgreSQL."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from pgvector import HalfVector
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from vademecum.errors import IndexSwitched
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId
from vademecum.model.index import EXACT_BELOW, DenseHits, IndexGeneration, Selection, TermStatistics
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope
from vademecum.postgres.filter import compiled
from vademecum.postgres.pool import Connection, Pool, away
from vademecum.postgres.queries import load
from vademecum.postgres.revision import sparse
from vademecum.postgres.unit_of_work import collections_of, transaction
from vademecum.postgres.upkeep import SAMPLED
from vademecum.text.language import UNKNOWN

_SQL = load("index")
# A mean over fewer chunks is noise.
_FEWEST_OF_LANGUAGE = 20


class PostgresIndex:
    """The Index port over the index tables of one generation. Where a search may see more than
    `exact_below` chunks a graph is used, if there is one."""

    def __init__(
        self, pool: Pool, generation: IndexGeneration, *, exact_below: int = EXACT_BELOW
    ) -> None:
        self._pool = pool
        self._generation = generation
        self._exact_below = exact_below

    @asynccontextmanager
    async def reading(self, scope: Scope) -> AsyncIterator["PostgresIndexReader"]:
        """See `Index.reading`. Whatever the database's fault, it means that the index is away, and
        never that a question cannot be answered; so does a generation that was dropped."""
        try:
            async with transaction(self._pool, scope) as connection:
                place = {"generation": self._generation.id}
                await connection.execute(_SQL["require_generation"], place)
                yield self._reader(scope, connection)
        except psycopg.errors.NoDataFound as error:
            raise IndexSwitched(
                "the build of the index that this process reads was dropped", hint="start it again"
            ) from error
        except psycopg.Error as error:
            raise away(error) from error

    def _reader(self, scope: Scope, connection: Connection) -> "PostgresIndexReader":
        place = {
            "generation": self._generation.id,
            "collections": collections_of(scope),
            "exact_below": self._exact_below,
            "fewest": _FEWEST_OF_LANGUAGE,
            "sampled": SAMPLED,
        }
        return PostgresIndexReader(connection, place=place)


class PostgresIndexReader:
    """The IndexReader of one transaction."""

    def __init__(self, connection: Connection, *, place: Mapping[str, Any]) -> None:
        self._connection = connection
        self._place = dict(place)

    async def languages(self) -> Mapping[str, int]:
        rows = await self._rows("language_statistics", {})
        return {language_of(row["term"]): int(row["chunks"]) for row in rows if row["term"] < 0}

    async def term_statistics(self, terms: Sequence[int]) -> TermStatistics:
        rows = await self._rows("term_statistics", {"terms": [0, *terms]})
        counts = {int(row["term"]): int(row["chunks"]) for row in rows}
        frequencies = {term: counts.get(term, 0) for term in terms}
        return TermStatistics(chunks=counts.get(0, 0), frequencies=frequencies)

    async def search_keyword(
        self,
        weights: Mapping[int, float],
        statistics: TermStatistics,
        selection: Selection,
        k: int,
        budget: int,
    ) -> list[Hit]:
        if not weights:
            return []
        frequencies = statistics.frequencies
        rarest = sorted(weights, key=lambda term: (frequencies.get(term, 0), term))
        rows = await self._rows(
            "search_keyword",
            _selected(selection)
            | {
                "terms": rarest,
                "frequencies": [frequencies.get(term, 0) for term in rarest],
                "query": sparse(weights),
                "k": k,
                "budget": budget,
            },
        )
        return [Hit(chunk_id=ChunkId(row["chunk"]), score=row["score"]) for row in rows]

    async def search_dense(self, query: FloatArray, selection: Selection, k: int) -> DenseHits:
        rows = await self._rows(
            "search_dense",
            _selected(selection) | {"query": HalfVector(query), "k": k},
        )
        return DenseHits(
            hits=tuple(Hit(chunk_id=ChunkId(row["chunk"]), score=row["score"]) for row in rows),
            low=rows[0]["low"] if rows else None,
            mixed=bool(rows and rows[0]["mixed"]),
            plan=rows[0]["plan"] if rows else "",
        )

    async def token_signs(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        rows = await self._rows("token_signs", {"chunks": list(chunk_ids)})
        return {ChunkId(row["chunk"]): row["signs"] for row in rows}

    async def _rows(self, query: str, values: dict[str, Any]) -> list[DictRow]:
        cursor = await self._connection.execute(_SQL[query], self._place | values)
        return await cursor.fetchall()


def language_of(term: int) -> str:
    """Return the language that a negative term stands for; see `language_term` in the schema."""
    first, rest = divmod(-term, 27 * 27)
    letters = (first, *divmod(rest, 27))
    return "".join(chr(96 + letter) for letter in letters if letter) if first else UNKNOWN


def _selected(selection: Selection) -> dict[str, Any]:
    path, values = compiled(selection.filter) if selection.filter else (None, None)
    return {"as_of": selection.as_of, "path": path, "bound": Jsonb(values) if path else None}
