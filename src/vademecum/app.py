"""How do the parts become one system? The composition root: settings in, an App out."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from vademecum import opening
from vademecum import settings as settings_tree
from vademecum.adapters.clock import SystemClock
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.language_models.pydantic_ai import PydanticAiModel
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.answer.converse import TalkParts
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
from vademecum.memory.turns import TurnParts, recall_turns
from vademecum.model.answer import Answer, Done, Event
from vademecum.model.change import FIRST, ChangeEvent
from vademecum.model.conversation import DEFAULT_PERSONA
from vademecum.model.document import Deletion, IngestResult, Refused, Source
from vademecum.model.filter import Filter, check_filter
from vademecum.model.ids import ConversationId, TraceId, new_uuid
from vademecum.model.index import IndexGeneration
from vademecum.model.passage import Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Mode, Query
from vademecum.model.trace import Trace
from vademecum.model.turn_unit import RecalledTurns
from vademecum.opening import (
    DEFAULT_SEARCH,
    SearchRules,
    Tell,
    chunking_rules,
    close_models,
    keep_rules,
    load_local,
    open_remote,
    recognition_languages,
    search_rules,
    silent,
)
from vademecum.ports.chunker import Chunking
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.parser import Parser
from vademecum.postgres.conversation.turns import PostgresTurns
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import PostgresIndex, current_generation
from vademecum.postgres.revision import PostgresRevisions
from vademecum.postgres.upkeep import PostgresUpkeep
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.settings import LOCAL_E5, Loaded, Settings
from vademecum.talking import Talking
from vademecum.text import language
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.text.normalise import clean

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
    graph: PostgresGraph | None
    filter_keys: frozenset[str]

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
        temporary: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Yield what was found, then each checked sentence, then the whole answer.

        The question goes on with `conversation_id`, or begins a conversation with `persona`;
        nothing is kept of a `temporary` one. Raises: InvalidFilter, as `search` does;
        ConversationNotFound for another's conversation, before anything is written.
        """
        ask = Ask(
            question=clean(question),
            conversation_id=conversation_id,
            collections=collections,
            as_of=as_of,
            filter=check_filter(filter, self.filter_keys),
            persona=persona,
            temporary=temporary,
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
        temporary: bool = False,
    ) -> Answer:
        """Return a checked answer, or an abstention."""
        events = self.stream(
            question,
            scope=scope,
            collections=collections,
            conversation_id=conversation_id,
            as_of=as_of,
            filter=filter,
            persona=persona,
            temporary=temporary,
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    return event.answer
        raise RuntimeError("the answer had no end")

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
        yield await _compose(settings, catalogue, encoder, embedder, language_model, parser)


async def _compose(
    settings: Settings,
    catalogue: Catalogue,
    local: LocalE5,
    embedder: Embedder,
    language_model: PydanticAiModel | None,
    parser: ChildParser,
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
        search=search_rules(settings),
        keep=keep_rules(settings),
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
) -> App:
    """Put opened parts together; `open` opens those that the settings name."""
    upkeep = PostgresUpkeep(catalogue.pool, generation.id)
    ingest = IngestParts(
        revisions=PostgresRevisions(catalogue.pool, generation.id),
        blobs=catalogue.blobs,
        parser=parser,
        chunking=chunking,
        tokenizer=tokenizer,
        embedder=embedder,
        encoder=encoder,
        generation=generation,
    )
    retrieving = RetrieveParts(
        store=catalogue.documents,
        index=PostgresIndex(catalogue.pool, generation, exact_below=search.exact_below),
        embedder=embedder,
        encoder=encoder,
        clock=SystemClock(),
        ranking=search.ranking,
    )
    return App(
        catalogue=catalogue,
        ingest_parts=ingest,
        deliver_parts=_deliver_parts(catalogue, upkeep, ingest),
        answer_parts=AnswerParts(
            retrieve=retrieving,
            talk=_talk_parts(catalogue),
            encoder=encoder,
            language_model=language_model,
            counter=counter,
            temperature=temperature,
            show_unsupported=show_unsupported,
        ),
        reconcile_parts=ReconcileParts(
            upkeep=upkeep, jobs=catalogue.jobs, encoders=ingest.encoders, generation=generation
        ),
        retain_parts=_retain_parts(catalogue, upkeep, keep),
        tend_parts=_tend_parts(catalogue, ingest, language_model, counter),
        graph=PostgresGraph(catalogue.owner_url, generation) if catalogue.owner_url else None,
        filter_keys=search.filter_keys,
    )


def _talk_parts(catalogue: Catalogue) -> TalkParts:
    return TalkParts(
        conversations=catalogue.conversations, records=catalogue.records, clock=SystemClock()
    )


def _tend_parts(
    catalogue: Catalogue, ingest: IngestParts, model: LanguageModel | None, counter: TokenCounter
) -> TendParts:
    turns = TurnParts(
        index=PostgresTurns(catalogue.pool, ingest.generation.id),
        embedder=ingest.embedder,
        encoder=ingest.encoder,
        tokenizer=ingest.tokenizer,
    )
    return TendParts(
        folds=catalogue.conversations, turns=turns, language_model=model, counter=counter
    )


def _retain_parts(catalogue: Catalogue, upkeep: PostgresUpkeep, keep: Keep) -> RetainParts:
    return RetainParts(
        upkeep=upkeep,
        documents=catalogue.documents,
        blobs=catalogue.blobs,
        clock=SystemClock(),
        keep=keep,
    )


def _deliver_parts(
    catalogue: Catalogue, upkeep: PostgresUpkeep, ingest: IngestParts
) -> DeliverParts:
    return DeliverParts(
        documents=catalogue.documents,
        jobs=catalogue.jobs,
        ingest=ingest,
        remove=catalogue.remove,
        settle=upkeep.settle,
    )
