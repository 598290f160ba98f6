"""How are documents read and deleted?"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date
from typing import Any

from psycopg.errors import InsufficientPrivilege

from vademecum.errors import DocumentNotFound, Forbidden
from vademecum.model.change import ChangeEvent
from vademecum.model.chunk import Chunk, on_pages
from vademecum.model.document import Document, IngestResult, Revision, Source, State
from vademecum.model.ids import ChunkId, DocumentId, RevisionId, Tenant
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.purge import counted
from vademecum.ports.store import Accepted, Deleted, Outdated
from vademecum.postgres.change import add_change, changes
from vademecum.postgres.pool import Connection, Pool
from vademecum.postgres.queries import load
from vademecum.postgres.source import accept, end_version, find_document, forbidden, known
from vademecum.postgres.unit_of_work import collections_of, enter, transaction

_SQL = load("document")


class PostgresDocuments:
    """The DocumentStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def known(
        self, scope: Scope, source: Source, content_hash: str, fingerprint: str
    ) -> Accepted | None:
        if source.version is not None or not scope.allows(source.collection):
            return None
        async with transaction(self._pool, scope) as connection:
            return await known(connection, scope, source, content_hash, fingerprint)

    async def accept(
        self, scope: Scope, source: Source, blob: str, fingerprint: str
    ) -> Accepted | Outdated:
        if not scope.allows(source.collection):
            raise forbidden(source.uri)
        try:
            async with transaction(self._pool, scope) as connection:
                return await accept(connection, scope, source, blob, fingerprint)
        except InsufficientPrivilege as error:  # row-level security refuses rows nobody here sees
            raise forbidden(source.uri) from error

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
                    warnings=tuple(row["warnings"]),
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

    async def page(
        self,
        scope: Scope,
        *,
        collection: str | None = None,
        after: tuple[str, str] | None = None,
        limit: int,
        state: str | None = None,
        wanted: str | None = None,
    ) -> list[Document]:
        """Return at most `limit` documents behind (collection, uri), in that order: of one state,
        and with `wanted` in title or uri, where these are given."""
        return await self._select(
            scope, None, collection=collection, after=after, limit=limit, state=state, wanted=wanted
        )

    async def collections(self, scope: Scope) -> dict[str, int]:
        """Return how many documents the scope sees in each collection, by name."""
        values = {"tenant": scope.tenant, "collections": collections_of(scope)}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["collections"], values)
            return {row["collection"]: row["documents"] async for row in cursor}

    async def _select(
        self,
        scope: Scope,
        document_id: DocumentId | None,
        *,
        collection: str | None = None,
        after: tuple[str, str] | None = None,
        limit: int | None = None,
        state: str | None = None,
        wanted: str | None = None,
    ) -> list[Document]:
        values = {
            "tenant": scope.tenant,
            "id": document_id,
            "collections": collections_of(scope),
            "collection": collection,
            "after_collection": after[0] if after else None,
            "after_uri": after[1] if after else None,
            "limit": limit,
            "state": state,
            "wanted": wanted,
        }
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["list_documents"], values)
            return [_document(row) async for row in cursor]

    async def find(self, scope: Scope, collection: str, uri: str) -> DocumentId | None:
        async with transaction(self._pool, scope) as connection:
            return await find_document(connection, scope.tenant, collection, uri)

    async def text(self, scope: Scope, document_id: DocumentId, as_of: date | None = None) -> str:
        await self.get(scope, document_id)
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(
                    _SQL["text"], {"tenant": scope.tenant, "id": document_id, "as_of": as_of}
                )
            ).fetchone()
        return str(row["text"]) if row else ""

    async def revision_text(self, scope: Scope, document_id: DocumentId, number: int) -> str | None:
        """Return what was read of a revision, None where it was not read or is kept no longer.
        Raises: DocumentNotFound."""
        await self.get(scope, document_id)
        values = {"tenant": scope.tenant, "id": document_id, "number": number}
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["revision_text"], values)).fetchone()
        return str(row["text"]) if row else None

    async def chunks(self, scope: Scope, document_id: DocumentId) -> list[Chunk]:
        await self.get(scope, document_id)
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["list_chunks"], {"tenant": scope.tenant, "id": document_id}
            )
            return [_chunk(row) async for row in cursor]

    async def some_texts(self, scope: Scope, limit: int) -> list[str]:
        """Return texts of chunks, drawn without regard to what they are; the same ones again."""
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["some_texts"], {"tenant": scope.tenant, "limit": limit}
            )
            return [row["text"] async for row in cursor]

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
                    valid_from=row["valid_from"],
                    valid_until=row["valid_until"],
                    current=row["current"],
                )
                async for row in cursor
            ]

    async def confirm(
        self,
        scope: Scope,
        chunk_ids: Sequence[ChunkId],
        as_of: date | None,
        *,
        sections: bool = False,
    ) -> dict[ChunkId, ConfirmedChunk]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["confirm"],
                {
                    "tenant": scope.tenant,
                    "ids": list(chunk_ids),
                    "collections": collections_of(scope),
                    "as_of": as_of,
                },
            )
            found = {
                ChunkId(row["id"]): ConfirmedChunk(
                    chunk=_chunk(row),
                    document_id=DocumentId(row["document"]),
                    uri=row["uri"],
                    title=row["title"],
                    collection=row["collection"],
                    metadata=row["metadata"],
                    revision=row["number"],
                    since=row["since"],
                )
                async for row in cursor
            }
            parts = [item for item, own in found.items() if own.chunk.section is not None]
            if not sections or not parts:
                return found
            cursor = await connection.execute(
                _SQL["sections"], {"tenant": scope.tenant, "ids": parts}
            )
            whole = {row["id"]: _section(found[row["id"]].chunk, row) async for row in cursor}
        # A revision that was retired between the two statements is not there any more.
        gone = set(parts) - whole.keys()
        return {
            item: replace(own, chunk=whole.get(item, own.chunk))
            for item, own in found.items()
            if item not in gone
        }

    async def delete(self, scope: Scope, document_id: DocumentId) -> Deleted:
        async with transaction(self._pool, scope) as connection:
            return await self._delete(connection, scope, document_id)

    async def delete_version(
        self, scope: Scope, collection: str, uri: str, version: int
    ) -> Deleted | Outdated | None:
        if not scope.operator:  # who cannot see a document must not end its versions either
            raise forbidden(uri)
        async with transaction(self._pool, scope) as connection:
            found = await end_version(connection, scope, collection, uri, version)
            if found is None or isinstance(found, Outdated):
                return found
            return await self._delete(connection, scope, found)

    async def _delete(
        self, connection: Connection, scope: Scope, document_id: DocumentId
    ) -> Deleted:
        keys = {"tenant": scope.tenant, "id": document_id}
        place = keys | {"collections": collections_of(scope)}
        locked = await (await connection.execute(_SQL["lock_for_delete"], place)).fetchone()
        if locked is None:
            raise _not_found(document_id)
        blobs = [
            row["blob"] async for row in await connection.execute(_SQL["document_blobs"], keys)
        ]
        # Answers to others quote the document too, so they are counted and deleted for all.
        await connection.execute(_SQL["see_all_records"])
        before = await self._count(connection, keys) | {"documents": 1}
        await connection.execute(_SQL["forget_what_follows"], keys)
        await connection.execute(_SQL["delete_quoting_turns"], keys)
        await connection.execute(_SQL["delete_traces"], keys)
        await connection.execute(_SQL["delete_document"], keys)
        await add_change(connection, scope.tenant, "deleted", document_id, None)
        after = await self._count(connection, keys)
        return Deleted(document_id=document_id, receipts=counted(before, after), blobs=blobs)

    @asynccontextmanager
    async def unnamed(self, scope: Scope, blobs: Sequence[str]) -> AsyncIterator[list[str]]:
        # The locks are the session's, so that no transaction is open while bytes are deleted.
        async with self._pool.connection() as connection:
            held: list[dict[str, Any]] = []
            try:
                # In one order, so that nobody waits in a circle; and only where it may matter.
                for blob in sorted(await self._unnamed(connection, scope.tenant, blobs)):
                    held.append({"tenant": scope.tenant, "blob": blob})
                    await connection.execute(_SQL["hold_blob"], held[-1])
                await connection.commit()
                yield await self._unnamed(connection, scope.tenant, [h["blob"] for h in held])
            finally:
                await connection.rollback()
                for keys in held:
                    await connection.execute(_SQL["let_go_blob"], keys)

    async def _unnamed(
        self, connection: Connection, tenant: Tenant, blobs: Sequence[str]
    ) -> list[str]:
        async with connection.transaction():
            await enter(connection, Scope.for_operator(tenant))
            cursor = await connection.execute(
                _SQL["blobs_in_use"], {"tenant": tenant, "blobs": list(blobs)}
            )
            named = {row["blob"] async for row in cursor}
        return [blob for blob in dict.fromkeys(blobs) if blob not in named]

    async def changes(self, scope: Scope, after: tuple[int, int], limit: int) -> list[ChangeEvent]:
        if not scope.operator:
            raise Forbidden("only an operator may follow the changes", hint="leave --as out")
        return await changes(self._pool, scope, after, limit)

    async def _count(self, connection: Connection, keys: Mapping[str, Any]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for query in ("count_rows", "count_quoting_turns", "count_traces"):
            row = await (await connection.execute(_SQL[query], keys)).fetchone()
            counts |= row or {}
        return counts

    async def counts(self, scope: Scope) -> dict[str, int]:
        """Return how many documents, chunks and waiting revisions the scope may see."""
        async with transaction(self._pool, scope) as connection:
            row = await (
                await connection.execute(
                    _SQL["counts"], {"tenant": scope.tenant, "collections": collections_of(scope)}
                )
            ).fetchone()
        return dict(row or {})


def _not_found(document_id: DocumentId) -> DocumentNotFound:
    return DocumentNotFound(
        f"no document {document_id}", hint="`vade documents list` shows those you may see"
    )


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
        warnings=tuple(row["warnings"]),
        content_hash=row["content_hash"],
        fingerprint=row["fingerprint"],
        ingested_by=row["ingested_by"],
        valid_from=row["valid_from"],
        valid_until=row["valid_until"],
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
        section=None
        if row["section_start"] is None
        else (row["section_start"], row["section_end"]),
    )


def _section(chunk: Chunk, row: Mapping[str, Any]) -> Chunk:
    """Return a chunk with what its section holds in place of its own."""
    assert chunk.section is not None
    start, end = chunk.section
    first, last, breaks = on_pages(row["page_starts"], start, end)
    return replace(
        chunk,
        start=start,
        end=end,
        text=row["text"],
        context=row["context"],
        tokens=row["tokens"],
        heading_path=tuple(row["heading_path"]),
        page_start=first,
        page_end=last,
        page_breaks=breaks,
    )
