"""How are memories kept, judged, changed and erased?"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

from pgvector import HalfVector
from psycopg.rows import DictRow

from vademecum.errors import MemoryNotFound, MemoryOff, UsageError
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ConversationId, MemoryId, TurnId, new_uuid
from vademecum.model.memory import Memory, MemoryVersion, NewMemory, Outcome, Remembered, State
from vademecum.model.principal import Scope
from vademecum.ports.memory import (
    Changes,
    Judge,
    Keys,
    MemoryIndexRow,
    MemoryReader,
    Rewriting,
    Verdict,
)
from vademecum.postgres.memory.reader import memory_of, reading
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.revision import sparse
from vademecum.postgres.unit_of_work import transaction

_SQL = load("memory")
# Of a word that many memories hold so many are looked at; so many neighbours are judged.
_EACH, _NEIGHBOURS = 30, 30


class PostgresMemories:
    """The MemoryStore on PostgreSQL; `generation` is the build of the index that finds them."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    def reading(self, scope: Scope, persona: str) -> AbstractAsyncContextManager[MemoryReader]:
        return reading(self._pool, scope, persona, self._generation)

    async def last_said(self, scope: Scope, conversation_id: ConversationId) -> str | None:
        row = await self._one(scope, "last_said", {"conversation": conversation_id})
        return str(row["text"]) if row else None

    async def last_of(
        self, scope: Scope, persona: str, conversation_id: ConversationId
    ) -> Memory | None:
        values = {"conversation": conversation_id, "persona": persona}
        row = await self._one(scope, "last_of", values)
        return memory_of(row) if row else None

    async def remembers(self, scope: Scope) -> bool:
        row = await self._one(scope, "off", {})
        return not (row and row["off"])

    async def set_remembers(self, scope: Scope, *, on: bool) -> None:
        async with transaction(self._pool, scope) as connection:
            await self._lock(connection, scope)
            query = _SQL["switch_on" if on else "switch_off"]
            changed = await (await connection.execute(query, _own(scope))).fetchone()
            if on and changed is not None:
                await connection.execute(_SQL["pass_over"], _own(scope))

    async def add(
        self, scope: Scope, new: NewMemory, keys: Keys, row: MemoryIndexRow, judge: Judge
    ) -> Remembered:
        async with transaction(self._pool, scope) as connection:
            await self._lock(connection, scope)
            await _check_on(connection, scope)
            await _hold_turn(connection, scope, new.source.turn_id)
            known = await self._neighbours(connection, scope, new.persona, keys)
            verdict = judge(known)
            if verdict.action == "wait" and verdict.known is not None:
                return Remembered(outcome="pending", memory=verdict.known, why=verdict.why)
            if verdict.action == "confirm" and verdict.known is not None:
                memory = await self._confirm(connection, scope, verdict.known, new)
                others = () if new.pending else verdict.supersedes
                return await self._supersede(connection, scope, memory, others, "confirmed")
            if verdict.action == "update" and verdict.known is not None:
                text = Rewriting(
                    text=new.text,
                    language=new.language,
                    sensitive=new.sensitive,
                    keys=keys,
                    row=row,
                )
                memory = await self._rewrite(connection, scope, verdict.known.id, text)
                return Remembered(outcome="updated", memory=memory)
            return await self._insert(connection, scope, new, keys, row, verdict)

    async def change(
        self,
        scope: Scope,
        memory_id: MemoryId,
        changes: Changes,
        text: Rewriting | None,
        keys: Keys,
        judge: Judge,
    ) -> Remembered:
        own = _own(scope) | {"id": memory_id}
        async with transaction(self._pool, scope) as connection:
            await self._lock(connection, scope)
            found = await self._require(connection, own)
            values = {
                "kind": changes.kind,
                "importance": changes.importance,
                "emotion": changes.emotion,
                "pinned": changes.pinned,
                "expires_at": changes.expires_at,
            }
            memory = found
            if any(value is not None for value in values.values()):
                memory = await self._returned(connection, "change", own | values)
            if text is not None:
                memory = await self._rewrite(connection, scope, memory_id, text)
            if changes.confirmed:
                memory = await self._confirm(connection, scope, memory, None)
            others: list[Memory] = []
            counts = memory.state in ("active", "held")
            if counts and (text is not None or (changes.confirmed and found.state != "active")):
                known = await self._neighbours(connection, scope, found.persona, keys)
                verdict = judge([other for other in known if other.id != memory_id])
                others = [*verdict.supersedes, *([verdict.known] if verdict.known else [])]
            return await self._supersede(connection, scope, memory, others, "updated")

    async def unlearned(self, scope: Scope, persona: str) -> dict[TurnId, str]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["unlearned"], _own(scope) | {"persona": persona})
            return {TurnId(row["id"]): row["text"] async for row in cursor}

    async def forget(self, scope: Scope, memory_id: MemoryId, said: Sequence[TurnId] = ()) -> None:
        own = _own(scope) | {"id": memory_id}
        async with transaction(self._pool, scope) as connection:
            await self._lock(connection, scope)
            buried = await connection.execute(_SQL["bury"], own | {"why": "asked"})
            if await buried.fetchone() is None:
                raise _not_found(memory_id)
            for turn_id in said:
                values = _own(scope) | {"id": new_uuid(), "turn": turn_id}
                await connection.execute(_SQL["bury_turn"], values)
            await connection.execute(_SQL["erase"], own)

    async def get(self, scope: Scope, memory_id: MemoryId) -> Memory:
        async with transaction(self._pool, scope) as connection:
            return await self._require(connection, _own(scope) | {"id": memory_id})

    async def versions(self, scope: Scope, memory_id: MemoryId) -> list[MemoryVersion]:
        own = _own(scope) | {"id": memory_id}
        async with transaction(self._pool, scope) as connection:
            await self._require(connection, own)
            cursor = await connection.execute(_SQL["versions"], own)
            return [version_of(row) async for row in cursor]

    async def all(self, scope: Scope, persona: str | None, states: Sequence[State]) -> list[Memory]:
        values = {"persona": persona, "states": list(states)}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["all"], _own(scope) | values)
            return [memory_of(row) async for row in cursor]

    async def believed(self, scope: Scope, persona: str | None, moment: datetime) -> list[Memory]:
        values = {"persona": persona, "moment": moment}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["believed"], _own(scope) | values)
            return [memory_of(_then(row)) async for row in cursor]

    async def cosines(
        self, scope: Scope, memory_ids: Sequence[MemoryId], query: FloatArray
    ) -> dict[MemoryId, float]:
        values = {
            "generation": self._generation,
            "ids": list(memory_ids),
            "query": HalfVector(query),
        }
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["cosines"], values)
            return {MemoryId(row["memory"]): row["score"] async for row in cursor}

    async def sharing(self, scope: Scope, persona: str, keys: Keys) -> list[Memory]:
        async with transaction(self._pool, scope) as connection:
            return await self._neighbours(connection, scope, persona, keys)

    async def learned_from(self, scope: Scope, turn_id: TurnId) -> list[Memory]:
        async with transaction(self._pool, scope) as connection:
            values = _own(scope) | {"turn": turn_id}
            cursor = await connection.execute(_SQL["learned_from"], values)
            return [memory_of(row) async for row in cursor]

    async def used(self, scope: Scope, memory_ids: Sequence[MemoryId]) -> None:
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["used"], _own(scope) | {"ids": list(memory_ids)})

    async def _one(self, scope: Scope, query: str, values: dict[str, Any]) -> DictRow | None:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL[query], _own(scope) | values)
            return await cursor.fetchone()

    async def _require(self, connection: Connection, own: dict[str, Any]) -> Memory:
        row = await (await connection.execute(_SQL["own"], own)).fetchone()
        if row is None:
            raise _not_found(own["id"])
        return memory_of(row)

    async def _returned(self, connection: Connection, query: str, values: dict[str, Any]) -> Memory:
        row = await (await connection.execute(_SQL[query], values)).fetchone()
        assert row is not None
        return memory_of(row)

    async def _lock(self, connection: Connection, scope: Scope) -> None:
        await connection.execute(_SQL["lock_person"], {"key": person_key(scope)})

    async def _neighbours(
        self, connection: Connection, scope: Scope, persona: str, keys: Keys
    ) -> list[Memory]:
        values = {
            "generation": self._generation,
            "persona": persona,
            "fingerprint": keys.fingerprint,
            "topic": keys.topic,
            "terms": list(keys.terms),
            "each": _EACH,
            "wanted": _NEIGHBOURS,
        }
        cursor = await connection.execute(_SQL["neighbours"], _own(scope) | values)
        return [memory_of(row) async for row in cursor]

    async def _insert(
        self,
        connection: Connection,
        scope: Scope,
        new: NewMemory,
        keys: Keys,
        row: MemoryIndexRow,
        verdict: Verdict,
    ) -> Remembered:
        asked = verdict.action == "ask"
        others = () if asked or new.pending else verdict.supersedes
        state = "pending" if asked or new.pending else "held" if new.held_until else "active"
        values = _values(new, keys) | {
            "id": new_uuid(),
            "state": state,
            "held_until": new.held_until if state == "held" else None,
            "pinned": new.pinned,
            "replaces": bool(others),
        }
        memory = await self._returned(connection, "insert", _own(scope) | values)
        await index_memory(connection, self._generation, memory, row)
        outcome: Outcome = "superseded" if others else "pending" if state == "pending" else "added"
        done = await self._supersede(connection, scope, memory, others, outcome)
        return replace(done, why=verdict.why)

    async def _supersede(
        self,
        connection: Connection,
        scope: Scope,
        memory: Memory,
        others: Sequence[Memory],
        outcome: Outcome,
    ) -> Remembered:
        """Make the others history. What was always shown is not lost when it changes."""
        ids = tuple(other.id for other in others)
        if ids:
            values = {"ids": list(ids), "by": memory.id, "true_until": memory.true_from}
            await connection.execute(_SQL["supersede"], _own(scope) | values)
        if not memory.pinned and any(other.pinned for other in others):
            own = _own(scope) | {"id": memory.id}
            memory = await self._returned(connection, "keep_pinned", own)
        return Remembered(outcome=outcome, memory=memory, replaced=ids)

    async def _confirm(
        self, connection: Connection, scope: Scope, known: Memory, new: NewMemory | None
    ) -> Memory:
        if new is not None and new.pending:
            return known  # what a program says makes nothing surer
        values = {
            "id": known.id,
            "pinned": new is not None and new.pinned,
            "importance": new.importance if new is not None else known.importance,
        }
        return await self._returned(connection, "confirm", _own(scope) | values)

    async def _rewrite(
        self,
        connection: Connection,
        scope: Scope,
        memory_id: MemoryId,
        text: Rewriting,
    ) -> Memory:
        own = _own(scope) | {"id": memory_id}
        await connection.execute(_SQL["keep_version"], own)
        values = {
            "text": text.text,
            "language": text.language,
            "sensitive": sorted(text.sensitive),
            "fingerprint": text.keys.fingerprint,
            "topic": text.keys.topic,
        }
        memory = await self._returned(connection, "rewrite", own | values)
        await index_memory(connection, self._generation, memory, text.row)
        return memory


