"""How is a tenant doing? Counts, times and shares, for whoever runs it."""

from dataclasses import dataclass
from datetime import datetime

from vademecum.model.ids import Principal, TraceId
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("overview")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTime:
    """Milliseconds of one stage: the middle one (p50) and that which 5 % exceed (p95)."""

    stage: str
    count: int
    middle: float
    slow: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Answers and those that did not know; searches and those of low confidence."""

    asked: int
    refused: int
    searches: int
    low: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentTrace:
    """A line of the newest traces; `text` is empty where another one asked."""

    id: TraceId
    kind: str
    principal: Principal
    created_at: datetime
    text: str
    abstained: bool | None
    milliseconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What an operator sees of a tenant; a scope that is none sees only its own."""

    pool: Pool

    async def held(self, scope: Scope) -> dict[str, int]:
        """Return how much of each kind there is."""
        async with transaction(self.pool, scope) as connection:
            row = await (
                await connection.execute(_SQL["held"], {"tenant": scope.tenant})
            ).fetchone()
        return dict(row) if row else {}

    async def stage_times(self, scope: Scope, since: datetime) -> list[StageTime]:
        """Return the times of each stage since a moment, `answer.…` before `search.…`."""
        values = {"tenant": scope.tenant, "since": since}
        async with transaction(self.pool, scope) as connection:
            cursor = await connection.execute(_SQL["stage_times"], values)
            return [StageTime(**row) async for row in cursor]

    async def shares(self, scope: Scope, since: datetime, low: float) -> Shares:
        """Count since a moment; `low` is the confidence below which a search was not sure."""
        values = {"tenant": scope.tenant, "since": since, "low": low}
        async with transaction(self.pool, scope) as connection:
            row = await (await connection.execute(_SQL["shares"], values)).fetchone()
        assert row is not None
        return Shares(**row)

    async def recent(self, scope: Scope, limit: int) -> list[RecentTrace]:
        """Return the newest traces first."""
        values = {"tenant": scope.tenant, "principal": scope.principal, "limit": limit}
        async with transaction(self.pool, scope) as connection:
            cursor = await connection.execute(_SQL["recent_traces"], values)
            return [RecentTrace(**row) async for row in cursor]
