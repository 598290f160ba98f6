"""What does the reconciler see and mend? Read page by page, tenant by tenant."""

from collections.abc import Mapping
from datetime import datetime

from vademecum.model.embedding import Encoded
from vademecum.model.ids import ChunkId, Tenant
from vademecum.model.index import KeywordRow
from vademecum.model.principal import Scope
from vademecum.ports.store import Gap
from vademecum.postgres.change import forget_changes
from vademecum.postgres.pool import Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.revision import index_terms, index_vectors
from vademecum.postgres.trace.kept_answer import forget_expired
from vademecum.postgres.unit_of_work import transaction

_SQL = load("upkeep")
_FOLDED = 50_000
SAMPLED = 200


class PostgresUpkeep:
    """The UpkeepStore on PostgreSQL; `generation` is the index build that it looks after."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def tenants(self) -> list[Tenant]:
        with clear_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_SQL["tenants"])
                return [Tenant(row["id"]) async for row in cursor]

    async def gaps(
        self, tenant: Tenant, after: ChunkId, limit: int
    ) -> tuple[list[Gap], ChunkId | None]:
        page = {"generation": self._generation, "after": after, "limit": limit}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            seen = await (await connection.execute(_SQL["check_index"], page)).fetchall()
            lacking = {
                row["chunk"]: row
                for row in seen
                if not (row["has_vector"] and row["has_states"] and row["has_terms"])
            }
            cursor = await connection.execute(
                _SQL["gap_texts"], {"tenant": tenant, "ids": list(lacking)}
            )
            gaps = [
                Gap(
                    chunk_id=ChunkId(row["id"]),
                    embedded_text=row["embedded_text"],
                    language=row["language"],
                    has_vector=lacking[row["id"]]["has_vector"],
                    has_states=lacking[row["id"]]["has_states"],
                    has_terms=lacking[row["id"]]["has_terms"],
                )
                async for row in cursor
            ]
        return gaps, ChunkId(seen[-1]["chunk"]) if seen else None

    async def fill(
        self,
        tenant: Tenant,
        encoded: Mapping[ChunkId, Encoded],
        unembedded: Mapping[ChunkId, str],
        keyword_rows: Mapping[ChunkId, KeywordRow],
    ) -> None:
        ids = list({*encoded, *keyword_rows})
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(_SQL["hold_documents"], {"tenant": tenant, "ids": ids})
            await index_vectors(connection, self._generation, encoded)
            await index_terms(connection, self._generation, keyword_rows)
            for chunk_id, reason in unembedded.items():
                await connection.execute(
                    _SQL["give_up"],
                    {
                        "tenant": tenant,
                        "id": chunk_id,
                        "reason": reason,
                        "generation": self._generation,
                    },
                )

    async def retire(self, tenant: Tenant, before: datetime) -> list[str]:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(
                _SQL["retired_revisions"], {"tenant": tenant, "before": before}
            )
            return [row["blob"] async for row in cursor]

    async def settle(self, tenant: Tenant) -> None:
        await self.fold(tenant)
        await self.frame(tenant)
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(
                _SQL["untend_gaps"], {"tenant": tenant, "generation": self._generation}
            )

    async def fold(self, tenant: Tenant) -> None:
        """Add up the counts of terms, of every generation."""
        scope = Scope.for_operator(tenant)
        folded = _FOLDED
        while folded == _FOLDED:  # each page is a transaction, so that none is long
            async with transaction(self._pool, scope) as connection:
                cursor = await connection.execute(_SQL["fold_terms"], {"limit": _FOLDED})
                row = await cursor.fetchone()
                folded = row["folded"] if row else 0

    async def frame(self, tenant: Tenant) -> None:
        """Look again at collections that have grown, as this generation holds them."""
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(
                _SQL["refresh_frames"],
                {"generation": self._generation, "sampled": SAMPLED},
            )

    async def forget_traces(self, tenant: Tenant, before: datetime) -> int:
        keys = {"tenant": tenant, "before": before}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(_SQL["forget_audit"], keys)
            # In a pipeline a statement's count is known only once its rows are read.
            return len(await (await connection.execute(_SQL["old_traces"], keys)).fetchall())

    async def forget_changes(self, tenant: Tenant, before: datetime) -> int:
        return await forget_changes(self._pool, Scope.for_operator(tenant), before)

    async def forget_answers(self, tenant: Tenant) -> int:
        return await forget_expired(self._pool, tenant)
