"""How is a change told to whoever follows, and read, so that none is missed or doubled?"""

from datetime import datetime

from vademecum.model.change import ChangeEvent, ChangeKind
from vademecum.model.ids import DocumentId, RevisionId, Tenant
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("change")


async def add_change(
    connection: Connection,
    tenant: Tenant,
    kind: ChangeKind,
    document_id: DocumentId,
    revision_id: RevisionId | None,
) -> None:
    """Write the event in the transaction of its cause."""
    await connection.execute(
        _SQL["add_change"],
        {"tenant": tenant, "kind": kind, "document": document_id, "revision": revision_id},
    )


async def changes(
    pool: Pool, scope: Scope, after: tuple[int, int], limit: int
) -> list[ChangeEvent]:
    """See `DocumentStore.changes`; the scope is an operator's."""
    values = {"tenant": scope.tenant, "xid": after[0], "after": after[1], "limit": limit}
    async with transaction(pool, scope) as connection:
        cursor = await connection.execute(_SQL["changes_after"], values)
        return [
            ChangeEvent(
                cursor=(row["xid"], row["id"]),
                kind=row["kind"],
                document_id=DocumentId(row["document"]),
                revision_id=RevisionId(row["revision"]) if row["revision"] else None,
                occurred_at=row["occurred_at"],
            )
            async for row in cursor
        ]


async def forget_changes(pool: Pool, scope: Scope, before: datetime) -> int:
    """See `UpkeepStore.forget_changes`."""
    async with transaction(pool, scope) as connection:
        cursor = await connection.execute(
            _SQL["forget_changes"], {"tenant": scope.tenant, "before": before}
        )
        return len(await cursor.fetchall())
