"""How is another build of the index filled, beside the one that is read? Read `build`.

What is lacking is found by looking, and each batch is a transaction: it may be killed anywhere and
begun again, and what comes in meanwhile is found by looking again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from vademecum.errors import EmbeddingInvalid
from vademecum.ingest.analyse import keyword_row
from vademecum.ingest.embed import BATCH, Encoders, Passage, embed_missing
from vademecum.ingest.reconcile import BEFORE_ALL
from vademecum.model.embedding import Encoded
from vademecum.model.ids import ChunkId, Tenant
from vademecum.model.index import IndexGeneration
from vademecum.ports.embedder import is_one_model
from vademecum.ports.store import Gap, UpkeepStore

# Chunks that are looked at together; of those that lack something `BATCH` are written together.
PAGE = 1_000
Known = Callable[[Tenant, Sequence[str]], Awaitable[Mapping[str, Encoded]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildParts:
    """What a build needs from outside; all of it is of `generation`.

    `known` gives what a text has already in any build of the same space. `memories` and `turns`
    index those that lack something; `frame` makes what scores are compared with.
    """

    generation: IndexGeneration
    upkeep: UpkeepStore
    encoders: Encoders
    known: Known
    memories: Callable[[], Awaitable[object]]
    turns: Callable[[Tenant], Awaitable[object]]
    fold: Callable[[Tenant], Awaitable[None]]
    frame: Callable[[Tenant], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What one look filled: chunks, of them those that were embedded and those that the model gives
    no vector."""

    chunks: int = 0
    embedded: int = 0
    given_up: int = 0

    def __add__(self, other: "Built") -> "Built":
        return Built(
            chunks=self.chunks + other.chunks,
            embedded=self.embedded + other.embedded,
            given_up=self.given_up + other.given_up,
        )


async def build(parts: BuildParts, on_chunks: Callable[[int], None]) -> Built:
    """Give the generation what it lacks, of every tenant; `on_chunks` is told how many chunks have
    what they lacked. What comes in behind it meanwhile is for another look.

    Raises: EmbeddingInvalid, ModelUnusable, ServiceAway; what was filled before stays.
    """
    proof = await _proof(parts.encoders)
    done = Built()
    for tenant in await parts.upkeep.tenants():
        after: ChunkId | None = BEFORE_ALL
        while after is not None:
            gaps, after = await parts.upkeep.gaps(tenant, after, PAGE)
            lacking = [gap for gap in gaps if _lacks(gap, parts.encoders)]
            for start in range(0, len(lacking), BATCH):
                batch = lacking[start : start + BATCH]
                done += await _fill(parts, tenant, batch, proof)
                on_chunks(done.chunks)
            if lacking:
                await parts.fold(tenant)
        await parts.turns(tenant)
        await parts.frame(tenant)
    await parts.memories()
    return done


async def _proof(encoders: Encoders) -> dict[str, Encoded]:
    """Return the vector of a plain text: a model that gives it is well, and a text to which it then
    gives none is at fault itself. Raises: what embedding raises."""
    text = "A plain text."
    (row,) = (await embed_missing([Passage(text=text, language="en")], {}, encoders)).rows
    if row is None:
        raise EmbeddingInvalid("the model gives a plain text no vector")
    return {text: row}


def _lacks(gap: Gap, encoders: Encoders) -> bool:
    """States that a second model gave are not asked for again: it may never give them."""
    own = is_one_model(encoders.embedder, encoders.encoder)
    return not (gap.has_vector and gap.has_terms) or (own and not gap.has_states)


async def _fill(
    parts: BuildParts, tenant: Tenant, batch: list[Gap], proof: Mapping[str, Encoded]
) -> Built:
    """Analyse and encode one batch, and write it in one transaction."""
    own = is_one_model(parts.encoders.embedder, parts.encoders.encoder)
    bare = [gap for gap in batch if not gap.has_vector or (own and not gap.has_states)]
    known = await parts.known(tenant, [gap.embedded_text for gap in bare])
    passages = [Passage(text=gap.embedded_text, language=gap.language) for gap in bare]
    embedded = await embed_missing(passages, {**known, **proof}, parts.encoders)
    rows = await asyncio.to_thread(
        lambda: {
            gap.chunk_id: keyword_row(
                gap.embedded_text, gap.language, tenant, parts.generation.average_length
            )
            for gap in batch
            if not gap.has_terms
        }
    )
    found = {
        gap.chunk_id: encoded
        for gap, encoded in zip(bare, embedded.rows, strict=True)
        if encoded is not None
    }
    failed = {bare[place].chunk_id: reason for place, reason in embedded.failed.items()}
    await parts.upkeep.fill(tenant, found, failed, rows)
    return Built(chunks=len(batch), embedded=embedded.fresh, given_up=len(failed))
