"""How is a revision worked on? Claimed under a lease, then published whole or ended."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pgvector import HalfVector, SparseVector
from psycopg.types.json import Jsonb

from vademecum.errors import IndexSwitched
from vademecum.failpoint import step
from vademecum.model.document import ParsedDocument, State
from vademecum.model.embedding import Encoded
from vademecum.model.ids import ChunkId, DocumentId, RevisionId, Tenant
from vademecum.model.index import KeywordRow
from vademecum.model.principal import Scope
from vademecum.ports.store import Claim, Publication
from vademecum.postgres.change import add_change
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction
from vademecum.text.analyse import TERM_SPACE

LEASE_SECONDS = 20
_ROWS_A_STATEMENT = 500
_SQL = load("revision")


class PostgresRevisions:
    """The RevisionStore on PostgreSQL; `generation` is the index build that it writes."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def claim(self, tenant: Tenant, revision_id: RevisionId) -> Claim | None:
        token = uuid.uuid4()
        async with transaction(self._pool, Scope.for_operator(tenant)) as connection:
            row = await (
                await connection.execute(
                    _SQL["claim_revision"],
                    {
                        "tenant": tenant,
                        "id": revision_id,
                        "token": token,
                        "seconds": LEASE_SECONDS,
                    },
                )
            ).fetchone()
        if row is None:
            return None
        return Claim(
            tenant=tenant,
            document_id=DocumentId(row["document"]),
            revision_id=revision_id,
            token=token,
            lease_until=row["lease_until"],
            collection=row["collection"],
            uri=row["uri"],
            title=row["asked_title"],
            language=row["asked_language"],
            chunker=row["asked_chunker"],
            blob=row["blob"],
            attempts=row["attempts"],
        )

    async def extend(self, claim: Claim) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            cursor = await connection.execute(
                _SQL["extend_claim"], _fence(claim) | {"seconds": LEASE_SECONDS}
            )
            return await cursor.fetchone() is not None

    async def release(self, claim: Claim) -> None:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            await connection.execute(_SQL["release_claim"], _fence(claim))

    async def known(self, claim: Claim, texts: Sequence[str]) -> dict[str, Encoded]:
        by_hash = {text_hash(text): text for text in texts}
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            cursor = await connection.execute(
                _SQL["known_vectors"],
                {"generation": self._generation, "hashes": list(by_hash)},
            )
            return {
                by_hash[row["text_hash"]]: Encoded(
                    vector=row["embedding"].to_numpy().astype(np.float32), signs=row["signs"]
                )
                async for row in cursor
            }

    async def publish(self, claim: Claim, publication: Publication) -> bool:
        reasons = [*publication.parsed.unread, *_failures(publication)]
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            await _hold(connection, self._generation)
            ended = await self._end(
                connection,
                claim,
                State.PARTIAL if reasons else State.READY,
                "; ".join(reasons),
                publication.parsed,
                language=publication.language,
                chunks=len(publication.chunks),
                new_chunks=publication.new_chunks,
                embedded=publication.embedded,
            )
            if ended == "current":
                await self._write(connection, claim, publication)
        return ended != "lost"

    async def finish(
        self, claim: Claim, state: State, reason: str, parsed: ParsedDocument | None
    ) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            return await self._end(connection, claim, state, reason, parsed) != "lost"

    async def _write(self, connection: Connection, claim: Claim, publication: Publication) -> None:
        """Write chunks and both index rows of each, in stretches."""
        for start in range(0, len(publication.chunks), _ROWS_A_STATEMENT):
            part = range(start, min(start + _ROWS_A_STATEMENT, len(publication.chunks)))
            with step("chunks"):
                await connection.execute(
                    _SQL["insert_chunks"],
                    {
                        "tenant": claim.tenant,
                        "document": claim.document_id,
                        "revision": claim.revision_id,
                        "generation": self._generation,
                        "chunks": Jsonb([_chunk_row(publication, i) for i in part]),
                    },
                )
            with step("vectors"):
                await index_vectors(
                    connection,
                    self._generation,
                    {
                        publication.chunks[i].id: encoded
                        for i in part
                        if (encoded := publication.encoded[i]) is not None
                    },
                )
            with step("terms"):
                await index_terms(
                    connection,
                    self._generation,
                    {publication.chunks[i].id: publication.keyword_rows[i] for i in part},
                )

    async def _end(
        self,
        connection: Connection,
        claim: Claim,
        state: State,
        reason: str,
        parsed: ParsedDocument | None,
        *,
        language: str = "",
        chunks: int = 0,
        new_chunks: int = 0,
        embedded: int = 0,
    ) -> Literal["lost", "beside", "current"]:
        """End the revision. Where it was read it becomes the current one and the one before ends
        to be in force, unless a newer one is current; else it stays beside what is current."""
        document = {"tenant": claim.tenant, "document": claim.document_id}
        if await (await connection.execute(_SQL["lock_document"], document)).fetchone() is None:
            return "lost"  # deleted meanwhile
        title = claim.title or (parsed.title if parsed else "") or claim.uri
        found = Jsonb(dict(parsed.metadata) if parsed else {})
        with step("text"):
            cursor = await connection.execute(
                _SQL["finish_revision"],
                _fence(claim)
                | {
                    "state": state.value,
                    "reason": reason,
                    "title": title,
                    "language": language,
                    "media_type": parsed.media_type if parsed else "",
                    "text": parsed.text if parsed else "",
                    "page_starts": list(parsed.page_starts) if parsed else [],
                    "warnings": list(parsed.warnings) if parsed else [],
                    "unread": list(parsed.unread) if parsed else [],
                    "found_metadata": found,
                    "chunks": chunks,
                    "new_chunks": new_chunks,
                    "embedded": embedded,
                },
            )
            finished = await cursor.fetchone()
        if finished is None:
            return "lost"
        newest = await (await connection.execute(_SQL["current_number"], document)).fetchone()
        if parsed is None or (newest and newest["number"] > finished["number"]):
            return "beside"
        revision = document | {"revision": claim.revision_id, "found_metadata": found}
        with step("flip"):
            await connection.execute(
                _SQL["set_current"], revision | {"title": title, "language": language}
            )
        with step("retire"):
            await connection.execute(_SQL["begin_force"], revision)
            await connection.execute(_SQL["set_validity"], document)
        with step("event"):
            await add_change(
                connection, claim.tenant, "published", claim.document_id, claim.revision_id
            )
        return "current"


