"""How do the parts become one system? The composition root: settings in, an App out."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from vademecum import settings as settings_tree
from vademecum.adapters.blobs.folder import FolderBlobs
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.clock import SystemClock
from vademecum.adapters.embedders.e5_convert import ModelFiles, ensure_model, open_model
from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.adapters.embedders.openai_compatible import RemoteEmbedder, open_embedder
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.language_models.pydantic_ai import PydanticAiModel, make_language_model
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.adapters.providers import split_name
from vademecum.answer.pipeline import AnswerParts, answer
from vademecum.answer.record import retrieval_record
from vademecum.errors import DatabaseAway, VademecumError
from vademecum.ingest.accept import check, fingerprint
from vademecum.ingest.contextualize import CONTEXT_TOKENS
from vademecum.ingest.pipeline import IngestParts, ingest_revision
from vademecum.model.answer import Answer, Done, Event
from vademecum.model.document import IngestResult, Refused, Source, State
from vademecum.model.ids import ConversationId, DocumentId, RevisionId, TraceId, new_uuid
from vademecum.model.passage import Retrieval
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt
from vademecum.model.query import Mode, Query
from vademecum.model.trace import Trace
from vademecum.ports.embedder import Embedder
from vademecum.postgres import embedded
from vademecum.postgres.document import PostgresDocuments
from vademecum.postgres.index import PostgresIndex, current_generation
from vademecum.postgres.isolation import check_isolation
from vademecum.postgres.jobs import PostgresJobs
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import Pool, open_pool
from vademecum.postgres.record import PostgresRecords
from vademecum.postgres.revision import PostgresRevisions
from vademecum.purge.pipeline import PurgeParts, purge_document
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.settings import LOCAL_E5, Loaded, Settings
from vademecum.text import language
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.text.normalise import clean

Tell = Callable[[str], None]
Count = Callable[[int, int], None]

# Terms of a typical chunk of 200 tokens with its context line: a constant of the generation.
AVERAGE_LENGTH = 120.0
_POLL_SECONDS = 0.3


def silent(_: str) -> None:
    """Tell nobody."""


def _uncounted(_done: int, _total: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What can be done without a model: list, read, delete, explain."""

    documents: PostgresDocuments
    records: PostgresRecords
    blobs: FolderBlobs
    jobs: PostgresJobs
    pool: Pool

    async def delete(self, document_id: DocumentId, *, scope: Scope) -> Receipt:
        """Delete a document from every store. Raises: DocumentNotFound."""
        parts = PurgeParts(store=self.documents, blobs=self.blobs)
        return await purge_document(parts, scope, document_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search's result and the trace that explains it."""

    retrieval: Retrieval
    trace_id: TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The whole system. Every call takes the Scope of whoever asks."""

    catalogue: Catalogue
    ingest_parts: IngestParts
    answer_parts: AnswerParts
    fingerprint: str

    async def ingest(
        self,
        sources: Iterable[Source | Refused],
        *,
        scope: Scope,
        wait: bool = True,
        on_progress: Count = _uncounted,
    ) -> list[IngestResult]:
        """Accept documents and, with `wait`, work until each is searchable or ended.

        Results come in the order of the sources, but for one that was deleted meanwhile. One bad
        document costs only itself. Raises: Forbidden, for labels or a collection beyond `scope`.
        """
        outcomes: list[tuple[RevisionId, bool] | IngestResult] = []
        coming = iter(sources)
        # Each may be read from a disk only now, and that must not hold up the event loop.
        while (source := await asyncio.to_thread(next, coming, None)) is not None:
            outcomes.append(await self._accept(source, scope))
            on_progress(0, len(outcomes))
        waiting = {o[0] for o in outcomes if isinstance(o, tuple) and not o[1]}
        if wait and waiting:
            await self._work_until(waiting, scope, len(outcomes), on_progress)
        return await self._results(outcomes, scope)

    async def _accept(
        self, source: Source | Refused, scope: Scope
    ) -> tuple[RevisionId, bool] | IngestResult:
        if isinstance(source, Refused):
            return _not_accepted(source.uri, State.FAILED, source.reason)
        try:
            check(source)
        except VademecumError as error:
            return _not_accepted(source.uri, State.REJECTED, str(error))
        blob = await self.catalogue.blobs.put(scope.tenant, source.content)
        accepted = await self.catalogue.documents.accept(scope, source, blob, self.fingerprint)
        return accepted.revision_id, accepted.unchanged

    async def _work_until(
        self, waiting: set[RevisionId], scope: Scope, total: int, on_progress: Count
    ) -> None:
        """Do what waits in the queue, ours and others', until these revisions have ended."""
        work = partial(ingest_revision, self.ingest_parts)
        over = False

        async def watch() -> None:
            while True:
                done = await self._ended(waiting, scope)
                on_progress(total - len(waiting) + done, total)
                if done == len(waiting):
                    return
                await asyncio.sleep(_POLL_SECONDS)

        async def drain() -> None:
            # A worker that is cancelled ends its jobs and returns as if nothing had been, so the
            # cancellation alone would not end this loop.
            while True:
                await self.catalogue.jobs.drain(work)
                if over:
                    return
                await asyncio.sleep(_POLL_SECONDS)
                await self.catalogue.jobs.rescue()

        draining = asyncio.create_task(drain())
        watching = asyncio.create_task(watch())
        try:
            done, _ = await asyncio.wait({draining, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:  # also where the caller is cancelled: no work outlives it
            over = True
            for task in (draining, watching):
                task.cancel()
            await asyncio.gather(draining, watching, return_exceptions=True)
        for task in done:
            task.result()

    async def _ended(self, revisions: set[RevisionId], scope: Scope) -> int:
        results = await self.catalogue.documents.results(scope, list(revisions))
        # One that is gone was deleted meanwhile: nothing is left to wait for.
        still = sum(result.status == State.ACCEPTED for result in results.values())
        return len(revisions) - still

    async def _results(
        self, outcomes: Sequence[tuple[RevisionId, bool] | IngestResult], scope: Scope
    ) -> list[IngestResult]:
        ids = [outcome[0] for outcome in outcomes if isinstance(outcome, tuple)]
        found = await self.catalogue.documents.results(scope, ids)
        results = []
        for outcome in outcomes:
            if isinstance(outcome, IngestResult):
                results.append(outcome)
            elif outcome[0] in found:
                result = found[outcome[0]]
                results.append(_unchanged(result) if outcome[1] else result)
        return results

    async def search(
        self,
        text: str,
        *,
        scope: Scope,
        k: int = 5,
        mode: Mode = "hybrid",
        collections: frozenset[str] | None = None,
    ) -> Found:
        """Return the best k passages that the scope may see, and record the trace."""
        query = Query(text=clean(text), k=k, mode=mode, collections=collections)
        retrieval = await retrieve(self.answer_parts.retrieve, scope, query)
        trace = Trace(
            id=TraceId(new_uuid()),
            kind="search",
            principal=scope.principal,
            documents=tuple({p.source.document_id for p in retrieval.passages}),
            created_at=self.answer_parts.retrieve.clock.now(),
            record=retrieval_record(retrieval)
            | {"versions": {"space": self.ingest_parts.embedder.space.name}},
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
    ) -> AsyncGenerator[Event, None]:
        """Yield what was found, then each checked sentence, then the whole answer."""
        return answer(
            self.answer_parts,
            scope,
            clean(question),
            collections=collections,
            conversation_id=conversation_id,
        )

    async def ask(
        self,
        question: str,
        *,
        scope: Scope,
        collections: frozenset[str] | None = None,
        conversation_id: ConversationId | None = None,
    ) -> Answer:
        """Return a checked answer, or an abstention."""
        events = self.stream(
            question, scope=scope, collections=collections, conversation_id=conversation_id
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    return event.answer
        raise RuntimeError("the answer had no end")


def _not_accepted(uri: str, state: State, reason: str) -> IngestResult:
    return IngestResult(
        id=None, uri=uri, title=uri, status=state, reason=reason, revision=0, chunks=0,
        new_chunks=0, embedded=0, language="",
    )  # fmt: skip


def _unchanged(result: IngestResult) -> IngestResult:
    """What was known already keeps its verdict, unless it was ready: then nothing was done."""
    values = asdict(result) | {"new_chunks": 0, "embedded": 0}
    if result.status in (State.READY, State.PARTIAL):
        values["status"] = "unchanged"
    return IngestResult(**values)


@asynccontextmanager
async def open_catalogue(loaded: Loaded, *, tell: Tell = silent) -> AsyncIterator[Catalogue]:
    """Open the database, bring its schema up to date, check its walls."""
    database = loaded.settings.database
    server: embedded.Server | None = None
    if database.url is None:
        server = await asyncio.to_thread(embedded.start, loaded.home, progress=tell)
        url = owner_url = server.url
        login = None
    else:
        url = database.url.get_secret_value()
        owner_url = database.owner_url.get_secret_value() if database.owner_url else url
        login = _login(url) if database.owner_url else None
    try:
        await asyncio.to_thread(migrate, owner_url, login=login)
        async with open_pool(url, size=database.pool_size) as pool:
            await check_isolation(pool)
            yield Catalogue(
                documents=PostgresDocuments(pool),
                records=PostgresRecords(pool),
                blobs=FolderBlobs(loaded.home / "blobs"),
                jobs=PostgresJobs(pool),
                pool=pool,
            )
    finally:
        if server is not None:
            server.close()


def _login(url: str) -> str:
    login = conninfo_to_dict(url).get("user")
    if not login:
        raise DatabaseAway(
            "DATABASE_URL names no login", hint="with DATABASE_OWNER_URL both need one"
        )
    return str(login)


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
        local = asyncio.create_task(asyncio.to_thread(_load_local, loaded, tell))
        written = asyncio.create_task(asyncio.to_thread(_make_language_model, settings))
        stack.push_async_callback(_close_models, local, written)
        catalogue = await stack.enter_async_context(open_catalogue(loaded, tell=tell))
        encoder, language_model = await local, await written
        await warming
        embedder: Embedder = encoder
        if settings.models.embedding != LOCAL_E5:
            remote = await _open_remote(settings)
            stack.push_async_callback(remote.aclose)
            embedder = remote
        parser = ChildParser()
        stack.push_async_callback(parser.aclose)
        yield await _compose(settings, catalogue, encoder, embedder, language_model, parser)


def _load_local(loaded: Loaded, tell: Tell) -> LocalE5:
    """Load the local model: the embedder by default, and always the tokenizer and the encoder of
    token states, so that ranking and quoting do not depend on a provider."""
    return LocalE5.load(model_files(loaded, tell), threads=loaded.settings.models.threads)


def model_files(loaded: Loaded, tell: Tell = silent) -> ModelFiles:
    """Return the local model's files: those of the settings' folder, else our own, which are made
    at first. Raises: ModelUnusable."""
    folder = loaded.settings.models.folder
    if folder is not None:
        return open_model(folder)
    return ensure_model(loaded.home / "models" / "multilingual-e5-small", progress=tell)


def _make_language_model(settings: Settings) -> PydanticAiModel | None:
    name = settings.models.language
    if not name:
        return None
    key, address = _credentials(settings, name)
    return make_language_model(name, api_key=key, base_url=address)


async def _open_remote(settings: Settings) -> RemoteEmbedder:
    name = settings.models.embedding
    key, address = _credentials(settings, name)
    return await open_embedder(name, BpeCounter(), api_key=key, base_url=address)


def _credentials(settings: Settings, name: str) -> tuple[str | None, str | None]:
    """Return the key and the address that the settings hold for a `provider:model`."""
    provider, _ = split_name(name)
    providers = settings.providers
    key = {
        "openai": providers.openai_api_key,
        "anthropic": providers.anthropic_api_key,
    }.get(provider)
    address = providers.openai_base_url if provider == "openai" else None
    return (key.get_secret_value() if key else None), address


async def _close_models(
    local: asyncio.Task[LocalE5], written: asyncio.Task[PydanticAiModel | None]
) -> None:
    """Close what was opened, also where opening something else failed meanwhile."""
    await asyncio.wait({local, written})
    if not local.cancelled() and local.exception() is None:
        local.result().close()
    if not written.cancelled() and written.exception() is None:
        model = written.result()
        if model is not None:
            await model.aclose()


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
    largest = min(local.max_tokens, embedder.max_tokens) - CONTEXT_TOKENS
    chunker = StructureChunker(min(settings.chunking.size, largest))
    clock = SystemClock()
    retrieve_parts = RetrieveParts(
        store=catalogue.documents,
        index=PostgresIndex(catalogue.pool, generation),
        embedder=embedder,
        clock=clock,
    )
    return App(
        catalogue=catalogue,
        ingest_parts=IngestParts(
            revisions=PostgresRevisions(catalogue.pool, generation.id),
            blobs=catalogue.blobs,
            parser=parser,
            chunker=chunker,
            tokenizer=local,
            embedder=embedder,
            generation=generation,
        ),
        answer_parts=AnswerParts(
            retrieve=retrieve_parts,
            records=catalogue.records,
            encoder=local,
            language_model=language_model,
            counter=BpeCounter(),
            temperature=settings.answer.temperature,
            show_unsupported=settings.answer.show_unsupported,
        ),
        fingerprint=fingerprint(parser, chunker, embedder.space),
    )
