"""Which builds of the index are there, and how does one take another's place?"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString

import numpy as np
import psycopg
from psycopg.rows import DictRow

from vademecum.errors import ReindexBusy, SpaceMismatch
from vademecum.model.embedding import EmbeddingSpace, Encoded
from vademecum.model.ids import ConversationId, Tenant
from vademecum.model.index import BuildProgress, GenerationRecord, IndexGeneration
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Connection, Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.revision import text_hash
from vademecum.postgres.unit_of_work import transaction

_SQL = load("generation")
_KNOWN = load("revision")["known_vectors"]
_LACKING_CONVERSATIONS = load("turn")["lacking_conversations"]
# Rows of each table that go in one transaction.
_DROPPED = 5_000
# States of one that is not read yet.
OPEN = ("building", "ready")
_AGAIN = "build the index again for them: vade reindex"


async def current_generation(
    pool: Pool,
    space: EmbeddingSpace,
    analyser: str,
    average_length: float,
    *,
    embedding: str | None = None,
) -> IndexGeneration:
    """Return the current generation, made for these settings where there is none; `embedding` is
    the name by which the settings open the model.

    Raises: SpaceMismatch where the index was built with another embedding space or analyser.
    """
    generations = PostgresGenerations(pool)
    found = await generations.current()
    if found is None:
        await generations.add(space, analyser, average_length, state="current", embedding=embedding)
        found = await generations.current()
    assert found is not None
    check_readable(found.generation, space, analyser)
    return found.generation


def check_readable(own: IndexGeneration, space: EmbeddingSpace, analyser: str) -> None:
    """Raise SpaceMismatch where a generation holds vectors of another space than `space`, or terms
    of another analyser."""
    if own.space != space:
        raise SpaceMismatch(
            f"the index holds vectors of {own.space.name}, the settings name {space.name}",
            hint=f"set models.embedding back, or {_AGAIN}",
        )
    if own.analyser != analyser:
        raise SpaceMismatch(
            f"the index was analysed by {own.analyser}, this release has {analyser}",
            hint=f"use the release that built the index, or {_AGAIN}",
        )


def opened_name(current: GenerationRecord | None, setting: str) -> str:
    """Return the name of the model to open: that of the current generation where it was switched to
    while the settings said what they say now, else the settings' own."""
    if current is None or current.embedding is None or current.instead_of != setting:
        return setting
    return current.embedding


