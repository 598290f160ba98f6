"""What keeps memories right when nobody asks? Read `index_waiting` and `let_go`.

Neither touches what is pinned or confirmed, and neither loses what is changed meanwhile.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway, TextTooLong
from vademecum.memory.compare import fact, relation
from vademecum.memory.recall import MemoryParts
from vademecum.memory.remember import keys_of
from vademecum.memory.words import keyword_row
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import MemoryId, Tenant
from vademecum.model.memory import Kind, Memory
from vademecum.model.principal import Scope
from vademecum.ports.embedder import embedded
from vademecum.ports.memory import MemoryIndexRow, MemoryUpkeep

_PAGE = 128
_BEFORE_ALL = MemoryId(UUID(int=0))
TRIVIA_IMPORTANCE = 0.3
TRIVIA_UNUSED = timedelta(days=180)
# What was changed so lately may be the double of something.
_LATELY = timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKeep:
    """How long memories of a kind stay untouched before they are erased (a kind that is not named
    stays for ever), and how long expired ones do."""

    kinds: Mapping[Kind, timedelta]
    expired: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpkeepParts:
    """What the upkeep of memories needs from outside."""

    memory: MemoryParts
    upkeep: MemoryUpkeep
    keep: MemoryKeep


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What one pass indexed; `waiting_memories` still lack a vector, since no model answered."""

    indexed_memories: int = 0
    waiting_memories: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LetGo:
    """What one pass merged, put away, and erased."""

    merged_memories: int = 0
    archived_memories: int = 0
    expired_memories: int = 0
    old_memories: int = 0


async def index_waiting(parts: MemoryUpkeepParts) -> Indexed:
    """Index the memories of every tenant that lack a row or a vector. Raises: DatabaseAway."""
    done = Indexed()
    for tenant in await parts.upkeep.tenants():
        after = _BEFORE_ALL
        while page := await parts.upkeep.gaps(tenant, after, _PAGE):
            after = page[-1].id
            done = await _index(parts, tenant, page, done)
    return done


async def _index(
    parts: MemoryUpkeepParts, tenant: Tenant, page: list[Memory], done: Indexed
) -> Indexed:
    vectors, failed = await _vectors(parts.memory, page)
    for memory in page:
        scope = Scope.for_principal(tenant, memory.principal, frozenset())
        average = parts.memory.average_length
        row = MemoryIndexRow(
            keyword=keyword_row(memory.text, memory.language, scope, average),
            vector=vectors.get(memory.id),
        )
        await parts.upkeep.fill(tenant, memory, row, failed.get(memory.id))
    return replace(
        done,
        indexed_memories=done.indexed_memories + len(vectors),
        waiting_memories=done.waiting_memories + len(page) - len(vectors) - len(failed),
    )


async def _vectors(
    parts: MemoryParts, page: list[Memory]
) -> tuple[dict[MemoryId, FloatArray], dict[MemoryId, str]]:
    """Return a vector each, and why some will never have one; neither where no model answers. One
    bad text costs only itself."""
    try:
        rows = await embedded(parts.embedder, [memory.text for memory in page], "passage")
    except (EmbeddingInvalid, TextTooLong) as error:
        if len(page) == 1:
            return {}, {page[0].id: str(error)}
        middle = len(page) // 2
        first, second = await asyncio.gather(
            _vectors(parts, page[:middle]), _vectors(parts, page[middle:])
        )
        return first[0] | second[0], first[1] | second[1]
    except (ModelUnusable, ServiceAway):
        return {}, {}
    return {memory.id: row for memory, row in zip(page, rows, strict=True)}, {}


async def let_go(parts: MemoryUpkeepParts) -> LetGo:
    """Merge doubles, put trivia away, erase what is past its time, of every tenant.

    Raises: DatabaseAway; what was done before stays done.
    """
    done = LetGo()
    now = parts.memory.clock.now()
    for tenant in await parts.upkeep.tenants():
        merged = await _consolidate(parts, tenant)
        archived = await parts.upkeep.archive_trivia(tenant, TRIVIA_IMPORTANCE, now - TRIVIA_UNUSED)
        expired = await parts.upkeep.erase_expired(tenant, now - parts.keep.expired)
        old = [
            await parts.upkeep.erase_old(tenant, kind, now - span)
            for kind, span in parts.keep.kinds.items()
        ]
        done = LetGo(
            merged_memories=done.merged_memories + merged,
            archived_memories=done.archived_memories + archived,
            expired_memories=done.expired_memories + expired,
            old_memories=done.old_memories + sum(old),
        )
    return done


async def _consolidate(parts: MemoryUpkeepParts, tenant: Tenant) -> int:
    """Supersede each late memory that an older one says already; return how many."""
    since = parts.memory.clock.now() - _LATELY
    merged = 0
    after = _BEFORE_ALL
    while page := await parts.upkeep.late(tenant, since, after, _PAGE):
        after = page[-1].id
        for memory in page:
            scope = Scope.for_principal(tenant, memory.principal, frozenset())
            own = fact(memory.text, memory.language)
            keys = keys_of(scope, own, memory.language)
            known = await parts.memory.store.sharing(scope, memory.persona, keys)
            older = [
                other
                for other in known
                if other.id < memory.id
                and other.state == "active"
                and relation(own, fact(other.text, other.language)) in ("same", "less")
            ]
            if older:
                merged += await parts.upkeep.merge(tenant, memory, older[0])
    return merged
