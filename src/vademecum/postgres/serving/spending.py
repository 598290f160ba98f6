"""How are answers under way counted across processes, and what they cost?"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from vademecum.model.answer import Usage
from vademecum.model.ids import KeyId
from vademecum.model.principal import Scope
from vademecum.model.serving.spending import Allowed, Refusal, Spent, UnderWay
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("spending")
LEASE = timedelta(seconds=60)


class PostgresSpending:
    """The SpendingStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, scope: Scope, answer: UnderWay, allowed: Allowed) -> Refusal | None:
        values = _keys(scope, answer) | {
            "most": allowed.streams,
            "may_tokens": answer.may.prompt_tokens + answer.may.completion_tokens,
            "may_cost": answer.may_cost,
            "key_tokens": allowed.key.tokens,
            "key_cost": allowed.key.cost,
            "tenant_tokens": allowed.tenant.tokens,
            "tenant_cost": allowed.tenant.cost,
        }
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["begin"], values)).fetchone()
        assert row is not None  # a function gives one
        refused: Refusal | None = row["refused"] or None
        return refused

    async def renew(self, scope: Scope, answer: UnderWay) -> None:
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["renew"], _keys(scope, answer))

    async def end(self, scope: Scope, answer: UnderWay, used: Usage, cost: float) -> None:
        values = _keys(scope, answer) | {
            "prompt": used.prompt_tokens,
            "completion": used.completion_tokens,
            "cost": cost,
        }
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["end"], values)

    async def spent(self, scope: Scope, day: date, key_id: KeyId | None) -> Spent:
        keys = {"tenant": scope.tenant, "day": day, "key": key_id}
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["spent"], keys)).fetchone()
        assert row is not None  # a sum gives one
        return _spent(row)

    async def by_day(self, scope: Scope, since: date) -> dict[date, Spent]:
        """Return what everybody of the tenant spent on each day since one; days without are not
        in it."""
        keys = {"tenant": scope.tenant, "since": since}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["by_day"], keys)
            return {row["day"]: _spent(row) async for row in cursor}

    async def let_go(self, scope: Scope, before: date) -> int:
        keys = {"tenant": scope.tenant, "before": before}
        async with transaction(self._pool, scope) as connection:
            return len(await (await connection.execute(_SQL["let_go"], keys)).fetchall())


def _spent(row: Mapping[str, Any]) -> Spent:
    usage = Usage(prompt_tokens=row["prompt"], completion_tokens=row["completion"])
    return Spent(usage=usage, cost=row["cost"])


def _keys(scope: Scope, answer: UnderWay) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "id": answer.id,
        "key": answer.key_id,
        "lasts": LEASE,
    }