async def _hold(connection: Connection, generation: int) -> None:
    """Keep the index from being switched until the transaction ends, so that what is published is
    in the one that is read then. Raises: IndexSwitched where it is another one already."""
    held = await connection.execute(_SQL["hold_generation"], {"generation": generation})
    row = await held.fetchone()
    if row is None or not row["held"]:
        raise IndexSwitched(
            "the index was switched to another build", hint="it is tried again with that one"
        )


async def index_vectors(
    connection: Connection, generation: int, encoded: Mapping[ChunkId, Encoded]
) -> None:
    """Write vectors and token states of chunks that are stored already."""
    if encoded:
        await connection.execute(
            _SQL["index_vectors"],
            {
                "generation": generation,
                "chunks": list(encoded),
                "embeddings": [HalfVector(row.vector) for row in encoded.values()],
                "signs": [row.signs for row in encoded.values()],
            },
        )


async def index_terms(
    connection: Connection, generation: int, rows: Mapping[ChunkId, KeywordRow]
) -> None:
    """Write the keyword leg's rows of chunks that are stored already."""
    if rows:
        await connection.execute(
            _SQL["index_terms"],
            {
                "generation": generation,
                "chunks": list(rows),
                "terms": [f"{{{','.join(map(str, sorted(r.weights)))}}}" for r in rows.values()],
                "weights": [sparse(row.weights) for row in rows.values()],
            },
        )


def _fence(claim: Claim) -> dict[str, Any]:
    return {"tenant": claim.tenant, "id": claim.revision_id, "token": claim.token}


def text_hash(text: str) -> str:
    """Key of an embedded text; equal texts of one generation have equal vectors."""
    return hashlib.sha256(text.encode()).hexdigest()


def _failures(publication: Publication) -> list[str]:
    if not publication.unembedded:
        return []
    (count, whole) = len(publication.unembedded), len(publication.chunks)
    reason = next(iter(publication.unembedded.values()))
    return [f"{count} of {whole} chunks have no vector ({reason})"]


def _chunk_row(publication: Publication, position: int) -> dict[str, Any]:
    chunk = publication.chunks[position]
    section_start, section_end = chunk.section or (None, None)
    return {
        "id": str(chunk.id),
        "ordinal": chunk.ordinal,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "tokens": chunk.tokens,
        "heading_path": chunk.heading_path,
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "page_breaks": chunk.page_breaks,
        "language": chunk.language,
        "text": chunk.text,
        "context": chunk.context,
        "section_start": section_start,
        "section_end": section_end,
        "text_hash": text_hash(chunk.embedded_text),
        "unembedded": publication.unembedded.get(position),
    }


def sparse(weights: Mapping[int, float]) -> SparseVector:
    """Return term weights as PostgreSQL holds them; element i is the term i + 1."""
    return SparseVector({term - 1: weight for term, weight in weights.items()}, TERM_SPACE)
