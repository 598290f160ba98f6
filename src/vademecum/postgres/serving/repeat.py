"""How are first answers kept, so that the same request does its work once?"""

from datetime import timedelta
from typing import Any

from vademecum.model.ids import new_uuid
from vademecum.model.principal import Scope
from vademecum.model.serving.repeat import Claim, FirstAnswer
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("repeat")
KEPT_FOR = timedelta(hours=24)
LEASE = timedelta(seconds=60)
# Of one principal; with the most bytes of one answer it bounds what they may fill.
MOST_KEPT = 1_000


class PostgresRepeats:
    """The RepeatStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def claim(self, scope: Scope, name: bytes) -> Claim | FirstAnswer | None:
        claim = Claim(name=name, fence=new_uuid())
        keys = _keys(scope, claim)
        async with transaction(self._pool, scope) as connection:
            if await (await connection.execute(_SQL["claim"], keys)).fetchone():
                return claim
            row = await (await connection.execute(_SQL["kept"], keys)).fetchone()
        if row is None:
            return None
        return FirstAnswer(
            asked=bytes(row["asked"]),
            status=row["status"],
            media_type=row["media_type"],
            body=None if row["body"] is None else bytes(row["body"]),
        )

    async def renew(self, scope: Scope, claim: Claim) -> None:
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["renew"], _keys(scope, claim))

    async def keep(self, scope: Scope, claim: Claim, answer: FirstAnswer) -> None:
        values = _keys(scope, claim) | {
            "asked": answer.asked,
            "status": answer.status,
            "media_type": answer.media_type,
            "body": answer.body,
            "mentions": list(answer.mentions),
        }
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["keep"], values)
            await connection.execute(_SQL["trim"], values | {"most": MOST_KEPT})

    async def release(self, scope: Scope, claim: Claim) -> None:
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["release"], _keys(scope, claim))

    async def let_go(self, scope: Scope) -> int:
        keys = {"tenant": scope.tenant, "keeps": KEPT_FOR}
        async with transaction(self._pool, scope) as connection:
            return len(await (await connection.execute(_SQL["let_go"], keys)).fetchall())


def _keys(scope: Scope, claim: Claim) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "principal": scope.principal,
        "id": claim.name,
        "fence": claim.fence,
        "lasts": LEASE,
        "keeps": KEPT_FOR,
    }
