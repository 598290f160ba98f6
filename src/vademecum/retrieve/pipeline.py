"""How does a query become passages? Read `retrieve` from top to bottom."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.model.passage import Hit, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.ports.clock import Clock
from vademecum.ports.embedder import Embedder
from vademecum.ports.index import Index
from vademecum.ports.store import DocumentStore
from vademecum.retrieve.abstain import judge
from vademecum.retrieve.confirm import confirm
from vademecum.retrieve.fuse import fuse
from vademecum.retrieve.search import KeywordHits, dense_leg, keyword_leg
from vademecum.text.language import UNKNOWN, detect

CANDIDATES = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveParts:
    """What the line needs from outside."""

    store: DocumentStore
    index: Index
    embedder: Embedder
    clock: Clock


async def retrieve(parts: RetrieveParts, scope: Scope, query: Query) -> Retrieval:
    """Search both legs at once, fuse, confirm, judge. A leg that fails is named in `degraded`."""
    timings: dict[str, float] = {}
    degraded: list[str] = []
    narrowed = _narrow(scope, query)
    candidates = max(CANDIDATES, 2 * query.k)

    async def leg(name: str, work: Awaitable[T], empty: T) -> T:
        started = parts.clock.monotonic()
        try:
            return await work
        except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
            degraded.append(f"{name}: {error.code}")
            return empty
        finally:
            timings[name] = 1000 * (parts.clock.monotonic() - started)

    async def dense() -> list[Hit]:
        return await dense_leg(parts.index, parts.embedder, narrowed, query, candidates)

    async def keyword() -> KeywordHits:
        held = await parts.store.languages(narrowed)
        languages = held | ({detect(query.text, held)} - {UNKNOWN})
        return await keyword_leg(parts.index, narrowed, query, languages, candidates)

    no_hits = KeywordHits(hits=(), shares={})
    asked = bool(query.text.strip()) and query.k > 0
    dense_hits, keyword_hits = await asyncio.gather(
        leg("dense", dense(), []) if asked and query.mode != "keyword" else _nothing([]),
        leg("keyword", keyword(), no_hits)
        if asked and query.mode != "dense"
        else _nothing(no_hits),
    )
    started = parts.clock.monotonic()
    fused = fuse(query.mode, dense_hits, keyword_hits)
    passages = await confirm(parts.store, narrowed, fused, query)
    timings["confirm"] = 1000 * (parts.clock.monotonic() - started)
    return Retrieval(
        query=query.text,
        passages=passages,
        abstention=judge(passages, dense_hits),
        degraded=tuple(degraded),
        timings_ms=timings,
    )


async def _nothing(empty: T) -> T:
    return empty


def _narrow(scope: Scope, query: Query) -> Scope:
    """A query may narrow what its scope allows, never widen it."""
    if query.collections is None:
        return scope
    allowed = (
        query.collections if scope.collections is None else scope.collections & query.collections
    )
    return replace(scope, collections=allowed)
