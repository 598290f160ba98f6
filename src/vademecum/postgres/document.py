"""How are documents accepted, read and deleted?"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from psycopg.errors import InsufficientPrivilege
from psycopg.types.json import Jsonb

from vademecum.errors import DocumentNotFound, Forbidden
from vademecum.model.chunk import Chunk
from vademecum.model.document import (
    EFFECTIVE_KEYS,
    Document,
    IngestResult,
    Revision,
    Source,
    State,
)
from vademecum.model.ids import ChunkId, DocumentId, RevisionId, Tenant, new_uuid
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.purge import StoreReceipt
from vademecum.ports.store import Accepted
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("document")


class PostgresDocuments:
    """The DocumentStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def accept(self, scope: Scope, source: Source, blob: str, fingerprint: str) -> Accepted:
        if scope.collections is not None and source.collection not in scope.collections:
            raise _forbidden(source)
        try:
            async with transaction(self._pool, scope) as connection:
                return await self._accept(connection, scope, source, blob, fingerprint)
        except InsufficientPrivilege as error:  # row-level security refuses rows nobody here sees
            raise _forbidden(source) from error

    async def _accept(
        self, connection: Connection, scope: Scope, source: Source, blob: str, fingerprint: str
    ) -> Accepted:
        access_set = await self._access_set(connection, scope.tenant, source.access)
        found = await self._lock_or_make(connection, scope, source, access_set)
        document_id = DocumentId(found["id"])
        if found["access_set"] != access_set or not found["same_metadata"]:
            await self._change_facts(connection, scope.tenant, document_id, access_set, source)
        asked = {
            "tenant": scope.tenant,
            "document": document_id,
            "content_hash": hashlib.sha256(source.content).hexdigest(),
            "fingerprint": fingerprint,
            "asked_title": source.title,
            "asked_language": source.language,
        }
        newest = await (await connection.execute(_SQL["newest_revision"], asked)).fetchone()
        if newest and newest["same"] and newest["state"] != State.FAILED:
            return Accepted(
                document_id=document_id,
                revision_id=RevisionId(newest["id"]),
                unchanged=newest["state"] != State.ACCEPTED,
            )
        revision_id = RevisionId(new_uuid())
        await connection.execute(
            _SQL["insert_revision"],
            asked
            | {
                "id": revision_id,
                "number": newest["number"] + 1 if newest else 1,
                "blob": blob,
                "ingested_by": scope.principal,
            },
        )
        await connection.execute(_SQL["enqueue_ingestion"], {"id": revision_id})
        return Accepted(document_id=document_id, revision_id=revision_id, unchanged=False)

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
        place = {
            "tenant": scope.tenant,
            "collection": source.collection,
            "uri": source.uri,
            "metadata": Jsonb(dict(source.metadata)),
        }
        found = await (await connection.execute(_SQL["lock_document"], place)).fetchone()
        if found is None:
            await connection.execute(
                _SQL["insert_document"],
                place
                | {
                    "id": new_uuid(),
                    "title": source.title or source.uri,
                    "access_set": access_set,
                    "language": source.language or "",
                }
                | _effective(source),
            )
            found = await (await connection.execute(_SQL["lock_document"], place)).fetchone()
        if found is None:
            raise _forbidden(source)
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
        } | _effective(source)
        await connection.execute(_SQL["update_document_facts"], facts)
        await connection.execute(_SQL["move_index_access"], facts)

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

    async def all(self, scope: Scope) -> list[Document]:
        return await self._select(scope, None)

    async def get(self, scope: Scope, document_id: DocumentId) -> Document:
        found = await self._select(scope, document_id)
        if not found:
            raise _not_found(document_id)
        return found[0]

    async def _select(self, scope: Scope, document_id: DocumentId | None) -> list[Document]:
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
        self, scope: Scope, chunk_ids: Sequence[ChunkId], day: date
    ) -> dict[ChunkId, ConfirmedChunk]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["confirm"],
                {
                    "tenant": scope.tenant,
                    "ids": list(chunk_ids),
                    "collections": _collections(scope),
                    "day": day,
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
        place = keys | {"collections": _collections(scope)}
        async with transaction(self._pool, scope) as connection:
            locked = await (await connection.execute(_SQL["lock_for_delete"], place)).fetchone()
            if locked is None:
                raise _not_found(document_id)
            blobs = [
                row["blob"] async for row in await connection.execute(_SQL["document_blobs"], keys)
            ]
            # Answers to others quote the document too, so they are counted and deleted for all.
            await connection.execute(_SQL["see_all_records"])
            before = await self._count(connection, keys) | {"documents": 1}
            await connection.execute(_SQL["delete_quoting_turns"], keys)
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

    async def _count(self, connection: Connection, keys: Mapping[str, Any]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for query in ("count_rows", "count_quoting_turns", "count_traces"):
            row = await (await connection.execute(_SQL[query], keys)).fetchone()
            counts |= row or {}
        return counts

    async def languages(self, scope: Scope) -> frozenset[str]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["languages"], {"tenant": scope.tenant, "collections": _collections(scope)}
            )
            return frozenset([row["language"] async for row in cursor if row["language"]])

    async def counts(self, scope: Scope) -> dict[str, int]:
        """Return how many documents, chunks and waiting revisions the scope may see."""
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(
                    _SQL["counts"], {"tenant": scope.tenant, "collections": _collections(scope)}
                )
            ).fetchone()
        return dict(row or {})


def _forbidden(source: Source) -> Forbidden:
    return Forbidden(
        f"{source.uri} may not be written with these labels, or in this collection",
        hint="give the document a label that you have",
    )


def _not_found(document_id: DocumentId) -> DocumentNotFound:
    return DocumentNotFound(
        f"no document {document_id}", hint="`vade documents list` shows those you may see"
    )


def _effective(source: Source) -> dict[str, Any]:
    """Return the dates of a source's metadata; `ingest.accept` has checked that they are dates."""
    return {key: source.metadata.get(key) for key in EFFECTIVE_KEYS}


def _collections(scope: Scope) -> list[str] | None:
    return None if scope.collections is None else sorted(scope.collections)


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
