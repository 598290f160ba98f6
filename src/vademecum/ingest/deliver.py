"""How do sources come in, and when are they done? Read `deliver`.

Each is accepted in the order of its arrival, and worked on while the next ones are still read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial

from vademecum.errors import QueueFull, VademecumError
from vademecum.failpoint import step
from vademecum.ingest.accept import check, fingerprint
from vademecum.ingest.pipeline import IngestParts, ingest_revision
from vademecum.model.document import Deletion, IngestResult, Refused, Source, State
from vademecum.model.ids import RevisionId, Tenant
from vademecum.model.principal import Scope
from vademecum.ports.blobs import content_key
from vademecum.ports.jobs import Jobs, Work
from vademecum.ports.store import Accepted, DocumentStore, Outdated

_POLL_SECONDS = 0.3
_MOST_ASKED = 200
Count = Callable[[int, int], None]
Remove = Callable[[Scope, Deletion], Awaitable[IngestResult]]
Outcome = Accepted | IngestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverParts:
    """What a delivery needs from outside."""

    documents: DocumentStore
    jobs: Jobs
    ingest: IngestParts
    remove: Remove
    settle: Callable[[Tenant], Awaitable[None]]
    work: Work | None = None
    """What is done with each revision, where it is not `ingest` alone."""

    def fingerprint(self, source: Source) -> str:
        """Return how a source would be ingested now. Raises: InvalidSetting."""
        ingest = self.ingest
        return fingerprint(
            ingest.parser, ingest.chunking, ingest.embedder.space, source.collection, source.chunker
        )


async def deliver(
    parts: DeliverParts,
    sources: Iterable[Source | Refused | Deletion],
    scope: Scope,
    *,
    wait: bool,
    on_progress: Count,
) -> list[IngestResult]:
    """Accept sources and, with `wait`, work until each is searchable or ended.

    Results come in the order of the sources, but for one that was deleted meanwhile. One bad
    document costs only itself. Raises: Forbidden, for labels or a collection beyond `scope`;
    QueueFull, without `wait`.
    """
    outcomes: list[Outcome] = []
    coming = iter(sources)
    async with _working(parts) as worker:
        # Each may be read from a disk only now, and that must not hold up the event loop.
        while (source := await asyncio.to_thread(next, coming, None)) is not None:
            outcomes.append(await _take(parts, source, scope, worker if wait else None))
            worker.check()
            on_progress(0, len(outcomes))
        waiting = _waiting(outcomes) if wait else []
        while waiting:
            # They are worked on in about this order, so a look at the first is enough.
            asked, later = waiting[:_MOST_ASKED], waiting[_MOST_ASKED:]
            still = await _still(parts, asked, scope)
            waiting = still + later
            on_progress(len(outcomes) - len(waiting), len(outcomes))
            worker.check()
            if len(still) == len(asked):
                await asyncio.sleep(_POLL_SECONDS)
    if wait and _waiting(outcomes):
        await parts.settle(scope.tenant)
    return await _results(parts, outcomes, scope)


async def _take(
    parts: DeliverParts, source: Source | Refused | Deletion, scope: Scope, worker: "_Worker | None"
) -> Outcome:
    if isinstance(source, Refused):
        return ended(source.uri, source.state, source.reason)
    if isinstance(source, Deletion):
        return await parts.remove(scope, source)
    with step("receive"):
        try:
            check(source)
            asked = parts.fingerprint(source)
        except VademecumError as error:
            return ended(source.uri, State.REJECTED, str(error))
    while True:
        try:
            accepted = await _accept(parts, source, asked, scope)
        except QueueFull:
            if worker is None:
                raise
            worker.begin()
            await asyncio.sleep(_POLL_SECONDS)  # our own work makes room
            continue
        if worker and isinstance(accepted, Accepted) and not accepted.unchanged:
            worker.begin()
        return accepted


async def _accept(parts: DeliverParts, source: Source, asked: str, scope: Scope) -> Outcome:
    blobs = parts.ingest.blobs
    key = await asyncio.to_thread(content_key, source.content)
    known = await parts.documents.known(scope, source, key, asked)
    if known is not None and await blobs.has(scope.tenant, key):
        return known
    with step("blob"):
        key = await blobs.put(scope.tenant, source.content)
    with step("accept"):
        accepted = await parts.documents.accept(scope, source, key, asked)
    if isinstance(accepted, Outdated):
        return ended(source.uri, "unchanged", outdated_reason(accepted))
    # Its last other document may have been deleted between the two; now nobody deletes it.
    if not await blobs.has(scope.tenant, key):
        await blobs.put(scope.tenant, source.content)
    return accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """Work beside the deliveries: `begin` it where there is some; `check` raises what it raised."""

    begin: Callable[[], None]
    check: Callable[[], None]


@asynccontextmanager
async def _working(parts: DeliverParts) -> AsyncIterator[_Worker]:
    """Do what waits in the queue, ours and others', once it was begun and while the block runs."""
    work = parts.work or partial(ingest_revision, parts.ingest)
    begun = asyncio.Event()
    over = False

    async def drain() -> None:
        await begun.wait()
        # A worker that is cancelled ends its jobs and returns as if nothing had been, so the
        # cancellation alone would not end this loop.
        while True:
            await parts.jobs.drain({"ingest": work})
            if over:
                return
            await asyncio.sleep(_POLL_SECONDS)
            await parts.jobs.rescue()

    draining = asyncio.create_task(drain())

    def check() -> None:
        if draining.done():
            draining.result()

    try:
        yield _Worker(begin=begun.set, check=check)
    finally:  # also where the caller is cancelled: no work outlives it
        over = True
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)


def _waiting(outcomes: Sequence[Outcome]) -> list[RevisionId]:
    ids = [o.revision_id for o in outcomes if isinstance(o, Accepted) and not o.unchanged]
    return list(dict.fromkeys(ids))


async def _still(
    parts: DeliverParts, revisions: Sequence[RevisionId], scope: Scope
) -> list[RevisionId]:
    """Return those that are not ended. One that is gone was deleted meanwhile."""
    results = await parts.documents.results(scope, revisions)
    return [key for key in revisions if key in results and results[key].status == State.ACCEPTED]


async def _results(
    parts: DeliverParts, outcomes: Sequence[Outcome], scope: Scope
) -> list[IngestResult]:
    ids = [outcome.revision_id for outcome in outcomes if isinstance(outcome, Accepted)]
    found = await parts.documents.results(scope, ids)
    results = []
    for outcome in outcomes:
        if isinstance(outcome, IngestResult):
            results.append(outcome)
        elif outcome.revision_id in found:
            result = found[outcome.revision_id]
            results.append(_unchanged(result) if outcome.unchanged else result)
    return results


def outdated_reason(outdated: Outdated) -> str:
    return f"version {outdated.version} is not newer than {outdated.known}"


def ended(uri: str, status: str, reason: str) -> IngestResult:
    """Return the result of what came to an end without a revision of its own."""
    return IngestResult(
        id=None, uri=uri, title=uri, status=status, reason=reason, revision=0, chunks=0,
        new_chunks=0, embedded=0, language="",
    )  # fmt: skip


def _unchanged(result: IngestResult) -> IngestResult:
    """What was known already keeps its verdict, unless it was ready: then nothing was done."""
    values = asdict(result) | {"new_chunks": 0, "embedded": 0}
    if result.status in (State.READY, State.PARTIAL):
        values["status"] = "unchanged"
    return IngestResult(**values)
