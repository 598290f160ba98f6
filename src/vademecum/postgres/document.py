"""How are documents written, claimed, published, read and deleted?"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pgvector import HalfVector, SparseVector
from psycopg.types.json import Jsonb

from vademecum.errors import DocumentNotFound, Forbidden
from vademecum.model.chunk import Chunk
from vademecum.model.document import Document, IngestResult, ParsedDocument, Revision, Source, State
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId, DocumentId, RevisionId, Tenant, new_uuid
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.purge import StoreReceipt
from vademecum.ports.store import Accepted, Claim, Publication
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction
from vademecum.rank.bm25 import TERM_SPACE

LEASE_SECONDS = 20
_SQL = load("document")


class PostgresDocuments:
    """The DocumentStore on PostgreSQL; `generation` is the index build that it writes."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def accept(self, scope: Scope, source: Source, blob: str, fingerprint: str) -> Accepted:
        content_hash = hashlib.sha256(source.content).hexdigest()
        async with transaction(self._pool, scope) as connection:
            access_set = await self._access_set(connection, scope.tenant, source.access)
            found = await self._lock_or_make(connection, scope, source, access_set)
            if found["access_set"] != access_set or found["metadata"] != dict(source.metadata):
                await self._change_facts(connection, scope.tenant, found["id"], access_set, source)
            same = found["content_hash"] == content_hash and found["fingerprint"] == fingerprint
            if same and found["state"] != State.FAILED:
                return Accepted(
                    document_id=DocumentId(found["id"]),
                    revision_id=RevisionId(found["revision"]),
                    unchanged=found["state"] != State.ACCEPTED,
                )
            revision_id = RevisionId(new_uuid())
            await connection.execute(
                _SQL["insert_revision"],
                {
                    "tenant": scope.tenant,
                    "id": revision_id,
                    "document": found["id"],
                    "number": (found["number"] or 0) + 1,
                    "blob": blob,
                    "content_hash": content_hash,
                    "fingerprint": fingerprint,
                    "asked_title": source.title,
                    "asked_language": source.language,
                    "ingested_by": scope.principal,
                },
            )
            await connection.execute(_SQL["enqueue_ingestion"], {"id": revision_id})
        return Accepted(
            document_id=DocumentId(found["id"]), revision_id=revision_id, unchanged=False
        )

    async def _access_set(
        self, connection: Connection, tenant: Tenant, access: Sequence[str]
    ) -> int:
        labels = sorted(set(access))
        key = hashlib.sha256(json.dumps(labels).encode()).hexdigest()
        keys = {"tenant": tenant, "labels": labels, "labels_key": key}
        await connection.execute(_SQL["insert_access_set"], keys)
        row = await (await connection.execute(_SQL["get_access_set"], keys)).fetchone()
        assert row is not None
        return int(row["id"])

    async def _lock_or_make(
        self, connection: Connection, scope: Scope, source: Source, access_set: int
    ) -> dict[str, Any]:
        place = {"tenant": scope.tenant, "collection": source.collection, "uri": source.uri}
        found = await (await connection.execute(_SQL["lock_document"], place)).fetchone()
        if found is None:
            await connection.execute(
                _SQL["insert_document"],
                place
                | {
                    "id": new_uuid(),
                    "title": source.title or source.uri,
                    "access_set": access_set,
                    "metadata": Jsonb(dict(source.metadata)),
                    "language": source.language or "",
                },
            )
            found = await (await connection.execute(_SQL["lock_document"], place)).fetchone()
        if found is None:
            raise Forbidden(
                f"{source.uri} may not be written with these labels",
                hint="give the document a label that you have",
            )
        return found

    async def _change_facts(
        self,
        connection: Connection,
        tenant: Tenant,
        document_id: uuid.UUID,
        access_set: int,
        source: Source,
    ) -> None:
        facts = {
            "tenant": tenant,
            "id": document_id,
            "access_set": access_set,
            "metadata": Jsonb(dict(source.metadata)),
        }
        await connection.execute(_SQL["update_document_facts"], facts)
        await connection.execute(_SQL["move_index_access"], facts)

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
            document = {"tenant": claim.tenant, "document": claim.document_id}
            current = await (await connection.execute(_SQL["lock_newer"], document)).fetchone()
            if current is None:
                return False  # deleted meanwhile
            finished = await self._finish(
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
            if finished is None:
                return False
            if (current["current_number"] or 0) > finished["number"]:
                return True  # a newer revision is being read already; it stays
            await connection.execute(
                _SQL["retire_chunks"], document | {"revision": claim.revision_id}
            )
            async with connection.cursor() as cursor:
                await cursor.executemany(_SQL["insert_chunk"], _chunk_rows(claim, publication))
                await cursor.executemany(
                    _SQL["index_chunk"], _index_rows(publication, self._generation)
                )
            await connection.execute(
                _SQL["set_current"],
                document
                | {
                    "revision": claim.revision_id,
                    "title": claim.title or publication.parsed.title or claim.uri,
                    "language": publication.language,
                },
            )
        return True

    async def finish(
        self, claim: Claim, state: State, reason: str, parsed: ParsedDocument | None
    ) -> bool:
        async with transaction(self._pool, Scope.for_operator(claim.tenant)) as connection:
            return await self._finish(connection, claim, state, reason, parsed) is not None

    async def _finish(
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
    ) -> dict[str, Any] | None:
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
        return await cursor.fetchone()

    async def results(
        self, scope: Scope, revision_ids: Sequence[RevisionId]
    ) -> dict[RevisionId, IngestResult]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["results"], {"tenant": scope.tenant, "ids": list(revision_ids)}
            )
            return {
                RevisionId(row["revision"]): IngestResult(
                    id=DocumentId(row["document"]),
                    uri=row["uri"],
                    title=row["title"] or row["asked_title"] or row["uri"],
                    status=row["state"],
                    reason=row["reason"],
                    revision=row["number"],
                    chunks=row["chunks"],
                    new_chunks=row["new_chunks"],
                    embedded=row["embedded"],
                    language=row["language"],
                )
                async for row in cursor
            }

    async def list(self, scope: Scope) -> list[Document]:
        return await self._list(scope, None)

    async def get(self, scope: Scope, document_id: DocumentId) -> Document:
        found = await self._list(scope, document_id)
        if not found:
            raise _not_found(document_id)
        return found[0]

    async def _list(self, scope: Scope, document_id: DocumentId | None) -> list[Document]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["list_documents"],
                {"tenant": scope.tenant, "id": document_id, "collections": _collections(scope)},
            )
            return [_document(row) async for row in cursor]

    async def text(self, scope: Scope, document_id: DocumentId) -> str:
        await self.get(scope, document_id)
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(
                    _SQL["current_text"], {"tenant": scope.tenant, "id": document_id}
                )
            ).fetchone()
        return str(row["text"]) if row else ""

    async def chunks(self, scope: Scope, document_id: DocumentId) -> list[Chunk]:
        await self.get(scope, document_id)
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["list_chunks"], {"tenant": scope.tenant, "id": document_id}
            )
            return [_chunk(row) async for row in cursor]

    async def history(self, scope: Scope, document_id: DocumentId) -> list[Revision]:
        await self.get(scope, document_id)
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["history"], {"tenant": scope.tenant, "id": document_id}
            )
            return [
                Revision(
                    id=RevisionId(row["id"]),
                    number=row["number"],
                    state=State(row["state"]),
                    reason=row["reason"],
                    content_hash=row["content_hash"],
                    ingested_by=row["ingested_by"],
                    accepted_at=row["accepted_at"],
                    published_at=row["published_at"],
                    current=row["current"],
                )
                async for row in cursor
            ]

    async def confirm(
        self, scope: Scope, chunk_ids: Sequence[ChunkId]
    ) -> dict[ChunkId, ConfirmedChunk]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["confirm"],
                {
                    "tenant": scope.tenant,
                    "ids": list(chunk_ids),
                    "collections": _collections(scope),
                },
            )
            return {
                ChunkId(row["id"]): ConfirmedChunk(
                    chunk=_chunk(row),
                    document_id=DocumentId(row["document"]),
                    uri=row["uri"],
                    title=row["title"],
                    collection=row["collection"],
                    metadata=row["metadata"],
                )
                async for row in cursor
            }

    async def delete(
        self, scope: Scope, document_id: DocumentId
    ) -> tuple[list[StoreReceipt], list[str]]:
        keys = {"tenant": scope.tenant, "id": document_id}
        async with transaction(self._pool, scope) as connection:
            locked = await (await connection.execute(_SQL["lock_for_delete"], keys)).fetchone()
            if locked is None:
                raise _not_found(document_id)
            blobs = [
                row["blob"] async for row in await connection.execute(_SQL["document_blobs"], keys)
            ]
            # Traces of others quote the document too, so they are counted and deleted for all.
            await connection.execute(_SQL["see_all_traces"])
            before = await self._count(connection, keys) | {"documents": 1}
            await connection.execute(_SQL["delete_traces"], keys)
            await connection.execute(_SQL["delete_document"], keys)
            after = await self._count(connection, keys)
            kept = [
                row["blob"]
                async for row in await connection.execute(
                    _SQL["blobs_in_use"], {"tenant": scope.tenant, "blobs": blobs}
                )
            ]
        receipts = [
            StoreReceipt(
                store=f"postgres.{store}",
                found=found,
                deleted=found - after.get(store, 0),
                left=after.get(store, 0),
                why="",
            )
            for store, found in before.items()
        ]
        return receipts, [blob for blob in blobs if blob not in kept]

    async def _count(
        self, connection: Connection, keys: Mapping[str, Any]
    ) -> dict[str, int]:
        counts: dict[str, int] = {}
        for query in ("count_rows", "count_traces"):
            row = await (await connection.execute(_SQL[query], keys)).fetchone()
            counts |= row or {}
        return counts

    async def languages(self, scope: Scope) -> frozenset[str]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["languages"], {"tenant": scope.tenant})
            return frozenset([row["language"] async for row in cursor if row["language"]])

    async def counts(self, scope: Scope) -> dict[str, int]:
        """Return how many documents, chunks and waiting revisions the scope may see."""
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(_SQL["counts"], {"tenant": scope.tenant})
            ).fetchone()
        return dict(row or {})


def _not_found(document_id: DocumentId) -> DocumentNotFound:
    return DocumentNotFound(
        f"no document {document_id}", hint="`vade documents list` shows those you may see"
    )


def _collections(scope: Scope) -> list[str] | None:
    return None if scope.collections is None else sorted(scope.collections)


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


def _document(row: Mapping[str, Any]) -> Document:
    return Document(
        id=DocumentId(row["id"]),
        collection=row["collection"],
        uri=row["uri"],
        title=row["title"],
        access=tuple(row["labels"]),
        metadata=row["metadata"],
        language=row["language"],
        state=State(row["state"]),
        reason=row["reason"],
        revision=row["number"],
        media_type=row["media_type"],
        chunks=row["chunks"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _chunk(row: Mapping[str, Any]) -> Chunk:
    return Chunk(
        id=ChunkId(row["id"]),
        ordinal=row["ordinal"],
        start=row["start_offset"],
        end=row["end_offset"],
        text=row["text"],
        context=row["context"],
        tokens=row["tokens"],
        heading_path=tuple(row["heading_path"]),
        page_start=row["page_start"],
        page_end=row["page_end"],
        page_breaks=tuple(row["page_breaks"]),
        language=row["language"],
    )
