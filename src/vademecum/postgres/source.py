"""How does a source come in, and go, in one transaction each?"""

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from vademecum.errors import Forbidden, QueueFull
from vademecum.model.document import EFFECTIVE_KEYS, Source, State
from vademecum.model.ids import DocumentId, RevisionId, Tenant, new_uuid
from vademecum.model.principal import Scope
from vademecum.ports.store import Accepted, Outdated
from vademecum.postgres.change import add_change
from vademecum.postgres.pool import Connection
from vademecum.postgres.queries import load

# More documents of one tenant than this do not wait at a time; who brings more is told to wait.
MOST_WAITING = 10_000
_SQL = load("source")


async def accept(
    connection: Connection, scope: Scope, source: Source, content_hash: str, fingerprint: str
) -> Accepted | Outdated:
    """See `DocumentStore.accept`."""
    if source.version is not None:
        known = await _take_version(connection, scope.tenant, source, source.version)
        if known is not None:
            return known
    asked = _asked(scope.tenant, source, content_hash, fingerprint)
    await connection.execute(_SQL["name_blob"], asked)
    access_set = await _access_set(connection, scope.tenant, source.access)
    found = await _lock_or_make(connection, scope, source, access_set)
    document_id = DocumentId(found["id"])
    asked["document"] = document_id
    if source.version is not None:
        keys = {"tenant": scope.tenant, "id": document_id, "version": source.version}
        await connection.execute(_SQL["set_version"], keys)
    newest = await (await connection.execute(_SQL["newest_revision"], asked)).fetchone()
    revision_id: RevisionId | None = None
    if newest is None or not newest["same"] or newest["state"] == State.FAILED:
        await _check_room(connection, scope.tenant)
        revision_id = RevisionId(new_uuid())
        number = newest["number"] + 1 if newest else 1
        await connection.execute(
            _SQL["insert_revision"],
            asked
            | {"id": revision_id, "number": number, "ingested_by": scope.principal}
            | _effective(source),
        )
        await connection.execute(_SQL["enqueue_ingestion"], {"id": revision_id})
    if found["access_set"] != access_set or not found["same_metadata"]:
        await _change_facts(connection, scope.tenant, document_id, access_set, source)
    if revision_id is not None:
        return Accepted(document_id=document_id, revision_id=revision_id, unchanged=False)
    assert newest is not None
    return Accepted(
        document_id=document_id,
        revision_id=RevisionId(newest["id"]),
        unchanged=newest["state"] != State.ACCEPTED,
    )


async def known(
    connection: Connection, scope: Scope, source: Source, content_hash: str, fingerprint: str
) -> Accepted | None:
    """See `DocumentStore.known`."""
    keys = _asked(scope.tenant, source, content_hash, fingerprint) | _place(scope.tenant, source)
    keys["labels_key"] = labels_key(source.access)
    row = await (await connection.execute(_SQL["known"], keys)).fetchone()
    if row is None:
        return None
    return Accepted(
        document_id=DocumentId(row["document"]),
        revision_id=RevisionId(row["revision"]),
        unchanged=True,
    )


async def end_version(
    connection: Connection, scope: Scope, collection: str, uri: str, version: int
) -> DocumentId | Outdated | None:
    """Never take that version or an older one again; return the document that it was."""
    keys = {"tenant": scope.tenant, "key": _version_key(collection, uri), "version": version}
    if await (await connection.execute(_SQL["end_version"], keys)).fetchone() is None:
        return await _outdated(connection, keys, uri)
    return await find_document(connection, scope.tenant, collection, uri)


async def find_document(
    connection: Connection, tenant: Tenant, collection: str, uri: str
) -> DocumentId | None:
    """See `DocumentStore.find`."""
    place = {"tenant": tenant, "collection": collection, "uri": uri}
    row = await (await connection.execute(_SQL["find_document"], place)).fetchone()
    return DocumentId(row["id"]) if row else None


