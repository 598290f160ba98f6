"""Where is it kept what is remembered of people? Each method is one transaction in a scope."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ConversationId, MemoryId, Tenant, TurnId
from vademecum.model.index import KeywordRow
from vademecum.model.memory import (
    Kind,
    Memory,
    MemoryVersion,
    NewMemory,
    Relationship,
    Remembered,
    Stage,
    State,
)
from vademecum.model.principal import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryIndexRow:
    """What a memory is found by: its words, and its vector, shape (d,), or None where it waits for
    the embedder."""

    keyword: KeywordRow
    vector: FloatArray | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What finds the neighbours of a memory: `fingerprint` is equal for equal words, `topic` (or
    "") for two values of one thing, `terms` are those that neighbours share."""

    fingerprint: str
    topic: str
    terms: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a memory that is offered stands to what is known.

    add: it is new; `supersedes` are history from now on. confirm: `known` says it already, and
    takes the place of `supersedes` where it did not count before. update: `known` takes the new
    text. ask: it is kept pending, beside what it speaks against. wait: `known` says it, and goes on
    waiting.
    """

    action: Literal["add", "confirm", "update", "ask", "wait"]
    known: Memory | None = None
    supersedes: Sequence[Memory] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """A memory's new text, what is sensitive in it, and what it is found by."""

    text: str
    language: str
    sensitive: frozenset[str]
    keys: Keys
    row: MemoryIndexRow