def version_of(row: Mapping[str, Any]) -> MemoryVersion:
    return MemoryVersion(
        version=row["version"],
        kind=row["kind"],
        text=row["text"],
        true_from=row["true_from"],
        true_until=row["true_until"],
        known_from=row["known_from"],
        known_until=row["known_until"],
    )


def person_key(scope: Scope) -> int:
    """Return the number that a person's memories are locked by."""
    digest = hashlib.blake2b(f"{scope.tenant}\0{scope.principal}".encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


async def _check_on(connection: Connection, scope: Scope) -> None:
    """Raise MemoryOff where the person has switched remembering off."""
    row = await (await connection.execute(_SQL["off"], _own(scope))).fetchone()
    if row and row["off"]:
        raise MemoryOff("remembering is switched off", hint="`vade memories on` switches it on")


async def _hold_turn(connection: Connection, scope: Scope, turn_id: TurnId | None) -> None:
    """Keep the turn that a memory comes from until it is written. Raises: UsageError where it was
    deleted meanwhile: whoever erased it wants nothing of it kept."""
    if turn_id is None:
        return
    cursor = await connection.execute(_SQL["hold_turn"], _own(scope) | {"turn": turn_id})
    if await cursor.fetchone() is None:
        raise UsageError("what said so was deleted meanwhile", hint="say it again")


async def index_memory(
    connection: Connection, generation: int, memory: Memory, row: MemoryIndexRow
) -> None:
    """Write what a version of a memory is found by."""
    weights = row.keyword.weights
    await connection.execute(
        _SQL["index_memory"],
        {
            "generation": generation,
            "id": memory.id,
            "version": memory.version,
            "vector": None if row.vector is None else HalfVector(row.vector),
            "terms": sorted(weights),
            "weights": sparse(weights),
        },
    )


def _then(row: DictRow) -> DictRow:
    return row | {
        name: row[f"{name}_then"]
        for name in ("text", "kind", "true_from", "true_until", "known_from", "known_until")
    }


def _own(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "principal": scope.principal}


def _values(new: NewMemory, keys: Keys) -> dict[str, Any]:
    return {
        "persona": new.persona,
        "kind": new.kind,
        "text": new.text,
        "language": new.language,
        "fingerprint": keys.fingerprint,
        "topic": keys.topic,
        "importance": new.importance,
        "emotion": new.emotion,
        "confidence": new.confidence,
        "reason": new.reason,
        "origin": new.origin,
        "sensitive": sorted(new.sensitive),
        "consented": new.consented,
        "source": new.source.kind,
        "source_turn": new.source.turn_id,
        "source_words": new.source.words,
        "client": new.source.client,
        "true_from": new.true_from,
        "true_until": new.true_until,
        "expires_at": new.expires_at,
    }


def _not_found(memory_id: object) -> MemoryNotFound:
    return MemoryNotFound(f"no memory {memory_id}", hint="`vade memories list` shows yours")
