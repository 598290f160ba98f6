"""How does everything of a person leave the database, and who and what is in the ledger?"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from vademecum.model.ids import DocumentId, Principal, Tenant, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.purge import (
    Deleted,
    DeletedKind,
    Erasure,
    StoreReceipt,
    counted,
    subject_of,
)
from vademecum.ports.people import ComeBack
from vademecum.postgres.memory.store import person_key
from vademecum.postgres.pool import Connection, Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.source import labels_key
from vademecum.postgres.unit_of_work import transaction

_SQL = load("erasure")
_MEMORY = load("memory")


class PostgresPeople:
    """The PersonStore on PostgreSQL. A table holds something of a person if it has a column
    `principal`: `person_tables` in the schema finds them all."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, scope: Scope) -> Erasure:
        keys = {
            "tenant": scope.tenant,
            "id": new_uuid(),
            "subject": subject_of(scope.tenant, scope.principal),
        }
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["begin"], keys)).fetchone()
        assert row is not None  # it was inserted
        return _erasure(keys | row | {"completed_at": None, "blobs_left": ()})

    async def held(self, scope: Scope, until: datetime | None) -> dict[str, int]:
        async with transaction(self._pool, scope) as connection:
            return await _held(connection, _keys(scope, until))

    async def private_documents(self, scope: Scope, until: datetime | None) -> list[DocumentId]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["private_documents"], _keys(scope, until))
            return [DocumentId(row["id"]) async for row in cursor]

    async def erase(self, scope: Scope, until: datetime | None) -> list[StoreReceipt]:
        keys = _keys(scope, until) | {"erased": f"erased:{new_uuid()}"}
        # As an operator: whoever may not see a document must be forgotten in it all the same.
        async with transaction(self._pool, Scope.for_operator(scope.tenant)) as connection:
            # What is being remembered of them ends first, or finds its turn gone.
            await connection.execute(_MEMORY["lock_person"], {"key": person_key(scope)})
            before = await _held(connection, keys)
            await connection.execute(_SQL["erase"], keys)
            named = await _rename(connection, keys)
            after = await _held(connection, keys)
            if until is not None:
                # A row that tells no time and is still there hangs on one that was made later.
                for row in await (await connection.execute(_SQL["timeless"])).fetchall():
                    before[row["name"]] -= after[row["name"]]
                    after[row["name"]] = 0
        return [*counted(before, after), *counted(named, {})]

    async def settle(self, erasure: Erasure, blobs_left: Sequence[str]) -> None:
        keys = {"tenant": erasure.tenant, "id": erasure.id, "blobs": list(blobs_left)}
        async with transaction(self._pool, Scope.for_operator(erasure.tenant)) as connection:
            await connection.execute(_SQL["settle"], keys)

    async def erasures(self, tenant: Tenant, *, open_only: bool) -> list[Erasure]:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(
                _SQL["ledger"], {"tenant": tenant, "open_only": open_only}
            )
            return [_erasure(row) async for row in cursor]

    async def restore(self, erasures: Sequence[Erasure]) -> None:
        for tenant in {entry.tenant for entry in erasures}:
            async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
                for entry in erasures:
                    if entry.tenant == tenant:
                        keys = {
                            "tenant": tenant,
                            "id": entry.id,
                            "subject": entry.subject,
                            "requested_at": entry.requested_at,
                        }
                        await connection.execute(_SQL["restore"], keys)

    async def delete_again(self, tenant: Tenant, ledger: Sequence[Deleted]) -> int:
        keys = {"tenant": tenant, "memories": _ids(ledger, "memory"), "turns": _ids(ledger, "turn")}
        noted = {
            "tenant": tenant,
            "kinds": [entry.kind for entry in ledger],
            "ids": [entry.id for entry in ledger],
            "moments": [entry.deleted_at for entry in ledger],
        }
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            await connection.execute(_SQL["note_deleted"], noted)
            cursor = await connection.execute(_SQL["delete_memories_again"], keys)
            memories = len(await cursor.fetchall())
            await connection.execute(_SQL["bury_turns_again"], keys)
        return memories

    async def come_back(self, tenant: Tenant, ledger: Sequence[Deleted]) -> ComeBack:
        keys = {
            "tenant": tenant,
            "documents": _ids(ledger, "document"),
            "conversations": _ids(ledger, "conversation"),
        }
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            documents = await connection.execute(_SQL["documents_of"], keys)
            conversations = await connection.execute(_SQL["conversations_of"], keys)
            return ComeBack(
                documents=[row["id"] async for row in documents],
                conversations={
                    row["id"]: Principal(row["principal"]) async for row in conversations
                },
            )

    async def let_go(self, tenant: Tenant, before: datetime) -> int:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(
                _SQL["let_go_deletions"], {"tenant": tenant, "before": before}
            )
            return len(await cursor.fetchall())

    async def scrubbed(self) -> None:
        """Note on every closed entry, of all tenants, that its bytes are gone too."""
        with clear_errors():
            async with self._pool.connection() as connection:
                await connection.execute(_SQL["scrubbed"])

    async def names(self, tenant: Tenant) -> frozenset[Principal]:
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_SQL["names"])
            return frozenset([Principal(row["name"]) async for row in cursor])


async def _held(connection: Connection, keys: Mapping[str, Any]) -> dict[str, int]:
    cursor = await connection.execute(_SQL["held"], keys)
    return {row["store"]: int(row["held"]) async for row in cursor}


async def _rename(connection: Connection, keys: Mapping[str, Any]) -> dict[str, int]:
    """Take the name out of labels and of who ingested what; return how often it stood there."""
    sets = await (await connection.execute(_SQL["named_access_sets"], keys)).fetchall()
    for row in sets:
        labels = [keys["erased"] if name == keys["principal"] else name for name in row["labels"]]
        changed = dict(keys) | {"id": row["id"], "labels_key": labels_key(labels)}
        await connection.execute(_SQL["rename_access_set"], changed)
    cursor = await connection.execute(_SQL["rename_ingested_by"], keys)
    return {"access_set": len(sets), "revision": len(await cursor.fetchall())}


def _ids(ledger: Sequence[Deleted], kind: DeletedKind) -> list[UUID]:
    return [entry.id for entry in ledger if entry.kind == kind]


def _keys(scope: Scope, until: datetime | None) -> dict[str, Any]:
    return {"tenant": scope.tenant, "principal": scope.principal, "until": until}


def _erasure(row: Mapping[str, Any]) -> Erasure:
    return Erasure(
        tenant=Tenant(row["tenant"]),
        id=row["id"],
        subject=bytes(row["subject"]),
        requested_at=row["requested_at"],
        completed_at=row["completed_at"],
        blobs_left=tuple(row["blobs_left"]),
    )
