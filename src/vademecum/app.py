"""What can the system do? Every call of a program, in terms of the lines that do the work."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from functools import partial
from uuid import UUID

from vademecum.adapters.tracing import NO_TRACING, Tracing
from vademecum.answer.fold import TendParts
from vademecum.answer.pipeline import answer, whole
from vademecum.answer.record import query_record, retrieval_record
from vademecum.answer.write import AnswerParts
from vademecum.catalogue import Catalogue
from vademecum.errors import IndexSwitched
from vademecum.ingest.deliver import Count, DeliverParts, deliver
from vademecum.ingest.pipeline import IngestParts, ingest_revision
from vademecum.ingest.reconcile import ReconcileParts
from vademecum.ingest.retain import RetainParts
from vademecum.memory.extract import LearnParts
from vademecum.memory.remember import Offer
from vademecum.memory.turns import recall_turns
from vademecum.memory.upkeep import MemoryUpkeepParts
from vademecum.model.answer import Answer, Event
from vademecum.model.change import FIRST, ChangeEvent
from vademecum.model.conversation import Turn
from vademecum.model.document import Deletion, IngestResult, Refused, Source
from vademecum.model.filter import Filter, check_filter
from vademecum.model.ids import ConversationId, MemoryId, Tenant, TraceId, new_uuid
from vademecum.model.index import GenerationRecord
from vademecum.model.memory import (
    DEFAULT_PERSONA,
    Kind,
    Memory,
    MemorySource,
    Recall,
    Remembered,
    Stage,
    State,
)
from vademecum.model.passage import Found
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt
from vademecum.model.query import Ask, Mode, Query
from vademecum.model.replay import Replay
from vademecum.model.trace import Trace
from vademecum.model.turn_unit import RecalledTurns
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.graph import PostgresGraph
from vademecum.remembering import Memories, MemoryStory
from vademecum.replaying import ReplayParts, replay, replay_day, reranked
from vademecum.retrieve.pipeline import Ranking
from vademecum.retrieve.widen import search
from vademecum.talking import Talking
from vademecum.text.normalise import clean


def _uncounted(_done: int, _total: int) -> None: ...


# Not frozen: `follow` puts the parts of another build of the index in the place of these.
@dataclass(slots=True, kw_only=True, eq=False)
class App:
    """The whole system. Every call takes the Scope of whoever asks.

    Filters may ask about the metadata `filter_keys`, or about all where there are none. A call
    reads one build of the index from its beginning to its end, with the model of that build.
    """

    catalogue: Catalogue
    deliver_parts: DeliverParts
    ingest_parts: IngestParts
    answer_parts: AnswerParts
    reconcile_parts: ReconcileParts
    retain_parts: RetainParts
    tend_parts: TendParts
    learn_parts: LearnParts | None
    graph: PostgresGraph | None
    filter_keys: frozenset[str]
    own_memories: Memories
    memory_upkeep_parts: MemoryUpkeepParts
    tracing: Tracing = NO_TRACING
    reopen: Callable[[GenerationRecord], Awaitable["App"]] | None = field(default=None, repr=False)
    """Makes the App of another build of the index, of the parts that are open."""

    async def ingest(
        self,
        sources: Iterable[Source | Refused | Deletion],
        *,
        scope: Scope,
        wait: bool = True,
        on_progress: Count = _uncounted,
    ) -> list[IngestResult]:
        """Accept documents and, with `wait`, work until each is searchable or ended.

        Results come in the order of the sources, but for one that was deleted meanwhile. One bad
        document costs only itself. Raises: Forbidden, for labels or a collection beyond `scope`;
        QueueFull, without `wait`, where too many documents wait already.
        """
        parts = replace(self.deliver_parts, work=partial(ingest_item, self))
        return await deliver(parts, sources, scope, wait=wait, on_progress=on_progress)

    async def forget(self, *, scope: Scope) -> Receipt:
        """Forget everything of the principal of `scope`, in every store, and tell what was left."""
        return await self.catalogue.forget(scope=scope)

    async def changes(
        self, *, scope: Scope, after: tuple[int, int] = FIRST, limit: int = 1_000
    ) -> list[ChangeEvent]:
        """Return the next changes of documents after a cursor, in the order of commitment: each
        exactly once to whoever asks again with the last one's cursor. Raises: Forbidden."""
        return await self.catalogue.documents.changes(scope, after, limit)

    async def search(
        self,
        text: str,
        *,
        scope: Scope,
        k: int = 5,
        mode: Mode = "hybrid",
        collections: frozenset[str] | None = None,
        as_of: date | None = None,
        filter: Filter | None = None,
    ) -> Found:
        """Return the best k passages that the scope may see, of the revisions in force on the day
        `as_of`, or now, and record the trace. `filter` tells of which documents.

        Raises: InvalidFilter for what is none, or asks about what filters may not.
        """
        query = Query(
            text=clean(text),
            k=k,
            mode=mode,
            collections=collections,
            as_of=as_of,
            filter=check_filter(filter, self.filter_keys),
        )
        line = self.answer_parts
        parts = line.retrieve
        retrieval = await search(parts, scope, query)
        trace = Trace(
            id=TraceId(new_uuid()),
            kind="search",
            principal=scope.principal,
            documents=tuple({p.source.document_id for p in retrieval.passages}),
            chunks=tuple(p.source.chunk.id for p in retrieval.passages),
            created_at=parts.clock.now(),
            record=retrieval_record(retrieval)
            | {"versions": dict(line.versions), "asked": query_record(scope, query)},
        )
        await self.catalogue.records.record_trace(scope, trace)
        return Found(retrieval=retrieval, trace_id=trace.id)

    def stream(
        self,
        question: str,
        *,
        scope: Scope,
        collections: frozenset[str] | None = None,
        conversation_id: ConversationId | None = None,
        as_of: date | None = None,
        filter: Filter | None = None,
        persona: str | None = None,
        stage: Stage | None = None,
        temporary: bool = False,
        zone: str = "",
        again: bool = False,
        said: tuple[Turn, ...] = (),
    ) -> AsyncGenerator[Event, None]:
        """Yield what was found, then each checked sentence, then the whole answer.

        The question goes on with `conversation_id`, or begins a conversation with `persona`;
        nothing is kept of a `temporary` one. What is remembered of the scope's principal for that
        persona is at hand. `stage` (early, normal, close) is how well they are known; without it
        their own turns tell. `zone` is their time zone, an IANA name. `again` answers the
        conversation's last question once more. `said` is what was said before a temporary one.
        Raises: InvalidFilter, as `search` does; ConversationNotFound for another's conversation,
        before anything is written.
        """
        ask = Ask(
            question=clean(question),
            conversation_id=conversation_id,
            collections=collections,
            as_of=as_of,
            filter=check_filter(filter, self.filter_keys),
            persona=persona,
            stage=stage,
            temporary=temporary,
            zone=zone,
            again=again,
            said=said,
        )
        return answer(self.answer_parts, scope, ask)

    async def ask(
        self,
        question: str,
        *,
        scope: Scope,
        collections: frozenset[str] | None = None,
        conversation_id: ConversationId | None = None,
        as_of: date | None = None,
        filter: Filter | None = None,
        persona: str | None = None,
        stage: Stage | None = None,
        temporary: bool = False,
        zone: str = "",
        again: bool = False,
    ) -> Answer:
        """Return a checked answer, or an abstention; see `stream`."""
        events = self.stream(
            question,
            scope=scope,
            collections=collections,
            conversation_id=conversation_id,
            as_of=as_of,
            filter=filter,
            persona=persona,
            stage=stage,
            temporary=temporary,
            zone=zone,
            again=again,
        )
        return await whole(events)

    async def replay(
        self, trace_id: TraceId, *, scope: Scope, ranking: Ranking | None = None
    ) -> Replay:
        """Do again what a trace tells of, with `ranking` as it would be ranked then, and say what
        differs and why; see `replaying.replay`. Raises: TraceNotFound, UsageError."""
        return await replay(self._replay_parts(ranking), scope, trace_id)

    def replay_day(
        self, day: date, *, scope: Scope, ranking: Ranking | None = None
    ) -> AsyncGenerator[Replay, None]:
        """Search again for what was searched for on a day (UTC), without writing answers."""
        return replay_day(self._replay_parts(ranking), scope, day)

    def _replay_parts(self, ranking: Ranking | None) -> ReplayParts:
        parts = ReplayParts(
            answer=self.answer_parts, records=self.catalogue.records, talking=self.talking
        )
        return parts if ranking is None else reranked(parts, ranking)

    async def remember(
        self,
        text: str,
        *,
        scope: Scope,
        persona: str = DEFAULT_PERSONA,
        kind: Kind | None = None,
        importance: float | None = None,
        emotion: float = 0.0,
        pinned: bool = False,
        expires_at: datetime | None = None,
        held_until: Stage | None = None,
        client: str | None = None,
    ) -> Remembered:
        """Keep one statement of the scope's principal; told again it is confirmed, not doubled.

        What a program says (`client`, its name) is pending until the person confirms it.
        `importance` (.5 unless told) and `emotion` lie in 0..1. Raises: MemoryOff, UsageError.
        """
        words = clean(text)
        source = MemorySource(kind="client" if client else "person", words=words, client=client)
        offer = Offer(
            text=words,
            source=source,
            persona=persona,
            kind=kind,
            importance=importance,
            emotion=emotion,
            pinned=pinned,
            expires_at=expires_at,
            held_until=held_until,
        )
        return await self.own_memories.remember(offer, scope=scope)

    async def remembering(self, on: bool | None = None, *, scope: Scope) -> bool:
        """Return whether anything is remembered of the scope's principal, who may switch it `on`
        or off: then nothing is kept, learned or recalled. What is known stays."""
        return await self.own_memories.remembering(on, scope=scope)

    async def recall(
        self,
        text: str,
        *,
        scope: Scope,
        conversation_id: ConversationId | None = None,
        persona: str = DEFAULT_PERSONA,
        stage: Stage | None = None,
        as_of: date | None = None,
    ) -> Recall:
        """Return the profile and the memories that matter for a message, best first; with `as_of`
        those that were believed at the end of that day, or at that datetime."""
        return await self.own_memories.recall(
            clean(text),
            scope=scope,
            conversation_id=conversation_id,
            persona=persona,
            stage=stage,
            as_of=as_of,
        )

    async def memories(
        self,
        *,
        scope: Scope,
        persona: str | None = None,
        states: tuple[State, ...] | None = None,
        as_of: date | None = None,
    ) -> list[Memory]:
        """List memories, oldest first: of one persona or of all; without `states` those that are
        active, pending, held or archived; with `as_of` those that were believed then."""
        return await self.own_memories.all(scope=scope, persona=persona, states=states, as_of=as_of)

    async def memory(self, memory_id: MemoryId, *, scope: Scope) -> MemoryStory:
        """Return a memory with its earlier versions. Raises: MemoryNotFound."""
        return await self.own_memories.story(memory_id, scope=scope)

    async def edit_memory(
        self,
        memory_id: MemoryId,
        *,
        scope: Scope,
        text: str | None = None,
        kind: Kind | None = None,
        importance: float | None = None,
        expires_at: datetime | None = None,
    ) -> Remembered:
        """Change a memory; what a new text contradicts or repeats is superseded.

        Raises: MemoryNotFound, SecretRefused, UsageError.
        """
        return await self.own_memories.edit(
            memory_id,
            scope=scope,
            text=text,
            kind=kind,
            importance=importance,
            expires_at=expires_at,
        )

    async def pin(self, memory_id: MemoryId, *, scope: Scope, pinned: bool = True) -> Memory:
        """Keep a memory always at hand, or no longer. Raises: MemoryNotFound."""
        return await self.own_memories.pin(memory_id, scope=scope, pinned=pinned)

    async def confirm(self, memory_id: MemoryId, *, scope: Scope) -> Remembered:
        """Say that a memory is right; one that waited is active then. Raises: MemoryNotFound."""
        return await self.own_memories.confirm(memory_id, scope=scope)

    async def reject(self, memory_id: MemoryId, *, scope: Scope) -> None:
        """Erase a memory that waits for the person's word. Raises: MemoryNotFound, UsageError."""
        await self.own_memories.reject(memory_id, scope=scope)

    async def forget_memory(self, memory_id: MemoryId, *, scope: Scope) -> None:
        """Erase a memory, its history and its index rows. Raises: MemoryNotFound."""
        await self.own_memories.forget(memory_id, scope=scope)

    async def recall_turns(
        self, text: str, *, scope: Scope, k: int = 10, persona: str = DEFAULT_PERSONA
    ) -> RecalledTurns:
        """Return what was said on a text in any conversation of whoever asks, best first."""
        return await recall_turns(self.tend_parts.turns, scope, clean(text), k, persona=persona)

    @property
    def talking(self) -> Talking:
        """Conversations: list, show, delete, go on."""
        return self.catalogue.talking


async def follow(app: App) -> bool:
    """Let an App read the build of the index that is current now; True if it was another one. What
    was begun before ends with the build that it began with. Raises: what opening its model
    raises; then the App stays as it is."""
    current = await PostgresGenerations(app.catalogue.pool).current()
    if app.reopen is None or current is None:
        return False
    if current.generation.id == app.ingest_parts.generation.id:
        return False
    other = await app.reopen(current)
    for part in fields(app):  # nothing waits in between, so that no call sees half of it
        setattr(app, part.name, getattr(other, part.name))
    return True


async def ingest_item(app: App, tenant: Tenant, item: UUID) -> None:
    """Ingest a revision into the build of the index that the App reads at that moment."""
    try:
        await ingest_revision(app.ingest_parts, tenant, item)
    except IndexSwitched:
        await follow(app)
        raise  # its lease runs out, and then it is tried again