class PostgresGenerations:
    """The builds of the index; what is done to one is of all tenants at once."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def all(self) -> list[GenerationRecord]:
        """Return every generation, oldest first."""
        with clear_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_SQL["all"])
                return [_record(row) async for row in cursor]

    async def current(self) -> GenerationRecord | None:
        return next((one for one in await self.all() if one.state == "current"), None)

    async def add(
        self,
        space: EmbeddingSpace,
        analyser: str,
        average_length: float,
        *,
        state: str,
        embedding: str | None,
    ) -> None:
        """Add a generation, current or building, where there is none in that state."""
        facts = {
            "provider": space.provider,
            "model": space.model,
            "revision": space.revision,
            "dimension": space.dimension,
            "metric": space.metric,
            "query_prefix": space.query_prefix,
            "passage_prefix": space.passage_prefix,
            "analyser": analyser,
            "average_length": average_length,
            "state": state,
            "embedding": embedding,
        }
        with clear_errors():
            async with self._pool.connection() as connection, connection.transaction():
                await connection.execute(_SQL["add_space"], facts)
                await connection.execute(_SQL["add_generation"], facts)

    async def progress(self, generation: int) -> BuildProgress:
        """Return how much a generation lacks; of one that is not there, everything."""
        rows = await self._rows("progress", {"id": generation})
        return BuildProgress(
            held={row["kind"]: row["held"] for row in rows},
            lacking={row["kind"]: row["lacking"] for row in rows},
            tokens=sum(int(row["tokens"]) for row in rows),
        )

    async def standing(self) -> list[tuple[GenerationRecord, BuildProgress | None]]:
        """Return every generation, and how far those are that are being built."""
        return [
            (one, await self.progress(one.generation.id) if one.state in OPEN else None)
            for one in await self.all()
        ]

    async def switch(self, generation: int, setting: str) -> bool:
        """Make a `ready` generation the current one, and the one before it the retired one; False,
        and nothing is done, where the ready one lacks anything, or one is retired already. The
        settings named `setting` then."""
        try:
            [row] = await self._rows("switch", {"id": generation, "setting": setting})
        except psycopg.errors.LockNotAvailable:
            return False  # something is being published for longer than we may hold it up
        return bool(row["switched"])

    async def set_state(self, generation: int, before: str, after: str) -> bool:
        """Take one of the steps beside the switch; False where it is in another state."""
        values = {"id": generation, "before": before, "after": after}
        [row] = await self._rows("set_state", values)
        return bool(row["done"])

    async def drop(self, generation: int) -> Mapping[str, int]:
        """Delete a generation that is not current, and return how many rows of each table went.
        Broken off, it goes on where it was."""
        counts: dict[str, int] = {}
        while True:
            rows = await self._rows("drop", {"id": generation, "most": _DROPPED})
            for row in rows:
                counts[row["store"]] = counts.get(row["store"], 0) + row["deleted"]
            if not any(row["deleted"] for row in rows):
                return counts
            await asyncio.sleep(0)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Keep everybody else from building while the block runs. Raises: ReindexBusy."""
        with clear_errors():
            async with self._pool.connection() as connection:
                await connection.set_autocommit(True)
                try:
                    await self._take(connection)
                    try:
                        yield
                    finally:
                        await connection.execute(_SQL["unlock_build"])
                finally:
                    await connection.set_autocommit(False)

    async def _take(self, connection: Connection) -> None:
        row = await (await connection.execute(_SQL["lock_build"])).fetchone()
        if row is None or not row["held"]:
            raise ReindexBusy(
                "another process is building the index",
                hint="`vade status` shows how far it is; wait for it or stop it",
            )

    async def known(
        self, tenant: Tenant, texts: Sequence[str], generations: Sequence[int]
    ) -> dict[str, Encoded]:
        """Return what any chunk of the tenant has in one of the generations, by text."""
        by_hash = {text_hash(text): text for text in texts}
        found: dict[str, Encoded] = {}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            for generation in generations:
                wanted = [key for key, text in by_hash.items() if text not in found]
                values = {"generation": generation, "hashes": wanted}
                async for row in await connection.execute(_KNOWN, values):
                    vector = row["embedding"].to_numpy().astype(np.float32)
                    found[by_hash[row["text_hash"]]] = Encoded(vector=vector, signs=row["signs"])
        return found

    async def lacking_conversations(self, tenant: Tenant, generation: int) -> list[ConversationId]:
        """Return the conversations of which a generation lacks a turn."""
        values = {"tenant": tenant, "generation": generation}
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            cursor = await connection.execute(_LACKING_CONVERSATIONS, values)
            return [ConversationId(row["conversation"]) async for row in cursor]

    async def _rows(self, query: LiteralString, values: Mapping[str, Any]) -> list[DictRow]:
        """Run one query in a transaction of its own, as the login: it goes over all tenants."""
        with clear_errors():
            async with self._pool.connection() as connection, connection.transaction():
                return await (await connection.execute(_SQL[query], values)).fetchall()


def _record(row: DictRow) -> GenerationRecord:
    return GenerationRecord(
        generation=IndexGeneration(
            id=row["id"],
            space=EmbeddingSpace(
                provider=row["provider"],
                model=row["model"],
                revision=row["revision"],
                dimension=row["dimension"],
                metric=row["metric"],
                query_prefix=row["query_prefix"],
                passage_prefix=row["passage_prefix"],
            ),
            analyser=row["analyser"],
            average_length=row["average_length"],
        ),
        state=row["state"],
        embedding=row["embedding"],
        instead_of=row["instead_of"],
        created_at=row["created_at"],
        switched_at=row["switched_at"],
    )
