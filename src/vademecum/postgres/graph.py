"""When does the dense leg get graphs, and how are they built beside readers and writers?"""

from psycopg import AsyncConnection, sql

from vademecum.model.index import EXACT_BELOW, IndexGeneration
from vademecum.postgres.pool import clear_errors

# A language of fewer chunks is compared as quickly; a graph costs half a millisecond a chunk.
GRAPH_FROM = EXACT_BELOW
_LACKING = """
-- Over all tenants: a graph is theirs together. Names that are no codes of languages have none.
SELECT v.language
FROM vademecum.chunk_vector v
WHERE v.generation = %(generation)s::int AND v.language ~ '^[a-z]{2,3}$'
GROUP BY v.language
HAVING count(*) >= %(fewest)s::int
   AND v.language <> ALL (vademecum.languages_with_graph(%(generation)s::int))
ORDER BY count(*) DESC
"""
_LARGE = """
-- No more rows are counted than are asked for.
SELECT count(*) >= %(fewest)s::int FROM (
    SELECT FROM vademecum.chunk_vector v WHERE v.generation = %(generation)s::int
    LIMIT %(fewest)s::int) AS counted
"""
_OF_GENERATION = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'vademecum.chunk_vector'::regclass
  AND c.relname LIKE format('chunk\\_vector\\_graph\\_%%s\\_%%%%', %(generation)s::int)
"""
# In bulk: a graph that fits into this memory is built several times as fast.
_MEMORY = "SET maintenance_work_mem = '1GB'"
# Rows that have a last day are few, and searched beside it (see `nearest_by_graph` in the schema).
_BUILD = """
CREATE INDEX CONCURRENTLY {name} ON vademecum.chunk_vector
    USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)
    WITH (m = 16, ef_construction = 64)
    WHERE generation = {generation} AND language = {language} AND valid_until = 'infinity'
"""
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS vademecum.{name}"


class PostgresGraph:
    """The graphs of one generation, one a language that is large; `url` is of a login that owns the
    schema."""

    def __init__(self, url: str, generation: IndexGeneration, *, fewest: int = GRAPH_FROM) -> None:
        self._url = url
        self._generation = generation
        self._fewest = fewest

    async def tend(self) -> bool:
        """Build a graph for each language that has grown large enough for one; True if any was.

        Readers and writers go on meanwhile. One that was broken off is built again.
        Raises: DatabaseAway.
        """
        keys = {"generation": self._generation.id, "fewest": self._fewest}
        with clear_errors():
            async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
                cursor = await connection.execute(_LARGE, keys)
                if (await cursor.fetchone()) != (True,):
                    return False
                cursor = await connection.execute(_LACKING, keys)
                lacking = [str(row[0]) for row in await cursor.fetchall()]
                for language in lacking:
                    await self._build(connection, language)
        return bool(lacking)

    async def drop(self) -> None:
        """Drop the graphs, if there are any. Raises: DatabaseAway."""
        with clear_errors():
            async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
                cursor = await connection.execute(
                    _OF_GENERATION, {"generation": self._generation.id}
                )
                for (name,) in await cursor.fetchall():
                    await connection.execute(sql.SQL(_DROP).format(name=sql.Identifier(name)))

    async def _build(self, connection: AsyncConnection, language: str) -> None:
        name = f"chunk_vector_graph_{self._generation.id}_{language}"
        parts = {
            "name": sql.Identifier(name),
            "generation": sql.Literal(self._generation.id),
            "language": sql.Literal(language),
            "dimension": sql.Literal(self._generation.space.dimension),
        }
        await connection.execute(sql.SQL(_DROP).format(**parts))
        await connection.execute(_MEMORY)
        await connection.execute(sql.SQL(_BUILD).format(**parts))
