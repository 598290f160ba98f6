"""When does the dense leg get a graph, and how is it built beside readers and writers?"""

from psycopg import AsyncConnection, sql

from vademecum.model.index import IndexGeneration
from vademecum.postgres.pool import clear_errors

# Below this many chunks comparing all is as quick; a graph costs half a millisecond a chunk.
GRAPH_FROM = 50_000
_STATE = """
-- Over all tenants: the graph is one. No more rows are counted than are asked for.
SELECT (SELECT count(*) FROM (SELECT FROM vademecum.chunk_vector v
                              WHERE v.generation = %(generation)s::int
                              LIMIT %(fewest)s::int) AS counted) >= %(fewest)s::int AS large,
       EXISTS (SELECT FROM pg_index i
               WHERE i.indexrelid = to_regclass(format('vademecum.chunk_vector_graph_%%s',
                                                       %(generation)s::int))
                 AND i.indisvalid) AS whole
"""
# In bulk: a graph that fits into this memory is built several times as fast.
_MEMORY = "SET maintenance_work_mem = '1GB'"
# Rows that have a last day are few, and searched beside it (see `nearest_chunks` in the schema).
_BUILD = """
CREATE INDEX CONCURRENTLY {name} ON vademecum.chunk_vector
    USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)
    WITH (m = 16, ef_construction = 64)
    WHERE generation = {generation} AND valid_until = 'infinity'
"""
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS vademecum.{name}"


class PostgresGraph:
    """The graph of one generation; `url` is of a login that owns the schema."""

    def __init__(self, url: str, generation: IndexGeneration, *, fewest: int = GRAPH_FROM) -> None:
        self._url = url
        self._generation = generation
        self._fewest = fewest

    async def drop(self) -> None:
        """Drop the graph, if there is one. Raises: DatabaseAway."""
        name = sql.Identifier(f"chunk_vector_graph_{self._generation.id}")
        with clear_errors():
            async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
                await connection.execute(sql.SQL(_DROP).format(name=name))

    async def tend(self) -> bool:
        """Build the graph where the index has grown large enough for one; True if it was built.

        Readers and writers go on meanwhile. One that was broken off is built again.
        Raises: DatabaseAway.
        """
        generation = self._generation.id
        with clear_errors():
            async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
                cursor = await connection.execute(
                    _STATE, {"generation": generation, "fewest": self._fewest}
                )
                row = await cursor.fetchone()
                large, whole = row or (False, False)
                if whole or not large:
                    return False
                parts = {
                    "name": sql.Identifier(f"chunk_vector_graph_{generation}"),
                    "generation": sql.Literal(generation),
                    "dimension": sql.Literal(self._generation.space.dimension),
                }
                await connection.execute(sql.SQL(_DROP).format(**parts))
                await connection.execute(_MEMORY)
                await connection.execute(sql.SQL(_BUILD).format(**parts))
        return True
