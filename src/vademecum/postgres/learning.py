"""Which turns wait to be learned from?"""

from collections.abc import Mapping
from datetime import UTC, date, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vademecum.model.ids import ConversationId, Principal, Tenant, TurnId
from vademecum.model.principal import Scope
from vademecum.ports.learning import Unlearned
from vademecum.postgres.conversation.store import turn_of
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("learning")
# Of one tenant in one pass, so that none keeps the others waiting.
_MOST_CONVERSATIONS = 50


class PostgresLearning:
    """The LearnStore on PostgreSQL. A conversation is learned from once nobody has said anything
    in it for `quiet` seconds."""

    def __init__(self, pool: Pool, *, quiet: float) -> None:
        self._pool = pool
        self._quiet = quiet

    async def waiting(self, tenant: Tenant) -> list[ConversationId]:
        values = {"tenant": tenant, "quiet": self._quiet, "limit": _MOST_CONVERSATIONS}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_SQL["waiting"], values)
            return [ConversationId(row["id"]) async for row in cursor]

    async def unlearned(self, tenant: Tenant, conversation_id: ConversationId) -> Unlearned | None:
        keys: dict[str, Any] = {"tenant": tenant, "id": conversation_id}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_SQL["unlearned_conversation"], keys)
            row = await cursor.fetchone()
            if row is None:
                return None
            keys |= {"after": row["learned_through"], "through": row["saved_through"]}
            turns = await (await connection.execute(_SQL["unlearned_turns"], keys)).fetchall()
        return Unlearned(
            principal=Principal(row["principal"]),
            persona=row["persona"],
            turns=tuple(map(turn_of, turns)),
            days={TurnId(turn["id"]): _day(turn) for turn in turns},
            forgotten=frozenset(TurnId(turn["id"]) for turn in turns if turn["forgotten"]),
            through=row["saved_through"],
            attempts=row["learn_attempts"],
        )

    async def learned(self, tenant: Tenant, conversation_id: ConversationId, through: int) -> None:
        await self._write("learned", tenant, {"id": conversation_id, "through": through})

    async def put_off(self, tenant: Tenant, conversation_id: ConversationId) -> None:
        await self._write("put_off", tenant, {"id": conversation_id})

    async def _write(self, name: str, tenant: Tenant, values: Mapping[str, Any]) -> None:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(_SQL[name], {"tenant": tenant, **values})


def _day(row: Mapping[str, Any]) -> date:
    """Return the day on which a turn was said, where the speaker was."""
    moment: date = row["created_at"].astimezone(_zone(row["zone"])).date()
    return moment


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
