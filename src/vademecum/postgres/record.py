"""How are conversations and traces kept?"""

from typing import Any

from psycopg.types.json import Jsonb

from vademecum.errors import ConversationNotFound, TraceNotFound
from vademecum.model.answer import Answer
from vademecum.model.ids import ConversationId, Principal, TraceId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.trace import Trace
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("record")


class PostgresRecords:
    """The RecordStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record_answer(self, scope: Scope, answer: Answer, trace: Trace) -> None:
        owner = {"tenant": scope.tenant, "principal": scope.principal}
        conversation = owner | {"id": answer.conversation_id}
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["insert_conversation"], conversation)
            await self._require_own(connection, conversation)
            turns = (
                (new_uuid(), "user", answer.question),
                (answer.turn_id, "assistant", answer.text),
            )
            for turn_id, role, text in turns:
                await connection.execute(
                    _SQL["insert_turn"],
                    owner
                    | {
                        "id": turn_id,
                        "conversation": answer.conversation_id,
                        "role": role,
                        "text": text,
                        "trace": answer.trace_id,
                    },
                )
            await self._insert_trace(connection, scope, trace)

    async def record_trace(self, scope: Scope, trace: Trace) -> None:
        async with transaction(self._pool, scope) as connection:
            await self._insert_trace(connection, scope, trace)

    async def _insert_trace(self, connection: Connection, scope: Scope, trace: Trace) -> None:
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

    async def _require_own(self, connection: Connection, conversation: dict[str, Any]) -> None:
        cursor = await connection.execute(_SQL["own_conversation"], conversation)
        if await cursor.fetchone() is None:
            raise ConversationNotFound(
                f"no conversation {conversation['id']}", hint="leave the id out to begin a new one"
            )

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
        return Trace(
            id=TraceId(row["id"]),
            kind=row["kind"],
            principal=Principal(row["principal"]),
            documents=(),
            chunks=(),
            created_at=row["created_at"],
            record=row["record"],
        )

    async def queries(self, scope: Scope, limit: int) -> list[str]:
        """Return what was searched for, each text once, the newest first."""
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["asked_texts"], {"tenant": scope.tenant, "limit": limit}
            )
            return [row["text"] async for row in cursor]

    async def turns(self, scope: Scope, conversation_id: ConversationId) -> list[tuple[str, str]]:
        keys = {
            "tenant": scope.tenant,
            "id": conversation_id,
            "principal": scope.principal,
        }
        async with transaction(self._pool, scope) as connection:
            await self._require_own(connection, keys)
            cursor = await connection.execute(_SQL["turns"], keys)
            return [(row["role"], row["text"]) async for row in cursor]
