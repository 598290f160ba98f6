"""Documents: bringing them in, reading what was read from them, taking them out."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from pathlib import PurePath
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from vademecum import interface
from vademecum.adapters.sources.files import Facts, make
from vademecum.errors import UsageError
from vademecum.ingest.accept import MOST_BYTES
from vademecum.model.document import DEFAULT_COLLECTION, Document, IngestResult, Source
from vademecum.model.ids import DocumentId
from vademecum.model.principal import TENANT_LABEL, Scope
from vademecum.server.forms import DocumentForm
from vademecum.server.problems import Json
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Seeing, Service, Serving

routes = Routes()
_ONE = "/api/v1/documents/{document_id}"
_MOST_FILES = 100
_MOST_FIELDS = 50
_MOST_PAGE = 500
_ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"description": "accepted, not yet searchable"}}
_FILES = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "collection": {"type": "string"},
                        "access": {"type": "array", "items": {"type": "string"}},
                        "metadata": {"type": "string", "description": "a JSON object"},
                        "language": {"type": "string"},
                        "chunker": {"type": "string"},
                        "wait": {"type": "string", "enum": ["true", "false"]},
                    },
                }
            }
        },
    }
}


@routes.add("GET", "/api/v1/documents", permission="read", spends="read")
async def list_documents(
    service: Serving,
    scope: Seeing,
    collection: str | None = None,
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_PAGE)] = 100,
) -> Response:
    """List the documents that the caller may see, by collection and uri; `next` goes on."""
    found = await service.app.catalogue.documents.page(
        scope, collection=collection, after=cursor_of(after), limit=limit + 1
    )
    more = found[limit - 1] if len(found) > limit else None
    return Json(
        {
            "documents": [interface.document_json(document) for document in found[:limit]],
            "next": json.dumps([more.collection, more.uri]) if more else None,
        }
    )


def cursor_of(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    try:
        collection, uri = json.loads(text)
    except (ValueError, TypeError) as error:
        raise UsageError("this is no cursor", hint="give `next` of the page before") from error
    return str(collection), str(uri)


@routes.add(
    "POST",
    "/api/v1/documents",
    permission="write",
    spends="work",
    repeatable=True,
    most_bytes=25 * MEGABYTE,
    responses=_ACCEPTED,
)
async def bring_text(form: DocumentForm, service: Serving, scope: Seeing) -> Response:
    """Bring in one document as text."""
    source = Source(
        uri=form.uri,
        content=form.text.encode("utf-8", "replace"),
        collection=form.collection,
        access=tuple(form.access) if form.access is not None else (TENANT_LABEL,),
        metadata=form.metadata,
        language=form.language,
        title=form.title,
        version=form.version,
        chunker=form.chunker,
    )
    results = await service.app.ingest([source], scope=scope, wait=form.wait)
    return _brought(results, wait=form.wait)


@routes.add(
    "POST",
    "/api/v1/uploads",
    permission="write",
    spends="upload",
    repeatable=True,
    most_bytes=110 * MEGABYTE,
    responses=_ACCEPTED,
    openapi_extra=_FILES,
)
async def upload(request: Request, service: Serving, scope: Seeing) -> Response:
    """Bring in files (multipart fields `file`; `collection`, `access`, `metadata` as a JSON object,
    `language`, `chunker`, `wait`). They are spooled to disk as they come."""
    async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS) as form:
        files = [file for file in form.getlist("file") if isinstance(file, UploadFile)]
        if not files:
            raise UsageError("there is no file in it", hint="send it in a field `file`")
        facts = facts_of(form)
        wait = form.get("wait") in ("true", "1")
        results = await service.app.ingest(sources_of(files, facts), scope=scope, wait=wait)
    return _brought(results, wait=wait)


def sources_of(files: list[UploadFile], facts: Facts) -> Iterator[Source]:
    """Yield one file at a time; it is read in the thread that takes it, so one is in memory."""
    for file in files:
        name = PurePath((file.filename or "").replace("\\", "/")).name or "upload"
        file.file.seek(0)
        yield make(name, file.file.read(MOST_BYTES + 1), facts)


def facts_of(form: FormData) -> Facts:
    access = [str(label) for label in form.getlist("access") if str(label)]
    return Facts(
        collection=str(form.get("collection") or DEFAULT_COLLECTION),
        access=tuple(access) or (TENANT_LABEL,),
        metadata=_metadata(str(form.get("metadata") or "{}")),
        language=str(form.get("language")) if form.get("language") else None,
        chunker=str(form.get("chunker")) if form.get("chunker") else None,
    )


def _metadata(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("metadata is not JSON", hint='like {"season": 2026}') from error
    if not isinstance(values, dict):
        raise UsageError("metadata is no object", hint='like {"season": 2026}')
    return values


def _brought(results: list[IngestResult], *, wait: bool) -> Response:
    documents = [asdict(result) for result in results]
    return Json({"documents": documents}, 200 if wait else 202)


@routes.add("GET", _ONE, permission="read", spends="read")
async def show(document_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show all that is known of a document."""
    return Json(interface.document_json(await _get(service, scope, document_id)))


@routes.add("GET", _ONE + "/text", permission="read", spends="read")
async def text(
    document_id: UUID, service: Serving, scope: Seeing, as_of: date | None = None
) -> Response:
    """Return the text that offsets and citations point into."""
    found = await service.app.catalogue.documents.text(scope, DocumentId(document_id), as_of)
    return Json({"id": document_id, "text": found})


@routes.add("GET", _ONE + "/chunks", permission="read", spends="read")
async def chunks(document_id: UUID, service: Serving, scope: Seeing) -> Response:
    """List a document's chunks with their places."""
    found = await service.app.catalogue.documents.chunks(scope, DocumentId(document_id))
    return Json({"chunks": [interface.chunk_json(chunk) for chunk in found]})


@routes.add("GET", _ONE + "/history", permission="read", spends="read")
async def history(document_id: UUID, service: Serving, scope: Seeing) -> Response:
    """List a document's revisions, oldest first."""
    found = await service.app.catalogue.documents.history(scope, DocumentId(document_id))
    return Json({"revisions": [asdict(revision) for revision in found]})


@routes.add("GET", _ONE + "/original", permission="read", spends="read")
async def original(document_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Return the bytes as they came, to be kept as a file, never shown."""
    document = await _get(service, scope, document_id)
    content = await service.app.catalogue.blobs.get(scope.tenant, document.content_hash)
    headers = {"Content-Disposition": f'attachment; filename="{document_id}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


@routes.add("DELETE", _ONE, permission="write", spends="work")
async def delete(document_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Delete a document from every store; the receipt says what was found, deleted and left."""
    receipt = await service.app.catalogue.delete(DocumentId(document_id), scope=scope)
    return Json(interface.receipt_json(receipt))


async def _get(service: Service, scope: Scope, document_id: UUID) -> Document:
    return await service.app.catalogue.documents.get(scope, DocumentId(document_id))