async def _take_version(
    connection: Connection, tenant: Tenant, source: Source, version: int
) -> Outdated | None:
    key = _version_key(source.collection, source.uri)
    keys = {"tenant": tenant, "key": key, "version": version}
    if await (await connection.execute(_SQL["take_version"], keys)).fetchone() is None:
        return await _outdated(connection, keys, source.uri)
    return None


async def _outdated(connection: Connection, keys: dict[str, Any], uri: str) -> Outdated:
    row = await (await connection.execute(_SQL["known_version"], keys)).fetchone()
    assert row is not None
    return Outdated(uri=uri, version=keys["version"], known=row["version"])


def _version_key(collection: str, uri: str) -> str:
    """Return what a tombstone is known by: it must not tell the name of what is gone."""
    return hashlib.sha256(json.dumps([collection, uri]).encode()).hexdigest()


async def _check_room(connection: Connection, tenant: Tenant) -> None:
    cursor = await connection.execute(_SQL["waiting"], {"tenant": tenant, "limit": MOST_WAITING})
    row = await cursor.fetchone()
    if row and row["waiting"] >= MOST_WAITING:
        raise QueueFull(
            f"{MOST_WAITING} documents wait already",
            hint="let `vade worker` run, or ingest without --no-wait",
        )


async def _access_set(connection: Connection, tenant: Tenant, access: Sequence[str]) -> int:
    labels = sorted(set(access))
    keys = {"tenant": tenant, "labels": labels, "labels_key": labels_key(access)}
    row = await (await connection.execute(_SQL["get_access_set"], keys)).fetchone()
    if row is None:
        await connection.execute(_SQL["insert_access_set"], keys)
        row = await (await connection.execute(_SQL["get_access_set"], keys)).fetchone()
    assert row is not None
    return int(row["id"])


async def _lock_or_make(
    connection: Connection, scope: Scope, source: Source, access_set: int
) -> dict[str, Any]:
    place = _place(scope.tenant, source)
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
            },
        )
        found = await (await connection.execute(_SQL["lock_document"], place)).fetchone()
    if found is None:
        raise forbidden(source.uri)
    return found


async def _change_facts(
    connection: Connection,
    tenant: Tenant,
    document_id: uuid.UUID,
    access_set: int,
    source: Source,
) -> None:
    """Apply labels and metadata at once, to the rows of the index too."""
    facts = {
        "tenant": tenant,
        "id": document_id,
        "access_set": access_set,
        "metadata": Jsonb(dict(source.metadata)),
    } | _effective(source)
    await connection.execute(_SQL["update_document_facts"], facts)
    await connection.execute(_SQL["update_effective_days"], facts)
    await connection.execute(_SQL["move_index_access"], facts)
    await connection.execute(_SQL["set_validity"], facts)
    await add_change(connection, tenant, "changed", DocumentId(document_id), None)


def _asked(tenant: Tenant, source: Source, content_hash: str, fingerprint: str) -> dict[str, Any]:
    """Return what makes a revision another one than the newest."""
    return {
        "tenant": tenant,
        "content_hash": content_hash,
        "fingerprint": fingerprint,
        "asked_title": source.title,
        "asked_language": source.language,
        "asked_chunker": source.chunker,
    }


def _place(tenant: Tenant, source: Source) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "collection": source.collection,
        "uri": source.uri,
        "metadata": Jsonb(dict(source.metadata)),
    }


def labels_key(access: Sequence[str]) -> str:
    """Return what is the same for the same labels, in whatever order."""
    return hashlib.sha256(json.dumps(sorted(set(access))).encode()).hexdigest()


def forbidden(uri: str) -> Forbidden:
    """Return what tells that a scope may not write a document."""
    return Forbidden(
        f"{uri} may not be written with these labels, or in this collection",
        hint="give the document a label that you have",
    )


def _effective(source: Source) -> dict[str, Any]:
    """Return the days of a source's metadata; `ingest.accept` has checked that they are days."""
    return {key: source.metadata.get(key) for key in EFFECTIVE_KEYS}
