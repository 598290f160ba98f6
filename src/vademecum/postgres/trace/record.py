"""How are traces kept?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from psycopg.types.json import Jsonb

from vademecum.errors import TraceNotFound
from vademecum.model.ids import ChunkId, DocumentId, Principal, TraceId
from vademecum.model.principal import Scope
from vademecum.model.replay import Fate
from vademecum.model.trace import Trace
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("record")


class PostgresRecords:
    """The RecordStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record_trace(self, scope: Scope, trace: Trace) -> None:
        async with transaction(self._pool, scope) as connection:
            if not await hold_documents(connection, scope, trace.documents):
                trace = emptied(trace)
            await insert_trace(connection, scope, trace)

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(
                    _SQL["get_trace"], {"tenant": scope.tenant, "id": trace_id}
                )
            ).fetchone()
        if row is None:
            raise TraceNotFound(
                f"no trace {trace_id}", hint="each search and answer prints its trace id"
            )
        return _trace(row)

    async def traces(self, scope: Scope, trace_ids: Sequence[TraceId]) -> list[Trace]:
        """Return those of the traces that are there and may be seen, in no order."""
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["get_traces"], {"tenant": scope.tenant, "ids": list(trace_ids)}
            )
            return [_trace(row) async for row in cursor]

    async def record_replay(
        self, scope: Scope, trace_id: TraceId, chunk_ids: Iterable[ChunkId]
    ) -> None:
        """Write down that whoever replays a trace retrieved these chunks."""
        values = {
            "tenant": scope.tenant,
            "id": trace_id,
            "kind": "replay",
            "principal": scope.principal,
            "chunks": list(chunk_ids),
            "created_at": datetime.now(UTC),
        }
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["insert_audit_event"], values)

    async def fates(
        self, scope: Scope, chunk_ids: Iterable[ChunkId], as_of: date | None
    ) -> dict[ChunkId, Fate]:
        """Return what has become of chunks on the day `as_of`, or now; nothing of those that are
        gone, or whose document the scope may not see."""
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["fates"], {"tenant": scope.tenant, "ids": list(chunk_ids), "as_of": as_of}
            )
            return {
                ChunkId(row["id"]): Fate(
                    document_id=DocumentId(row["document"]),
                    revision=row["number"],
                    current=row["current"],
                    in_force=row["in_force"],
                    published_at=row["published_at"],
                )
                async for row in cursor
            }

    async def documents_changed(self, scope: Scope, since: datetime) -> bool:
        """Tell whether any document of the tenant was published, changed or deleted since then."""
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(_SQL["documents_changed"], {"since": since})
            ).fetchone()
        return bool(row and row["changed"])

    async def between(
        self, scope: Scope, begin: datetime, until: datetime, limit: int
    ) -> list[TraceId]:
        """Return the traces of a time that may be seen, the oldest first, at most `limit`."""
        keys = {"tenant": scope.tenant, "begin": begin, "until": until, "limit": limit}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["traces_between"], keys)
            return [TraceId(row["id"]) async for row in cursor]

    async def queries(self, scope: Scope, limit: int) -> list[str]:
        """Return what was searched for, each text once, the newest first."""
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["asked_texts"], {"tenant": scope.tenant, "limit": limit}
            )
            return [row["text"] async for row in cursor]


def _trace(row: Mapping[str, Any]) -> Trace:
    return Trace(
        id=TraceId(row["id"]),
        kind=row["kind"],
        principal=Principal(row["principal"]),
        documents=(),
        chunks=(),
        created_at=row["created_at"],
        record=row["record"],
    )


def emptied(trace: Trace) -> Trace:
    """Return what stays of a trace that speaks of what has been deleted meanwhile: that it was."""
    return replace(trace, documents=(), record={})


async def hold_documents(
    connection: Connection, scope: Scope, documents: Iterable[DocumentId]
) -> bool:
    """Keep documents from being deleted until the transaction ends; False where one of them has
    been, or may be seen no longer: then nothing that speaks of it may be written.

    To be called before anything else is locked, as deletion begins with the document, too.
    """
    wanted = set(documents)
    cursor = await connection.execute(
        _SQL["hold_documents"], {"tenant": scope.tenant, "documents": list(wanted)}
    )
    return len(await cursor.fetchall()) == len(wanted)


async def insert_trace(connection: Connection, scope: Scope, trace: Trace) -> None:
    """Write a trace, and its audit event, in the transaction of what it tells of."""
    values = {
        "tenant": scope.tenant,
        "id": trace.id,
        "principal": trace.principal,
        "kind": trace.kind,
        "documents": list(trace.documents),
        "chunks": list(trace.chunks),
        "record": Jsonb(dict(trace.record)),
        "created_at": trace.created_at,
    }
    await connection.execute(_SQL["insert_trace"], values)
    if trace.chunks:  # whoever retrieved something is written down, and cannot be undone
        await connection.execute(_SQL["insert_audit_event"], values)