# Judge the neighbours of a memory. It is called while the person's memories are locked, so it must
# not wait for anything.
Judge = Callable[[Sequence[Memory]], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is changed of a memory; None leaves a value as it is."""

    kind: Kind | None = None
    importance: float | None = None
    emotion: float | None = None
    expires_at: datetime | None = None
    pinned: bool | None = None
    confirmed: bool = False


class MemoryReader(Protocol):
    """One look at one person's memories of one persona, usable ones only: active, or held with
    their stage reached, and not past their time by the database's clock."""

    async def relationship(self) -> Relationship: ...

    async def profile(self, reached: Sequence[Stage]) -> list[Memory]:
        """Return those that `rank.memory.profile_of` chooses: what is pinned, and the first of the
        important profile facts and boundaries. It needs no index."""
        ...

    async def languages(self, reached: Sequence[Stage]) -> Mapping[str, int]:
        """Return how many memories there are in each language."""
        ...

    async def frequencies(self, reached: Sequence[Stage], terms: Sequence[int]) -> dict[int, int]:
        """Return how many memories hold each of the terms."""
        ...

    async def search_keyword(
        self, reached: Sequence[Stage], weights: Mapping[int, float], k: int
    ) -> dict[MemoryId, float]:
        """Return the k best by inner product of weights; only those that hold a term."""
        ...

    async def holding(
        self, reached: Sequence[Stage], masses: Mapping[int, float], k: int
    ) -> dict[MemoryId, frozenset[int]]:
        """Return which of the terms each of k memories holds: those that hold most by mass."""
        ...

    async def search_dense(
        self, reached: Sequence[Stage], query: FloatArray, k: int
    ) -> dict[MemoryId, float]:
        """Return the k nearest by cosine; every vector is compared."""
        ...

    async def usable(
        self, reached: Sequence[Stage], memory_ids: Sequence[MemoryId]
    ) -> list[Memory]:
        """Return those of the memories that may be used at this moment."""
        ...


class MemoryStore(Protocol):
    """Memories of one principal: that of the scope, whoever it is. There is no call that reads
    another one's."""

    def reading(self, scope: Scope, persona: str) -> AbstractAsyncContextManager[MemoryReader]:
        """Open a look for recall. Raises: DatabaseAway, whatever the database's fault."""
        ...

    async def last_said(self, scope: Scope, conversation_id: ConversationId) -> str | None:
        """Return the person's last message of a conversation, None where there is none of
        theirs."""
        ...

    async def remembers(self, scope: Scope) -> bool:
        """Return whether anything is remembered of the person: they may have switched it off."""
        ...

    async def set_remembers(self, scope: Scope, *, on: bool) -> None:
        """Switch remembering on or off. While it is off nothing is added, learned or recalled, and
        what was said until it is on again is never learned from. What is known stays."""
        ...

    async def add(
        self, scope: Scope, new: NewMemory, keys: Keys, row: MemoryIndexRow, judge: Judge
    ) -> Remembered:
        """Judge the neighbours and write, while no other write of this person's memories can come
        between. Neighbours are active, pending, held or archived; superseded ones are not.
        Raises: MemoryOff, UsageError."""
        ...

    async def change(
        self,
        scope: Scope,
        memory_id: MemoryId,
        changes: Changes,
        text: Rewriting | None,
        keys: Keys,
        judge: Judge,
    ) -> Remembered:
        """Change a memory. With a new text the earlier one becomes a version. Where it says
        something new, or counts from now on, the neighbours that it repeats or speaks against are
        superseded by it. `keys` are of the text that it has afterwards. Raises: MemoryNotFound."""
        ...

    async def forget(self, scope: Scope, memory_id: MemoryId, said: Sequence[TurnId] = ()) -> None:
        """Erase a memory, its versions and its index rows; the turns `said`, which nobody has
        learned from yet, are not learned from any more. Raises: MemoryNotFound."""
        ...

    async def unlearned(self, scope: Scope, persona: str) -> dict[TurnId, str]:
        """Return what the person said that nobody has learned from yet: the newest 200 turns."""
        ...

    async def get(self, scope: Scope, memory_id: MemoryId) -> Memory:
        """Raises: MemoryNotFound, also where it is somebody else's or past its time."""
        ...

    async def versions(self, scope: Scope, memory_id: MemoryId) -> list[MemoryVersion]:
        """Return the earlier versions, oldest first. Raises: MemoryNotFound."""
        ...

    async def all(self, scope: Scope, persona: str | None, states: Sequence[State]) -> list[Memory]:
        """Return memories in these states, newest last; expired ones only where asked for."""
        ...

    async def believed(self, scope: Scope, persona: str | None, moment: datetime) -> list[Memory]:
        """Return what was believed at a moment, each with the text that it had then."""
        ...

    async def cosines(
        self, scope: Scope, memory_ids: Sequence[MemoryId], query: FloatArray
    ) -> dict[MemoryId, float]:
        """Return the cosine of each memory that has a vector, whatever its state."""
        ...

    async def sharing(self, scope: Scope, persona: str, keys: Keys) -> list[Memory]:
        """Return the neighbours that `add` would judge."""
        ...

    async def last_of(
        self, scope: Scope, persona: str, conversation_id: ConversationId
    ) -> Memory | None:
        """Return the memory that was last taken from a turn of this conversation, or that an
        order in it was last about."""
        ...

    async def learned_from(self, scope: Scope, turn_id: TurnId) -> list[Memory]:
        """Return the memories that came from a turn, whatever their state."""
        ...

    async def used(self, scope: Scope, memory_ids: Sequence[MemoryId]) -> None:
        """Count one use of each."""
        ...


class MemoryUpkeep(Protocol):
    """What is looked after in the background, tenant by tenant."""

    async def tenants(self) -> list[Tenant]: ...

    async def gaps(self, tenant: Tenant, after: MemoryId, limit: int) -> list[Memory]:
        """Return the next `limit` memories after `after` that lack a row or a vector."""
        ...

    async def late(
        self, tenant: Tenant, since: datetime, after: MemoryId, limit: int
    ) -> list[Memory]:
        """Return the next active memories that were changed since, neither pinned nor
        confirmed."""
        ...

    async def fill(
        self, tenant: Tenant, memory: Memory, row: MemoryIndexRow, unembedded: str | None
    ) -> None:
        """Index that version of the memory, or nothing where it was changed meanwhile;
        `unembedded` tells why it will never have a vector."""
        ...

    async def merge(self, tenant: Tenant, memory: Memory, into: Memory) -> bool:
        """Supersede a memory by an older one that says it; False where either was changed since
        it was read."""
        ...

    async def erase_expired(self, tenant: Tenant, before: datetime) -> int:
        """Erase what expired before that time; return how many."""
        ...

    async def erase_old(self, tenant: Tenant, kind: Kind, before: datetime) -> int:
        """Erase memories of a kind, not pinned, that were last touched before that time."""
        ...

    async def archive_trivia(self, tenant: Tenant, importance: float, before: datetime) -> int:
        """Archive active memories below that importance, unused since; never pinned or confirmed
        ones. Return how many."""
        ...
