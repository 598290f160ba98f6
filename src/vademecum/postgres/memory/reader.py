"""What does recall read of one person's memories?"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from pgvector import HalfVector
from psycopg.rows import DictRow

from vademecum.model.embedding import FloatArray
from vademecum.model.ids import MemoryId, Principal, TurnId
from vademecum.model.memory import Memory, MemorySource, Relationship, Stage
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Connection, Pool, away
from vademecum.postgres.queries import load
from vademecum.postgres.revision import sparse
from vademecum.postgres.unit_of_work import transaction
from vademecum.rank.memory import (
    CLOSE_TURNS,
    MOST_PROFILE_FACTS,
    PROFILE_IMPORTANCE,
    PROFILE_KINDS,
)

_SQL = load("memory")
_PROFILE = {
    "kinds": sorted(PROFILE_KINDS),
    "importance": PROFILE_IMPORTANCE,
    "facts": MOST_PROFILE_FACTS,
    # More than any prompt holds.
    "pinned": 500,
}


@asynccontextmanager
async def reading(
    pool: Pool, scope: Scope, persona: str, generation: int
) -> AsyncIterator["PostgresMemoryReader"]:
    """Open a look in one transaction. Whatever the database's fault, it means that memories are
    away, and never that a question cannot be answered."""
    try:
        async with transaction(pool, scope) as connection:
            yield PostgresMemoryReader(
                connection,
                {
                    "tenant": scope.tenant,
                    "principal": scope.principal,
                    "persona": persona,
                    "generation": generation,
                },
            )
    except psycopg.Error as error:
        raise away(error) from error


class PostgresMemoryReader:
    """The MemoryReader of one transaction."""

    def __init__(self, connection: Connection, place: Mapping[str, Any]) -> None:
        self._connection = connection
        self._place = dict(place)

    async def relationship(self) -> Relationship:
        [row] = await self._rows("relationship", {"most": CLOSE_TURNS})
        return Relationship(turns=row["turns"], days=row["days"])

    async def profile(self, reached: Sequence[Stage]) -> list[Memory]:
        found = await self._rows("profile", {"reached": list(reached), **_PROFILE})
        return [memory_of(row) for row in found]

    async def languages(self, reached: Sequence[Stage]) -> Mapping[str, int]:
        found = await self._rows("languages", {"reached": list(reached)})
        return {row["language"]: row["memories"] for row in found}

    async def frequencies(self, reached: Sequence[Stage], terms: Sequence[int]) -> dict[int, int]:
        values = {"reached": list(reached), "terms": list(terms)}
        counts = {row["term"]: row["memories"] for row in await self._rows("frequencies", values)}
        return {term: counts.get(term, 0) for term in terms}

    async def search_keyword(
        self, reached: Sequence[Stage], weights: Mapping[int, float], k: int
    ) -> dict[MemoryId, float]:
        if not weights:
            return {}
        return await self._scores(
            "search_keyword",
            {"reached": list(reached), "terms": list(weights), "query": sparse(weights), "k": k},
        )

    async def holding(
        self, reached: Sequence[Stage], masses: Mapping[int, float], k: int
    ) -> dict[MemoryId, frozenset[int]]:
        if not masses:
            return {}
        values = {"reached": list(reached), "terms": list(masses), "k": k}
        found = await self._rows("holding", values | {"masses": list(masses.values())})
        return {MemoryId(row["memory"]): frozenset(row["held"]) for row in found}

    async def search_dense(
        self, reached: Sequence[Stage], query: FloatArray, k: int
    ) -> dict[MemoryId, float]:
        values = {"reached": list(reached), "query": HalfVector(query), "k": k}
        return await self._scores("search_dense", values)

    async def usable(
        self, reached: Sequence[Stage], memory_ids: Sequence[MemoryId]
    ) -> list[Memory]:
        values = {"reached": list(reached), "ids": list(memory_ids)}
        return [memory_of(row) for row in await self._rows("usable", values)]

    async def _scores(self, query: str, values: dict[str, Any]) -> dict[MemoryId, float]:
        return {MemoryId(r["memory"]): r["score"] for r in await self._rows(query, values)}

    async def _rows(self, query: str, values: dict[str, Any]) -> list[DictRow]:
        cursor = await self._connection.execute(_SQL[query], self._place | values)
        return await cursor.fetchall()


def memory_of(row: DictRow) -> Memory:
    """Return a row of the table as a Memory, with its state at this moment."""
    turn = row["source_turn"]
    return Memory(
        id=MemoryId(row["id"]),
        principal=Principal(row["principal"]),
        persona=row["persona"],
        kind=row["kind"],
        text=row["text"],
        language=row["language"],
        importance=row["importance"],
        emotion=row["emotion"],
        confidence=row["confidence"],
        reason=row["reason"],
        origin=row["origin"],
        state=row["state_now"],
        held_until=row["held_until"],
        pinned=row["pinned"],
        sensitive=frozenset(row["sensitive"]),
        consented_at=row["consented_at"],
        source=MemorySource(
            kind=row["source"],
            words=row["source_words"],
            turn_id=TurnId(turn) if turn else None,
            client=row["client"],
        ),
        true_from=row["true_from"],
        true_until=row["true_until"],
        known_from=row["known_from"],
        known_until=row["known_until"],
        expires_at=row["expires_at"],
        uses=row["uses"],
        last_used_at=row["last_used_at"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        confirmed_at=row["confirmed_at"],
        version=row["version"],
        superseded_by=MemoryId(row["superseded_by"]) if row["superseded_by"] else None,
    )
