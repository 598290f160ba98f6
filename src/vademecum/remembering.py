"""What can be done with memories? The verbs of the App that remember, recall, show and forget.

Each acts on the memories of the scope's principal; nobody reads another one's.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from vademecum.errors import UsageError
from vademecum.memory.commands import erase
from vademecum.memory.past import recall_past
from vademecum.memory.recall import Asked, MemoryParts, recall
from vademecum.memory.remember import Offer, edit, remember
from vademecum.model.ids import ConversationId, MemoryId
from vademecum.model.memory import (
    KINDS,
    Kind,
    Memory,
    MemoryVersion,
    Recall,
    Remembered,
    Stage,
    State,
)
from vademecum.model.principal import Scope
from vademecum.ports.memory import Changes

_SHOWN: tuple[State, ...] = ("active", "pending", "held", "archived")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStory:
    """A memory, and what it said in its earlier versions, oldest first."""

    memory: Memory
    versions: tuple[MemoryVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """The memories of whoever a scope names."""

    parts: MemoryParts

    async def remembering(self, on: bool | None = None, *, scope: Scope) -> bool:
        if on is not None:
            await self.parts.store.set_remembers(scope, on=on)
        return await self.parts.store.remembers(scope)

    async def remember(self, offer: Offer, *, scope: Scope) -> Remembered:
        return await remember(self.parts, scope, offer)

    async def recall(
        self,
        text: str,
        *,
        scope: Scope,
        conversation_id: ConversationId | None,
        persona: str,
        stage: Stage | None,
        as_of: date | None,
    ) -> Recall:
        if as_of is not None:
            asked = Asked(text=text, persona=persona, stage=stage)
            if not await self.remembering(scope=scope):
                return _nothing(stage)
            return await recall_past(self.parts, scope, asked, moment_of(as_of))
        previous = None
        if conversation_id is not None:
            previous = await self.parts.store.last_said(scope, conversation_id)
        asked = Asked(text=text, previous=previous, persona=persona, stage=stage)
        return await recall(self.parts, scope, asked)

    async def all(
        self,
        *,
        scope: Scope,
        persona: str | None,
        states: tuple[State, ...] | None,
        as_of: date | None,
    ) -> list[Memory]:
        if as_of is not None:
            return await self.parts.store.believed(scope, persona, moment_of(as_of))
        return await self.parts.store.all(scope, persona, states or _SHOWN)

    async def story(self, memory_id: MemoryId, *, scope: Scope) -> MemoryStory:
        memory = await self.parts.store.get(scope, memory_id)
        versions = await self.parts.store.versions(scope, memory_id)
        return MemoryStory(memory=memory, versions=tuple(versions))

    async def edit(
        self,
        memory_id: MemoryId,
        *,
        scope: Scope,
        text: str | None,
        kind: Kind | None,
        importance: float | None,
        expires_at: datetime | None,
    ) -> Remembered:
        if kind is not None and kind not in KINDS:
            raise UsageError(f"there is no kind {kind!r}", hint=f"use {', '.join(KINDS)}")
        changes = Changes(kind=kind, importance=importance, expires_at=expires_at)
        if text is None and changes == Changes():
            raise UsageError("nothing is to be changed", hint="give a text or a value")
        return await edit(self.parts, scope, memory_id, changes, text)

    async def pin(self, memory_id: MemoryId, *, scope: Scope, pinned: bool) -> Memory:
        done = await edit(self.parts, scope, memory_id, Changes(pinned=pinned))
        return done.memory

    async def confirm(self, memory_id: MemoryId, *, scope: Scope) -> Remembered:
        done = await edit(self.parts, scope, memory_id, Changes(confirmed=True))
        return replace(done, outcome="confirmed")

    async def reject(self, memory_id: MemoryId, *, scope: Scope) -> None:
        memory = await self.parts.store.get(scope, memory_id)
        if memory.state != "pending":
            raise UsageError(
                "only what waits for your word can be rejected",
                hint="`vade memories forget` erases any other",
            )
        await erase(self.parts, scope, memory)

    async def forget(self, memory_id: MemoryId, *, scope: Scope) -> None:
        await erase(self.parts, scope, await self.parts.store.get(scope, memory_id))


def _nothing(stage: Stage | None) -> Recall:
    return Recall(profile=(), memories=(), stage=stage or "normal", degraded=(), timings_ms={})


def moment_of(day: date) -> datetime:
    """Return the end of a day in UTC; a datetime is a moment already."""
    if isinstance(day, datetime):
        return day if day.tzinfo else day.replace(tzinfo=UTC)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return midnight + timedelta(days=1) - timedelta(microseconds=1)
