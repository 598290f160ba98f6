"""How are candidates found? Both legs of one index generation, inside PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import date

from pgvector import HalfVector

from vademecum.errors import SpaceMismatch
from vademecum.model.embedding import EmbeddingSpace, FloatArray
from vademecum.model.ids import ChunkId
from vademecum.model.index import IndexGeneration, TermStatistics
from vademecum.model.passage import Hit
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.revision import sparse
from vademecum.postgres.unit_of_work import collections_of, transaction

_SQL = load("index")
_GENERATION = load("generation")


async def current_generation(
    pool: Pool, space: EmbeddingSpace, analyser: str, average_length: float
) -> IndexGeneration:
    """Return the current generation, made for these settings where there is none.

    Raises: SpaceMismatch where the index was built with another embedding space or analyser.
    """
    async with pool.connection() as connection, connection.transaction():
        row = await (await connection.execute(_GENERATION["current"])).fetchone()
        if row is None:
            facts = {
                "provider": space.provider,
                "model": space.model,
                "revision": space.revision,
                "dimension": space.dimension,
                "metric": space.metric,
                "query_prefix": space.query_prefix,
                "passage_prefix": space.passage_prefix,
                "analyser": analyser,
                "average_length": average_length,
            }
            await connection.execute(_GENERATION["add_space"], facts)
            await connection.execute(_GENERATION["add_generation"], facts)
            row = await (await connection.execute(_GENERATION["current"])).fetchone()
    assert row is not None
    found = IndexGeneration(
        id=row["id"],
        space=EmbeddingSpace(
            provider=row["provider"],
            model=row["model"],
            revision=row["revision"],
            dimension=row["dimension"],
            metric=row["metric"],
            query_prefix=row["query_prefix"],
            passage_prefix=row["passage_prefix"],
        ),
        analyser=row["analyser"],
        average_length=row["average_length"],
    )
    if found.space != space:
        raise SpaceMismatch(
            f"the index holds vectors of {found.space.name}, the settings name {space.name}",
            hint="set models.embedding back; vectors of two spaces cannot be compared",
        )
    if found.analyser != analyser:
        raise SpaceMismatch(
            f"the index was analysed by {found.analyser}, this release has {analyser}",
            hint="use the release that built the index",
        )
    return found


class PostgresIndex:
    """The Index port over the two index tables of one generation."""

    def __init__(self, pool: Pool, generation: IndexGeneration) -> None:
        self._pool = pool
        self._generation = generation

    async def search_dense(
        self, scope: Scope, query: FloatArray, k: int, as_of: date | None
    ) -> list[Hit]:
        return await self._hits(
            scope, "search_dense", {"query": HalfVector(query), "k": k, "as_of": as_of}
        )

    async def term_statistics(
        self, scope: Scope, terms: Sequence[int], as_of: date | None
    ) -> TermStatistics:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["term_statistics"], self._place(scope) | {"terms": list(terms), "as_of": as_of}
            )
            counts = {int(row["term"]): int(row["chunks"]) async for row in cursor}
        return TermStatistics(chunks=counts.pop(0, 0), frequencies=counts)

    async def search_keyword(
        self, scope: Scope, query_weights: Mapping[int, float], k: int, as_of: date | None
    ) -> list[Hit]:
        if not query_weights:
            return []
        return await self._hits(
            scope,
            "search_keyword",
            {
                "terms": sorted(query_weights),
                "query": sparse(query_weights),
                "k": k,
                "as_of": as_of,
            },
        )

    def _place(self, scope: Scope) -> dict[str, object]:
        return {
            "generation": self._generation.id,
            "collections": collections_of(scope),
        }

    async def _hits(self, scope: Scope, query: str, values: dict[str, object]) -> list[Hit]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL[query], self._place(scope) | values)
            return [Hit(chunk_id=ChunkId(row["chunk"]), score=row["score"]) async for row in cursor]
