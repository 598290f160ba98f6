"""How are conversations kept? Whoever adds a turn holds its conversation, so none is passed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from vademecum.errors import ConversationNotFound
from vademecum.model.conversation import (
    Begun,
    Conversation,
    Finished,
    Past,
    Turn,
    Unfolded,
)
from vademecum.model.ids import (
    ChunkId,
    ConversationId,
    Principal,
    Tenant,
    TraceId,
    TurnId,
    new_uuid,
)
from vademecum.model.principal import Scope
from vademecum.model.purge import StoreReceipt, counted
from vademecum.model.trace import Trace
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.trace.record import emptied, hold_documents, insert_trace
from vademecum.postgres.unit_of_work import transaction

_SQL = load("conversation")
_TITLE_LETTERS = 80
_NEW_TURN: dict[str, Any] = {
    "speaker": "",
    "reply_to": None,
    "variant": 0,
    "language": "",
    "trace": None,
    "created_at": None,
    "zone": "",
}


class PostgresConversations:
    """The ConversationStore and the FoldStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        question: str,
        *,
        persona: str | None,
        language: str,
        zone: str = "",
        again: bool = False,
        new: bool = True,
    ) -> Begun:
        keys = _keys(scope, conversation_id) | {
            "persona": persona,
            "title": " ".join(question.split())[:_TITLE_LETTERS],
        }
        async with transaction(self._pool, scope) as connection:
            if new and not again:
                await connection.execute(_SQL["insert_conversation"], keys)
            held = await (await connection.execute(_SQL["hold_conversation"], keys)).fetchone()
            if held is None:
                raise _not_found(conversation_id)
            through = held["summary_through"]
            turns = await _turns(connection, keys, after=0 if again else through)
            asked, variant = None, 0
            if again:
                asked, variant = _asked_again(turns, conversation_id)
                turns = [t for t in turns if through < t.position < asked.position]
            question_id = asked.id if asked else TurnId(new_uuid())
            begun = Begun(
                conversation_id=conversation_id,
                persona=held["persona"],
                question_id=question_id,
                answer_id=TurnId(new_uuid()),
                past=Past(summary=held["summary"], turns=tuple(turns)),
            )
            own = _NEW_TURN | keys | {"conversation": conversation_id}
            if asked is None:
                await connection.execute(
                    _SQL["insert_turn"],
                    own
                    | {"id": question_id, "role": "user", "text": question}
                    | {"state": "complete", "language": language, "zone": zone},
                )
            await connection.execute(
                _SQL["insert_turn"],
                own
                | {"id": begun.answer_id, "role": "assistant", "text": ""}
                | {"state": "writing", "reply_to": question_id, "variant": variant},
            )
        return begun

    async def finish(self, scope: Scope, begun: Begun, said: Finished, trace: Trace) -> bool:
        keys = _keys(scope, begun.conversation_id) | {"persona": None}
        async with transaction(self._pool, scope) as connection:
            quoted = (*trace.documents, *said.documents)
            there = await hold_documents(connection, scope, quoted)
            await connection.execute(_SQL["hold_conversation"], keys)
            if not there:
                await connection.execute(
                    _SQL["delete_turn"], {"tenant": scope.tenant, "id": begun.answer_id}
                )
            cursor = await connection.execute(
                _SQL["finish_turn"],
                {
                    "tenant": scope.tenant,
                    "id": begun.answer_id,
                    "text": said.text,
                    "state": said.state,
                    "language": said.language,
                    "used_chunks": list(said.used_chunks),
                    "used_memories": list(said.used_memories),
                    "documents": list(said.documents),
                    "trace": trace.id,
                },
            )
            row = await cursor.fetchone()
            if row is None:  # who deleted it wants nothing of it kept
                await insert_trace(connection, scope, emptied(trace))
                return False
            await connection.execute(_SQL["saved"], keys | {"position": row["position"]})
            await insert_trace(connection, scope, trace)
            await connection.execute(_SQL["enqueue_conversation"], keys)
        return True

    async def latest(self, scope: Scope, persona: str, since: datetime) -> ConversationId | None:
        keys = {"tenant": scope.tenant, "principal": scope.principal}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["latest"], keys | {"persona": persona, "since": since}
            )
            row = await cursor.fetchone()
        return ConversationId(row["id"]) if row else None

    async def all(self, scope: Scope, persona: str | None) -> list[Conversation]:
        keys = {"tenant": scope.tenant, "principal": scope.principal, "persona": persona}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["conversations"], keys)
            return [conversation_of(row) async for row in cursor]

    async def get(self, scope: Scope, conversation_id: ConversationId) -> Conversation:
        async with transaction(self._pool, scope) as connection:
            return await _own(connection, _keys(scope, conversation_id))

    async def rename(self, scope: Scope, conversation_id: ConversationId, title: str) -> None:
        keys = _keys(scope, conversation_id) | {"title": title}
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["rename"], keys)).fetchone()
        if row is None:
            raise _not_found(conversation_id)

    async def turns(self, scope: Scope, conversation_id: ConversationId) -> list[Turn]:
        keys = _keys(scope, conversation_id)
        async with transaction(self._pool, scope) as connection:
            await _own(connection, keys)
            return await _turns(connection, keys, after=0)

    async def keep(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        turns: Sequence[Turn],
        *,
        persona: str | None = None,
    ) -> None:
        title = next((turn.text for turn in turns), "")[:_TITLE_LETTERS]
        keys = _keys(scope, conversation_id) | {"persona": persona, "title": title}
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["insert_conversation"], keys)
            held = await (await connection.execute(_SQL["hold_conversation"], keys)).fetchone()
            if held is None:
                raise _not_found(conversation_id)
            position = 0
            for turn in turns:
                cursor = await connection.execute(
                    _SQL["insert_turn"],
                    keys
                    | {
                        "id": turn.id,
                        "conversation": conversation_id,
                        "role": turn.role,
                        "speaker": turn.speaker,
                        "text": turn.text,
                        "state": turn.state,
                        "reply_to": turn.reply_to,
                        "variant": turn.variant,
                        "language": turn.language,
                        "trace": turn.trace_id,
                        "created_at": turn.created_at,
                        "zone": turn.zone,
                    },
                )
                row = await cursor.fetchone()
                position = row["position"] if row else position
            await connection.execute(_SQL["saved"], keys | {"position": position})
            await connection.execute(_SQL["enqueue_conversation"], keys)

    async def delete(self, scope: Scope, conversation_id: ConversationId) -> list[StoreReceipt]:
        keys = _keys(scope, conversation_id) | {"persona": None}
        async with transaction(self._pool, scope) as connection:
            if await (await connection.execute(_SQL["hold_conversation"], keys)).fetchone() is None:
                raise _not_found(conversation_id)
            cursor = await connection.execute(_SQL["traces_of"], keys)
            keys["traces"] = [row["trace"] async for row in cursor]
            cursor = await connection.execute(_SQL["memories_of"], keys)
            keys["memories"] = [row["id"] async for row in cursor]
            before = await _counts(connection, keys)
            await connection.execute(_SQL["delete_memories_of"], keys)
            await connection.execute(_SQL["delete_traces_of"], keys)
            await connection.execute(_SQL["delete_conversation"], keys)
            after = await _counts(connection, keys)
        return counted(before, after)

    async def unfolded(self, tenant: Tenant, conversation_id: ConversationId) -> Unfolded | None:
        scope = Scope.for_operator(tenant)
        keys = _keys(scope, conversation_id)
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["unfolded"], keys)).fetchone()
            if row is None:
                return None
            turns = await _turns(connection, keys, after=row["summary_through"])
        return Unfolded(
            principal=Principal(row["principal"]),
            past=Past(summary=row["summary"], turns=tuple(turns)),
            version=row["summary_version"],
            saved_through=row["saved_through"],
        )

    async def fold(
        self,
        tenant: Tenant,
        conversation_id: ConversationId,
        seen: Unfolded,
        summary: str,
        last: Turn,
    ) -> bool:
        scope = Scope.for_operator(tenant)
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["fold"],
                _keys(scope, conversation_id)
                | {"summary": summary, "through": last.position, "version": seen.version},
            )
            return await cursor.fetchone() is not None

    async def tended(
        self, tenant: Tenant, conversation_id: ConversationId, version: int, through: int
    ) -> None:
        scope = Scope.for_operator(tenant)
        keys = _keys(scope, conversation_id) | {"version": version, "through": through}
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["tended"], keys)

    async def put_off(self, tenant: Tenant, conversation_id: ConversationId) -> None:
        scope = Scope.for_operator(tenant)
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["put_off"], _keys(scope, conversation_id))


