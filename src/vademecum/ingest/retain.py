"""What is kept no longer? Old revisions, told changes, old traces and answers, unnamed bytes."""

from dataclasses import dataclass, replace
from datetime import timedelta

from vademecum.model.ids import Tenant
from vademecum.model.principal import Scope
from vademecum.ports.blobs import BlobStore
from vademecum.ports.clock import Clock
from vademecum.ports.store import DocumentStore, UpkeepStore

# A blob that nobody names may belong to a document that is being accepted right now.
_UNNAMED_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long a revision stays that is in force no more, or never was, and its original with it;
    and how long an event of the outbox stays, a trace, and the build of the index that was read
    before the current one. None is for ever."""

    revisions: timedelta | None
    changes: timedelta | None
    traces: timedelta | None
    generations: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainParts:
    """What retention needs from outside."""

    upkeep: UpkeepStore
    documents: DocumentStore
    blobs: BlobStore
    clock: Clock
    keep: Keep


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """What one pass let go."""

    revisions: int = 0
    changes: int = 0
    traces: int = 0
    answers: int = 0
    blobs: int = 0


async def retire(parts: RetainParts) -> Retired:
    """Delete what has been kept long enough, of every tenant. Raises: DatabaseAway."""
    done = Retired()
    for tenant in await parts.upkeep.tenants():
        done = await _retire(parts, tenant, done)
    return done


async def _retire(parts: RetainParts, tenant: Tenant, done: Retired) -> Retired:
    now = parts.clock.now()
    blobs = await parts.blobs.aged(tenant, now - _UNNAMED_FOR)
    if parts.keep.revisions is not None:
        named = await parts.upkeep.retire(tenant, now - parts.keep.revisions)
        done = replace(done, revisions=done.revisions + len(named))
        blobs += named
    if parts.keep.changes is not None:
        count = await parts.upkeep.forget_changes(tenant, now - parts.keep.changes)
        done = replace(done, changes=done.changes + count)
    if parts.keep.traces is not None:
        count = await parts.upkeep.forget_traces(tenant, now - parts.keep.traces)
        done = replace(done, traces=done.traces + count)
    count = await parts.upkeep.forget_answers(tenant)
    done = replace(done, answers=done.answers + count)
    async with parts.documents.unnamed(Scope.for_operator(tenant), blobs) as unnamed:
        deleted = sum([await parts.blobs.delete(tenant, key) for key in unnamed])
    return replace(done, blobs=done.blobs + deleted)
