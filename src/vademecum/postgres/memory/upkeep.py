"""What does the reconciler see and mend of memories? Tenant by tenant."""

from datetime import datetime

from vademecum.model.ids import MemoryId, Tenant
from vademecum.model.memory import Kind, Memory
from vademecum.model.principal import Scope
from vademecum.ports.memory import MemoryIndexRow
from vademecum.postgres.memory.reader import memory_of
from vademecum.postgres.memory.store import index_memory
from vademecum.postgres.pool import Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("memory")
_TENANTS = load("upkeep")["tenants"]


class PostgresMemoryUpkeep:
    """The MemoryUpkeep on PostgreSQL; `generation` is the index build that it looks after."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def tenants(self) -> list[Tenant]:
        with clear_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_TENANTS)
                return [Tenant(row["id"]) async for row in cursor]

    async def gaps(self, tenant: Tenant, after: MemoryId, limit: int) -> list[Memory]:
        values = {"generation": self._generation, "after": after, "limit": limit}
        return await self._memories(tenant, "gaps", values)

    async def late(
        self, tenant: Tenant, since: datetime, after: MemoryId, limit: int
    ) -> list[Memory]:
        values = {"since": since, "after": after, "limit": limit}
        return await self._memories(tenant, "late", values)

    async def fill(
        self, tenant: Tenant, memory: Memory, row: MemoryIndexRow, unembedded: str | None
    ) -> None:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await index_memory(connection, self._generation, memory, row)
            if unembedded is not None:
                values = {
                    "id": memory.id,
                    "version": memory.version,
                    "reason": unembedded,
                    "generation": self._generation,
                }
                await connection.execute(_SQL["give_up"], {"tenant": tenant} | values)

    async def merge(self, tenant: Tenant, memory: Memory, into: Memory) -> bool:
        return bool(
            await self._count(
                tenant,
                "merge",
                id=memory.id,
                version=memory.version,
                by=into.id,
                by_version=into.version,
            )
        )

    async def erase_expired(self, tenant: Tenant, before: datetime) -> int:
        return await self._count(tenant, "erase_expired", before=before)

    async def erase_old(self, tenant: Tenant, kind: Kind, before: datetime) -> int:
        return await self._count(tenant, "erase_old", kind=kind, before=before)

    async def archive_trivia(self, tenant: Tenant, importance: float, before: datetime) -> int:
        return await self._count(tenant, "archive_trivia", importance=importance, before=before)

    async def _memories(
        self, tenant: Tenant, query: str, values: dict[str, object]
    ) -> list[Memory]:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_SQL[query], {"tenant": tenant} | values)
            return [memory_of(row) async for row in cursor]

    async def _count(self, tenant: Tenant, query: str, **values: object) -> int:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            # In a pipeline the count of rows is not known before they are read.
            cursor = await connection.execute(_SQL[query], {"tenant": tenant} | values)
            return len(await cursor.fetchall())
