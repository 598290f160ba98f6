"""How do the parts become one system? The composition root: settings in, an App out."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from vademecum import opening
from vademecum import settings as settings_tree
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.language_models.metered import MeteredModel
from vademecum.adapters.language_models.pydantic_ai import PydanticAiModel
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.adapters.tracing import (
    NO_TRACING,
    TracedEmbedder,
    TracedModel,
    Tracing,
    open_tracing,
)
from vademecum.answer.fold import TendParts
from vademecum.answer.pipeline import answer
from vademecum.answer.record import retrieval_record
from vademecum.answer.write import AnswerParts
from vademecum.catalogue import Catalogue, open_catalogue
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.ingest.deliver import Count, DeliverParts, deliver
from vademecum.ingest.pipeline import IngestParts
from vademecum.ingest.reconcile import ReconcileParts
from vademecum.ingest.retain import Keep, RetainParts
from vademecum.memory.extract import LearnParts
from vademecum.memory.remember import Offer
from vademecum.memory.turns import recall_turns
from vademecum.memory.upkeep import MemoryUpkeepParts
from vademecum.model.answer import Answer, Done, Event
from vademecum.model.change import FIRST, ChangeEvent
from vademecum.model.conversation import Turn
from vademecum.model.document import Deletion, IngestResult, Refused, Source
from vademecum.model.filter import Filter, check_filter
from vademecum.model.ids import ConversationId, MemoryId, TraceId, new_uuid
from vademecum.model.index import IndexGeneration
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
from vademecum.model.passage import Retrieval
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt
from vademecum.model.query import Ask, Mode, Query
from vademecum.model.trace import Trace
from vademecum.model.turn_unit import RecalledTurns
from vademecum.opening import (
    DEFAULT_MEMORY,
    DEFAULT_SEARCH,
    MemoryRules,
    SearchRules,
    Tell,
    chunking_rules,
    close_models,
    load_local,
    open_remote,
    recognition_languages,
    silent,
)
from vademecum.ports.chunker import Chunking
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer, is_one_model
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.parser import Parser
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import current_generation
from vademecum.remembering import Memories, MemoryStory
from vademecum.retrieve.pipeline import retrieve
from vademecum.settings import LOCAL_E5, Loaded, Settings
from vademecum.talking import Talking
from vademecum.text import language
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.text.normalise import clean
from vademecum.wiring import Models, Wiring

# Terms of a typical chunk of 200 tokens with its context line: a constant of the generation.
AVERAGE_LENGTH = 120.0


def _uncounted(_done: int, _total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search's result and the trace that explains it."""

    retrieval: Retrieval
    trace_id: TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The whole system. Every call takes the Scope of whoever asks.

    Filters may ask about the metadata `filter_keys`, or about all where there are none.
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
        return await deliver(self.deliver_parts, sources, scope, wait=wait, on_progress=on_progress)

    async def forget(self, *, scope: Scope) -> Receipt:
        """Forget the principal of `scope`: everything of theirs, in every store, at once. The
        receipt says what was found, deleted and left."""
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
        retrieval = await retrieve(self.answer_parts.retrieve, scope, query)
        trace = Trace(
            id=TraceId(new_uuid()),
            kind="search",
            principal=scope.principal,
            documents=tuple({p.source.document_id for p in retrieval.passages}),
            chunks=tuple(p.source.chunk.id for p in retrieval.passages),
            created_at=self.answer_parts.retrieve.clock.now(),
            record=retrieval_record(retrieval)
            | {"versions": {"space": self.answer_parts.retrieve.embedder.space.name}},
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
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    return event.answer
        raise RuntimeError("the answer had no end")

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
        `importance` (.5 unless told) and `emotion` lie in 0..1. Raises: SecretRefused, UsageError.
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


@asynccontextmanager
async def open(
    loaded: Loaded | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    tell: Tell = silent,
) -> AsyncIterator[App]:
    """Open the system as the settings say; `overrides` maps dotted keys to values.

    With `loaded` settings nothing is read, and nothing can be overridden.
    Raises: any VademecumError that tells what is missing and what to do.
    """
    if loaded is None:
        loaded = settings_tree.load(config=None, flags=overrides or {}, environment=os.environ)
    elif overrides:
        raise ValueError("give either loaded settings or overrides")
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        # The models and the database start at the same time: each takes seconds at first.
        warming = asyncio.create_task(asyncio.to_thread(language.warm))
        stack.push_async_callback(asyncio.wait, {warming})
        local = asyncio.create_task(asyncio.to_thread(load_local, loaded, tell))
        written = asyncio.create_task(asyncio.to_thread(opening.language_model, settings))
        stack.push_async_callback(close_models, local, written)
        catalogue = await stack.enter_async_context(open_catalogue(loaded, tell=tell))
        encoder, language_model = await local, await written
        await warming
        embedder: Embedder = encoder
        if settings.models.embedding != LOCAL_E5:
            remote = await open_remote(settings)
            stack.push_async_callback(remote.aclose)
            embedder = remote
        ocr = await asyncio.to_thread(recognition_languages, settings.ingest.ocr)
        parser = ChildParser(ocr=ocr)
        stack.push_async_callback(parser.aclose)
        tracing = open_tracing(os.environ)
        stack.push_async_callback(asyncio.to_thread, tracing.close)
        yield await _compose(
            settings, catalogue, encoder, embedder, language_model, parser, tracing
        )


async def _compose(
    settings: Settings,
    catalogue: Catalogue,
    local: LocalE5,
    embedder: Embedder,
    language_model: PydanticAiModel | None,
    parser: ChildParser,
    tracing: Tracing,
) -> App:
    generation = await current_generation(
        catalogue.pool, embedder.space, ANALYSER_VERSION, AVERAGE_LENGTH
    )
    window = min(local.max_tokens, embedder.max_tokens)
    return compose(
        catalogue,
        generation,
        parser=parser,
        chunking=chunking_rules(settings, window - CONTEXT_TOKENS),
        tokenizer=local,
        embedder=embedder,
        encoder=local,
        language_model=language_model,
        counter=BpeCounter(),
        temperature=settings.answer.temperature,
        show_unsupported=settings.answer.show_unsupported,
        search=opening.search_rules(settings),
        keep=opening.keep_rules(settings),
        memory=opening.memory_rules(settings, embedder.space),
        tracing=tracing,
    )


def compose(
    catalogue: Catalogue,
    generation: IndexGeneration,
    *,
    parser: Parser,
    chunking: Chunking,
    tokenizer: Tokenizer,
    embedder: Embedder,
    encoder: TokenEncoder,
    language_model: LanguageModel | None,
    counter: TokenCounter,
    temperature: float | None,
    show_unsupported: bool,
    keep: Keep,
    search: SearchRules = DEFAULT_SEARCH,
    memory: MemoryRules = DEFAULT_MEMORY,
    tracing: Tracing = NO_TRACING,
) -> App:
    """Put opened parts together; `open` opens those that the settings name."""
    if language_model is not None:
        language_model = TracedModel(MeteredModel(language_model, counter), tracing)
    if not is_one_model(embedder, encoder):  # the local one is a library's call, and in every span
        embedder = TracedEmbedder(embedder, tracing)
    models = Models(
        parser=parser,
        chunking=chunking,
        tokenizer=tokenizer,
        embedder=embedder,
        encoder=encoder,
        language_model=language_model,
        counter=counter,
    )
    wiring = Wiring(catalogue=catalogue, generation=generation, models=models)
    remembered = wiring.memory(memory)
    return App(
        catalogue=catalogue,
        ingest_parts=wiring.ingest(),
        deliver_parts=wiring.deliver(),
        answer_parts=AnswerParts(
            retrieve=wiring.retrieve(search),
            talk=wiring.talk(),
            encoder=encoder,
            language_model=language_model,
            counter=counter,
            temperature=temperature,
            show_unsupported=show_unsupported,
            memory=remembered,
        ),
        own_memories=Memories(parts=remembered),
        memory_upkeep_parts=wiring.memory_upkeep(remembered, memory.keep),
        reconcile_parts=wiring.reconcile(),
        retain_parts=wiring.retain(keep),
        tend_parts=wiring.tend(),
        learn_parts=wiring.learn(remembered),
        graph=PostgresGraph(catalogue.owner_url, generation) if catalogue.owner_url else None,
        filter_keys=search.filter_keys,
        tracing=tracing,
    )
