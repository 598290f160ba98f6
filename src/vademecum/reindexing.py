"""How is the index changed while it is read? Read `reindex` and `roll_back`.

Another build is made beside the one that is read, judged, and switched to in one transaction. The
one before stays whole for as long as it can be gone back to.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from vademecum.adapters.clock import SystemClock
from vademecum.app import App, ingest_item
from vademecum.catalogue import Catalogue
from vademecum.composing import AVERAGE_LENGTH, FOLLOW_SECONDS, app_over, reopened
from vademecum.errors import EmbeddingInvalid, GateRefused, ReindexBusy, UsageError
from vademecum.evaluate.gate import Compared, compare
from vademecum.evaluate.golden import GoldenQuestion
from vademecum.evaluate.metrics import recall
from vademecum.evaluate.plan import Size, price, seconds
from vademecum.evaluating import find_document, sight_of
from vademecum.ingest.accept import fingerprint
from vademecum.ingest.deliver import Count
from vademecum.ingest.reindex import BuildParts, Built, build
from vademecum.memory.turns import index_turns
from vademecum.memory.upkeep import index_waiting
from vademecum.model.document import Document
from vademecum.model.ids import Tenant
from vademecum.model.index import BuildProgress, GenerationRecord, IndexGeneration
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.opening import Tell, silent
from vademecum.ports.embedder import Embedder
from vademecum.postgres.generation.store import OPEN, PostgresGenerations, check_readable
from vademecum.postgres.graph import GRAPH_FROM, PostgresGraph
from vademecum.postgres.upkeep import PostgresUpkeep
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.settings import LOCAL_E5, Loaded
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.wiring import opened

# What happened, by name, with its facts.
Event = Callable[[str, Mapping[str, Any]], None]
# Scores the build that an App reads, question by question: id -> 0..1, higher is better.
Judge = Callable[[App], Awaitable[Mapping[str, float]]]
# A look finds what came in during the look before; that is less each time.
_MOST_LOOKS = 20
# Documents that are judged, of passages that may be several of one.
_JUDGED, _MOST_PASSAGES = 10, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """What a change of the index needs: the model that it is for (`embedder`, opened by `name`),
    what the settings name (`setting`), and how an App of a build is made."""

    catalogue: Catalogue
    setting: str
    name: str
    embedder: Embedder
    over: Callable[[IndexGeneration, Embedder], App]
    reopen: Callable[[GenerationRecord], Awaitable[App]]
    event: Event = field(default=lambda _name, _facts: None)
    settle_seconds: float = FOLLOW_SECONDS + 1

    @property
    def generations(self) -> PostgresGenerations:
        return PostgresGenerations(self.catalogue.pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a build has to do: chunks, memories and turns that it lacks, the tokens of the chunks
    whose text no build of the same space has, and what it takes: seconds on two cores with the
    local model, None for another one; the price where one is known. `resumed` tells that it was
    begun before."""

    chunks: int
    memories: int
    turns: int
    tokens: int
    seconds: float | None
    price: float | None
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """What came of it. `before` is the generation that can be gone back to; `dropped` counts the
    rows of those that went, by table."""

    generation: int
    before: int | None
    built: Built
    compared: Compared | None
    dropped: Mapping[str, int]


@asynccontextmanager
async def open_reindexing(
    loaded: Loaded, *, embedding: str | None = None, event: Event, tell: Tell = silent
) -> AsyncIterator[Reindexing]:
    """Open what a change of the index needs, also where the index cannot be read with what the
    settings say now. `embedding` names the model, else the settings do."""
    async with opened(loaded, tell=tell) as parts:
        setting = parts.settings.models.embedding
        name = embedding or setting
        yield Reindexing(
            catalogue=parts.catalogue,
            setting=setting,
            name=name,
            embedder=await parts.embedder(name),
            over=partial(app_over, parts),
            reopen=partial(reopened, parts),
            event=event,
        )