def _keys(scope: Scope, conversation_id: ConversationId) -> dict[str, Any]:
    return {"tenant": scope.tenant, "principal": scope.principal, "id": conversation_id}


def _not_found(conversation_id: ConversationId) -> ConversationNotFound:
    return ConversationNotFound(
        f"no conversation {conversation_id}", hint="leave the id out to begin a new one"
    )


async def _own(connection: Connection, keys: Mapping[str, Any]) -> Conversation:
    row = await (await connection.execute(_SQL["own_conversation"], keys)).fetchone()
    if row is None:
        raise _not_found(keys["id"])
    return conversation_of(row)


async def _turns(connection: Connection, keys: Mapping[str, Any], *, after: int) -> list[Turn]:
    cursor = await connection.execute(_SQL["turns"], {**keys, "after": after})
    return [turn_of(row) async for row in cursor]


async def _counts(connection: Connection, keys: Mapping[str, Any]) -> dict[str, int]:
    row = await (await connection.execute(_SQL["count_conversation"], keys)).fetchone()
    return dict(row or {})


def _asked_again(turns: Sequence[Turn], conversation_id: ConversationId) -> tuple[Turn, int]:
    """Return the last question, and the number of its next answer."""
    asked = next((turn for turn in reversed(turns) if turn.role == "user"), None)
    if asked is None:
        raise _not_found(conversation_id)
    answers = [turn.variant for turn in turns if turn.reply_to == asked.id]
    return asked, max(answers, default=-1) + 1


def conversation_of(row: Mapping[str, Any]) -> Conversation:
    return Conversation(
        id=ConversationId(row["id"]),
        principal=Principal(row["principal"]),
        persona=row["persona"],
        title=row["title"],
        summary=row["summary"],
        summary_through=row["summary_through"],
        summary_version=row["summary_version"],
        created_at=row["created_at"],
        last_at=row["last_at"],
        turns=row["turns"],
    )


def turn_of(row: Mapping[str, Any]) -> Turn:
    return Turn(
        id=TurnId(row["id"]),
        position=row["position"],
        role=row["role"],
        speaker=row["speaker"],
        text=row["text"],
        state=row["state"],
        reply_to=TurnId(row["reply_to"]) if row["reply_to"] else None,
        variant=row["variant"],
        language=row["language"],
        used_chunks=tuple(map(ChunkId, row["used_chunks"])),
        used_memories=tuple(row["used_memories"]),
        trace_id=TraceId(row["trace"]) if row["trace"] else None,
        created_at=row["created_at"],
        zone=row["zone"],
    )
