"""How is kept by what turns are found? One row a turn, read whole for one person."""

from collections.abc import Mapping, Sequence

import numpy as np
from pgvector import HalfVector

from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, Tenant, TurnId
from vademecum.model.principal import Scope
from vademecum.model.turn_unit import TurnUnit, UnindexedTurn, UnitRow
from vademecum.postgres.conversation.store import turn_of
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("turn")


class PostgresTurns:
    """The TurnIndex on PostgreSQL, of the index build `generation`."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def missing(
        self, tenant: Tenant, conversation_id: ConversationId, limit: int
    ) -> list[UnindexedTurn]:
        keys = {
            "tenant": tenant,
            "conversation": conversation_id,
            "generation": self._generation,
            "limit": limit,
        }
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_SQL["unindexed"], keys)
            return [
                UnindexedTurn(
                    id=TurnId(row["id"]),
                    text=row["text"],
                    speaker=row["speaker"],
                    role=row["role"],
                    said_at=row["created_at"],
                    before=row["before"],
                    before_speaker=row["before_speaker"],
                    before_role=row["before_role"],
                    has_terms=row["has_terms"],
                )
                async for row in cursor
            ]

    async def put(self, tenant: Tenant, rows: Mapping[TurnId, UnitRow]) -> None:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            for turn_id, row in sorted(rows.items()):
                await connection.execute(
                    _SQL["put_unit"],
                    {
                        "tenant": tenant,
                        "generation": self._generation,
                        "id": turn_id,
                        "language": row.language,
                        "embedding": None if row.vector is None else HalfVector(row.vector),
                        "signs": row.signs,
                        "given_up": row.given_up,
                        "terms": list(row.terms),
                        "grams": list(row.grams),
                    },
                )

    async def units(self, scope: Scope, persona: str, limit: int) -> list[TurnUnit]:
        keys = {
            "tenant": scope.tenant,
            "principal": scope.principal,
            "persona": persona,
            "generation": self._generation,
            "limit": limit,
        }
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["units"], keys, binary=True)
            rows = await cursor.fetchall()
        return [
            TurnUnit(
                id=TurnId(row["id"]),
                conversation_id=ConversationId(row["conversation"]),
                said_at=row["created_at"],
                role=row["role"],
                speaker=row["speaker"],
                language=row["language"],
                terms=np.array(row["terms"], np.int64),
                grams=np.array(row["grams"], np.int64),
                vector=None
                if row["embedding"] is None
                else row["embedding"].to_numpy().astype(np.float32),
                signs=row["signs"],
            )
            for row in rows
        ]

    async def read(self, scope: Scope, turn_ids: Sequence[TurnId]) -> dict[TurnId, Turn]:
        keys = {"tenant": scope.tenant, "principal": scope.principal, "ids": list(turn_ids)}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["read_turns"], keys)
            turns = [turn_of(row) async for row in cursor]
        return {turn.id: turn for turn in turns}