async def estimate(work: Reindexing, per_million: float | None = None) -> Estimate:
    """Return what `reindex` would have to do now."""
    records = await work.generations.all()
    begun = _wanted(work, records)
    # No generation is 0: of it everything is lacking.
    lacks = await work.generations.progress(begun.generation.id if begun else 0)
    chunks = lacks.lacking["chunks"]
    known = any(
        one.generation.space == work.embedder.space and one.state not in OPEN for one in records
    )
    size = Size(
        chunks=max(chunks, 1),
        dimension=work.embedder.space.dimension,
        tokens=max(1, round(lacks.tokens / max(chunks, 1))),
    )
    took = seconds(size, graph=lacks.held["chunks"] >= GRAPH_FROM)
    local = work.name == LOCAL_E5
    spent = (0.0 if known else took.embed) + took.store + took.graph
    return Estimate(
        chunks=chunks,
        memories=lacks.lacking["memories"],
        turns=lacks.lacking["turns"],
        tokens=0 if known else lacks.tokens,
        seconds=(spent if chunks else 0.0) if local or known else None,
        price=None
        if per_million is None or local
        else (price(size, per_million) if chunks and not known else 0.0),
        resumed=begun is not None,
    )


async def reindex(work: Reindexing, judge: Judge | None = None) -> Reindexed:
    """Build the index for the model and this release's analyser, beside the one that is read, and
    switch to it once it lacks nothing and, with `judge`, is not worse beyond chance.

    Broken off anywhere, the next call goes on. Raises: ReindexBusy where another one builds,
    GateRefused, EmbeddingInvalid; what embedding raises.
    """
    generations = work.generations
    async with generations.alone():
        current = await generations.current()
        if current is None:
            return await _first(work)
        record, dropped = await _begin(work)
        candidate = record.generation
        app = work.over(candidate, work.embedder)
        work.event("begun", {"generation": candidate.id, "dropped": dropped})
        built, compared = Built(), None
        for _ in range(_MOST_LOOKS):
            built += await _filled(work, app)
            lacks = await generations.progress(candidate.id)
            if not lacks.whole:
                _check_going_on(built, lacks)
                continue
            await generations.set_state(candidate.id, "building", "ready")
            if app.graph is not None:
                await app.graph.tend()
            if judge is not None and compared is None:
                compared = await _judged(work, judge, current, app)
                continue  # it took its time, and something may have come in
            dropped = _added(dropped, await _drop_state(work.catalogue, "retired"))
            if await generations.switch(candidate.id, work.setting):
                return await _ended(work, app, current, built, compared, dropped)
    raise ReindexBusy(
        "more came in than could be indexed beside it", hint="run it again when less is ingested"
    )


async def roll_back(work: Reindexing) -> Reindexed:
    """Go back to the build that was read before the last switch, with all that came in since.

    Raises: UsageError where there is none, ReindexBusy, SpaceMismatch where this release or the
    settings cannot read it; what embedding raises.
    """
    generations = work.generations
    async with generations.alone():
        records = await generations.all()
        # One that was taken up and not switched to: this was broken off.
        earlier = [r for r in records if r.state == "retired"] or [
            r for r in records if r.state == "ready" and r.switched_at is not None
        ]
        current = next((r for r in records if r.state == "current"), None)
        if not earlier or current is None:
            raise UsageError(
                "there is no earlier build of the index", hint="it was dropped, or never switched"
            )
        dropped: Mapping[str, int] = {}
        if earlier[0].state == "retired":
            dropped = await _drop_state(work.catalogue, *OPEN)
        app = await work.reopen(earlier[0])
        check_readable(earlier[0].generation, app.ingest_parts.embedder.space, ANALYSER_VERSION)
        own = earlier[0].generation
        await generations.set_state(own.id, "retired", "ready")
        built = Built()
        for _ in range(_MOST_LOOKS):
            # The switch itself looks whether anything lacks: mostly nothing came in since.
            if await generations.switch(own.id, work.setting):
                return await _ended(work, app, current, built, None, dropped)
            built += await _filled(work, app)
            _check_going_on(built, await generations.progress(own.id))
    raise ReindexBusy(
        "more came in than could be indexed beside it", hint="run it again when less is ingested"
    )


