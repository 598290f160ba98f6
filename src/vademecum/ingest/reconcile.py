"""How does the index become what the truth says, whatever was lost? Read `reconcile`.

It needs no queue and no worker: whoever runs it mends what it finds.
"""

import asyncio
import uuid
from dataclasses import dataclass, replace

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ProviderAway
from vademecum.ingest.analyse import keyword_row
from vademecum.ingest.embed import Encoders, Passage, embed_missing
from vademecum.model.ids import ChunkId, Tenant
from vademecum.model.index import IndexGeneration, KeywordRow
from vademecum.ports.embedder import is_one_model
from vademecum.ports.jobs import Jobs
from vademecum.ports.store import Gap, UpkeepStore

PAGE = 5_000
BEFORE_ALL = ChunkId(uuid.UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileParts:
    """What the reconciler needs from outside."""

    upkeep: UpkeepStore
    jobs: Jobs
    encoders: Encoders
    generation: IndexGeneration


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What one pass mended; `waiting_chunks` still lack a vector, since no model answered."""

    rescued_jobs: int = 0
    embedded_chunks: int = 0
    analysed_chunks: int = 0
    given_up_chunks: int = 0
    waiting_chunks: int = 0


async def reconcile(parts: ReconcileParts) -> Reconciled:
    """Queue lost work again; fill and mend the index of every tenant.

    Raises: DatabaseAway; what was mended before stays mended.
    """
    done = Reconciled(rescued_jobs=await parts.jobs.rescue())
    for tenant in await parts.upkeep.tenants():
        await parts.upkeep.settle(tenant)
        after: ChunkId | None = BEFORE_ALL
        while after is not None:
            gaps, after = await parts.upkeep.gaps(tenant, after, PAGE)
            if gaps:
                done = await _fill(parts, tenant, gaps, done)
    return done


async def _fill(
    parts: ReconcileParts, tenant: Tenant, gaps: list[Gap], done: Reconciled
) -> Reconciled:
    rows = await asyncio.to_thread(_analyse, gaps, tenant, parts.generation.average_length)
    await parts.upkeep.fill(tenant, {}, {}, rows)  # words are found though no model answers
    done = replace(done, analysed_chunks=done.analysed_chunks + len(rows))
    # States that a second model gave are not asked for again: it may never give them.
    own = is_one_model(parts.encoders.embedder, parts.encoders.encoder)
    lacking = [gap for gap in gaps if not gap.has_vector or (own and not gap.has_states)]
    passages = [Passage(text=gap.embedded_text, language=gap.language) for gap in lacking]
    try:
        embedded = await embed_missing(passages, {}, parts.encoders)
    except (EmbeddingInvalid, ModelUnusable, ProviderAway):
        return replace(done, waiting_chunks=done.waiting_chunks + len(lacking))
    found = {
        gap.chunk_id: encoded
        for gap, encoded in zip(lacking, embedded.rows, strict=True)
        if encoded is not None
    }
    failed = {lacking[position].chunk_id: reason for position, reason in embedded.failed.items()}
    await parts.upkeep.fill(tenant, found, failed, {})
    return replace(
        done,
        embedded_chunks=done.embedded_chunks + len(found),
        given_up_chunks=done.given_up_chunks + len(failed),
    )


def _analyse(gaps: list[Gap], tenant: Tenant, average_length: float) -> dict[ChunkId, KeywordRow]:
    return {
        gap.chunk_id: keyword_row(gap.embedded_text, gap.language, tenant, average_length)
        for gap in gaps
        if not gap.has_terms
    }
