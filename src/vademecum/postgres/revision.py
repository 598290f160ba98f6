"""How is a revision worked on? Claimed under a lease, then published whole or ended."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pgvector import HalfVector, SparseVector

from vademecum.model.document import ParsedDocument, State
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import DocumentId, RevisionId, Tenant
from vademecum.model.principal import Scope
from vademecum.ports.store import Claim, Publication
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction
from vademecum.rank.bm25 import TERM_SPACE

LEASE_SECONDS = 20
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
            uri=row["uri"],
            title=row["asked_title"],
            language=row["asked_language"],
            blob=row["blob"],
            attempts=row["attempts"],
        )

    async def extend(self, claim: Claim) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            cursor = await connection.execute(
                _SQL["extend_claim"], _fence(claim) | {"seconds": LEASE_SECONDS}
            )
            return await cursor.fetchone() is not None

    async def known_vectors(self, claim: Claim, texts: Sequence[str]) -> dict[str, FloatArray]:
        by_hash = {text_hash(text): text for text in texts}
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            cursor = await connection.execute(
                _SQL["known_vectors"],
                {
                    "document": claim.document_id,
                    "generation": self._generation,
                    "hashes": list(by_hash),
                },
            )
            return {
                by_hash[row["text_hash"]]: row["embedding"].to_numpy().astype(np.float32)
                async for row in cursor
            }

    async def publish(self, claim: Claim, publication: Publication) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            ended = await self._end(
                connection,
                claim,
                State.READY,
                "",
                publication.parsed,
                language=publication.language,
                chunks=len(publication.chunks),
                new_chunks=publication.new_chunks,
                embedded=publication.embedded,
            )
            if ended == "current":
                async with connection.cursor() as cursor:
                    await cursor.executemany(_SQL["insert_chunk"], _chunk_rows(claim, publication))
                    await cursor.executemany(
                        _SQL["index_chunk"], _index_rows(publication, self._generation)
                    )
        return ended != "lost"

    async def finish(
        self, claim: Claim, state: State, reason: str, parsed: ParsedDocument | None
    ) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            return await self._end(connection, claim, state, reason, parsed) != "lost"

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
        """End the revision. Where it was read it becomes the current one and the chunks of the
        one before go, unless a newer one is current; else it stays beside what is current."""
        document = {"tenant": claim.tenant, "document": claim.document_id}
        if await (await connection.execute(_SQL["lock_document"], document)).fetchone() is None:
            return "lost"  # deleted meanwhile
        title = claim.title or (parsed.title if parsed else "") or claim.uri
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
        revision = document | {"revision": claim.revision_id}
        await connection.execute(_SQL["retire_chunks"], revision)
        await connection.execute(
            _SQL["set_current"], revision | {"title": title, "language": language}
        )
        return "current"


def _fence(claim: Claim) -> dict[str, Any]:
    return {"tenant": claim.tenant, "id": claim.revision_id, "token": claim.token}


def text_hash(text: str) -> str:
    """Key of an embedded text; equal texts of one generation have equal vectors."""
    return hashlib.sha256(text.encode()).hexdigest()


def _chunk_rows(claim: Claim, publication: Publication) -> list[dict[str, Any]]:
    return [
        {
            "tenant": claim.tenant,
            "id": chunk.id,
            "document": claim.document_id,
            "revision": claim.revision_id,
            "ordinal": chunk.ordinal,
            "start": chunk.start,
            "end": chunk.end,
            "tokens": chunk.tokens,
            "heading_path": list(chunk.heading_path),
            "page_start": chunk.page_start,
            "page_end": chunk.page_end,
            "page_breaks": list(chunk.page_breaks),
            "language": chunk.language,
            "text": chunk.text,
            "context": chunk.context,
            "text_hash": text_hash(chunk.embedded_text),
        }
        for chunk in publication.chunks
    ]


def _index_rows(publication: Publication, generation: int) -> list[dict[str, Any]]:
    rows = zip(publication.chunks, publication.vectors, publication.keyword_rows, strict=True)
    return [
        {
            "id": chunk.id,
            "generation": generation,
            "embedding": HalfVector(vector),
            "terms": sorted(keywords.weights),
            "weights": sparse(keywords.weights),
        }
        for chunk, vector, keywords in rows
    ]


def sparse(weights: Mapping[int, float]) -> SparseVector:
    """Return term weights as PostgreSQL holds them; element i is the term i + 1."""
    return SparseVector({term - 1: weight for term, weight in weights.items()}, TERM_SPACE)