async def divide(app: App, chunker: str | None, on_progress: Count) -> int:
    """Divide every document again by `chunker`, None for what the settings say, each from its
    original by the line that every document takes; return how many were queued.

    Each is published whole, and its old chunks are found until then. Broken off, the next call goes
    on. Raises: DatabaseAway; what fails of a document is told by `vade jobs list`.
    """
    jobs, parts = app.catalogue.jobs, app.ingest_parts
    queued = 0
    for tenant in await app.reconcile_parts.upkeep.tenants():
        scope = Scope.for_operator(tenant)
        for collection in await app.catalogue.documents.collections(scope):
            asked = fingerprint(
                parts.parser, parts.chunking, parts.embedder.space, collection, chunker
            )
            queued += await jobs.divide(scope, collection, chunker, asked)
    done = 0

    async def work(tenant: Tenant, item: UUID) -> None:
        nonlocal done
        await ingest_item(app, tenant, item)
        done += 1
        on_progress(min(done, queued), queued)

    await jobs.drain({"ingest": work})
    return queued


async def drop_old(catalogue: Catalogue) -> Mapping[str, int]:
    """Drop every build that is not read: the earlier one, and one that was not finished. Return the
    rows of each table that went. Raises: ReindexBusy."""
    async with PostgresGenerations(catalogue.pool).alone():
        return await _drop_state(catalogue, "retired", *OPEN)


async def drop_retired(catalogue: Catalogue, keep: timedelta | None) -> Mapping[str, int]:
    """Drop the earlier build once it was kept so long; None is for ever."""
    if keep is None:
        return {}
    generations = PostgresGenerations(catalogue.pool)
    since = SystemClock().now() - keep
    old = [r for r in await generations.all() if r.state == "retired"]
    if not any(r.switched_at is not None and r.switched_at < since for r in old):
        return {}
    try:
        async with generations.alone():
            return await _drop_state(catalogue, "retired")
    except ReindexBusy:
        return {}


def golden_judge(asked: Sequence[GoldenQuestion], tenant: str) -> Judge:
    """Return what judges a build by recall@10 of documents, question by question, of those that
    the sources answer. It raises UsageError for a document that is not there."""
    scope = Scope.for_operator(tenant)

    async def judge(app: App) -> Mapping[str, float]:
        documents = await app.catalogue.documents.all(scope)
        parts = app.answer_parts.retrieve
        return {
            one.id: await _recall(parts, one, documents, scope) for one in asked if one.relevant
        }

    return judge


async def _recall(
    parts: RetrieveParts, asked: GoldenQuestion, documents: Sequence[Document], scope: Scope
) -> float:
    relevant = {
        find_document(documents, one.document, f"{asked.place}: relevant[{at}]").id
        for at, one in enumerate(asked.relevant)
    }
    query = Query(
        text=asked.question, k=_MOST_PASSAGES, mode="hybrid", collections=None, as_of=asked.as_of
    )
    found = await retrieve(parts, sight_of(asked, scope), query)
    if found.degraded:
        raise EmbeddingInvalid(
            f"a question could not be searched whole ({', '.join(found.degraded)})",
            hint="check the model, then run it again",
        )
    hits = [passage.source.document_id for passage in found.passages]
    return recall(hits, relevant, _JUDGED) or 0.0


async def _first(work: Reindexing) -> Reindexed:
    """Nothing was indexed yet: make the build that is read."""
    await work.generations.add(
        work.embedder.space, ANALYSER_VERSION, AVERAGE_LENGTH, state="current", embedding=work.name
    )
    made = await work.generations.current()
    assert made is not None
    own = made.generation.id
    return Reindexed(generation=own, before=None, built=Built(), compared=None, dropped={})


def _wanted(work: Reindexing, records: Sequence[GenerationRecord]) -> GenerationRecord | None:
    """Return the build that was begun for the same model and analyser."""
    for one in records:
        same = one.generation.space == work.embedder.space and one.embedding == work.name
        if one.state in OPEN and same and one.generation.analyser == ANALYSER_VERSION:
            return one
    return None


async def _begin(work: Reindexing) -> tuple[GenerationRecord, Mapping[str, int]]:
    """Return the build to go on with, begun now where there is none; one that was begun for
    something else is dropped before."""
    dropped: Mapping[str, int] = {}
    found = _wanted(work, await work.generations.all())
    if found is None:
        dropped = await _drop_state(work.catalogue, *OPEN)
        await work.generations.add(
            work.embedder.space,
            ANALYSER_VERSION,
            AVERAGE_LENGTH,
            state="building",
            embedding=work.name,
        )
        found = _wanted(work, await work.generations.all())
    assert found is not None
    return found, dropped


async def _filled(work: Reindexing, app: App) -> Built:
    """Give the build of an App what it lacks, and tell how far it is."""
    own = app.ingest_parts.generation
    lacks = await work.generations.progress(own.id)
    lacking = max(lacks.lacking["chunks"], lacks.lacking["words"])
    total = lacks.held["chunks"]

    def told(done: int) -> None:
        work.event("progress", {"done": min(total, total - lacking + done), "total": total})

    told(0)
    return await build(await _build_parts(work, app), told)


async def _build_parts(work: Reindexing, app: App) -> BuildParts:
    own = app.ingest_parts.generation
    generations = work.generations
    same = [r.generation.id for r in await generations.all() if r.generation.space == own.space]
    upkeep = PostgresUpkeep(work.catalogue.pool, own.id)

    async def turns(tenant: Tenant) -> None:
        for conversation in await generations.lacking_conversations(tenant, own.id):
            await index_turns(app.tend_parts.turns, tenant, conversation)

    async def known(tenant: Tenant, texts: Sequence[str]) -> Mapping[str, Any]:
        return await generations.known(tenant, texts, same)

    return BuildParts(
        generation=own,
        upkeep=upkeep,
        encoders=app.ingest_parts.encoders,
        known=known,
        memories=partial(index_waiting, app.memory_upkeep_parts),
        turns=turns,
        fold=upkeep.fold,
        frame=upkeep.frame,
    )


def _check_going_on(built: Built, lacks: BuildProgress) -> None:
    """Raise EmbeddingInvalid where a look filled nothing, and yet everything is lacking."""
    held, lacking = lacks.held["chunks"], lacks.lacking["chunks"]
    if held and held == lacking and not built.chunks:
        raise EmbeddingInvalid(
            "the model gave no vector at all", hint="check that it answers, then run it again"
        )


async def _judged(work: Reindexing, judge: Judge, current: GenerationRecord, app: App) -> Compared:
    """Ask both builds the same. Raises: GateRefused where the candidate is worse beyond chance."""
    before = await work.reopen(current)
    compared = compare(await judge(before), await judge(app))
    work.event("compared", asdict(compared) | {"worse": compared.worse})
    if compared.worse:
        raise GateRefused(
            f"the new build is worse: {compared.candidate:.3f} against {compared.current:.3f}"
            f" ({compared.low:+.3f} to {compared.high:+.3f})",
            hint="nothing was switched; `vade reindex --drop-old` drops it",
        )
    return compared


async def _ended(
    work: Reindexing,
    app: App,
    before: GenerationRecord,
    built: Built,
    compared: Compared | None,
    dropped: Mapping[str, int],
) -> Reindexed:
    """Wait until every process has gone over, and fill in what they wrote meanwhile."""
    own = app.ingest_parts.generation.id
    work.event("switched", {"generation": own, "before": before.generation.id})
    await asyncio.sleep(work.settle_seconds)
    if not (await work.generations.progress(own)).whole:
        built += await build(await _build_parts(work, app), lambda _done: None)
    return Reindexed(
        generation=own,
        before=before.generation.id,
        built=built,
        compared=compared,
        dropped=dropped,
    )


async def _drop_state(catalogue: Catalogue, *states: str) -> Mapping[str, int]:
    """Drop the builds in these states, with their graphs."""
    generations = PostgresGenerations(catalogue.pool)
    counts: Mapping[str, int] = {}
    for one in await generations.all():
        if one.state in states:
            if catalogue.owner_url:
                await PostgresGraph(catalogue.owner_url, one.generation).drop()
            counts = _added(counts, await generations.drop(one.generation.id))
    return counts


def _added(counts: Mapping[str, int], more: Mapping[str, int]) -> Mapping[str, int]:
    return {name: counts.get(name, 0) + more.get(name, 0) for name in {**counts, **more}}
