"""What is in, what was read from it, how does it come in and how does it go?"""

import asyncio
import json
from uuid import UUID

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.responses import Response

from vademecum.adapters.parsers.media_type import PDF
from vademecum.errors import NotFound, UsageError
from vademecum.model.document import Document, Revision, State
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.model.principal import Scope
from vademecum.ports.painter import PagePainter
from vademecum.server.api.documents import cursor_of, facts_of, sources_of
from vademecum.server.routes import MEGABYTE, Routes
from vademecum.server.service import Calling, Seeing, Service, Serving
from vademecum.server.web.differences import differences
from vademecum.server.web.excerpt import Excerpt, around, outlined
from vademecum.server.web.site import page, see, wants_part

routes = Routes()
_ONE = "/sources/{document_id}"
_PAGE = 50
_MOST_FILES = 100
_MOST_FIELDS = 50
# A picture takes a process and some hundred milliseconds of a core.
_PAINTING = asyncio.Semaphore(2)
# Two long texts that have little in common take some tenths of a second.
_COMPARING = asyncio.Semaphore(2)
_MOST_WORDS = 4_000


@routes.add("GET", "/sources", permission="read", spends="read", page=True)
async def list_sources(
    request: Request,
    service: Serving,
    caller: Calling,
    collection: str = "",
    state: str = "",
    q: str = "",
    after: str = "",
) -> Response:
    """List documents; what narrows the list stands in the address."""
    documents = service.app.catalogue.documents
    found = await documents.page(
        caller.scope,
        collection=collection or None,
        after=cursor_of(after) if after else None,
        limit=_PAGE + 1,
        state=state if state in list(State) else None,
        wanted=q.strip() or None,
    )
    last = found[_PAGE - 1] if len(found) > _PAGE else None
    return page(
        request,
        "sources.html",
        documents=found[:_PAGE],
        collections=await documents.collections(caller.scope),
        states=[value.value for value in State],
        filters={"collection": collection, "state": state, "q": q},
        next=json.dumps([last.collection, last.uri]) if last else "",
        after=after,
        labels=_labels(caller.scope),
    )


def _labels(scope: Scope) -> list[str]:
    """Return who a document may be shown to, everybody first."""
    return sorted(scope.labels, key=lambda label: (label != "tenant", label))


@routes.add(
    "POST",
    "/sources",
    permission="write",
    spends="upload",
    page=True,
    most_bytes=110 * MEGABYTE,
)
async def upload(request: Request, service: Serving, scope: Seeing) -> Response:
    """Take files in; the work on them goes on when the page has been left."""
    async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS) as form:
        files = [f for f in form.getlist("file") if isinstance(f, UploadFile) and f.filename]
        if not files:
            raise UsageError("there is no file in it", hint="choose one")
        sources = sources_of(files, facts_of(form))
        results = await service.app.ingest(sources, scope=scope, wait=False)
    if wants_part(request):
        return page(request, "parts/brought.html", results=results)
    return see("/sources")


@routes.add("GET", _ONE + "/row", permission="read", spends="read", page=True)
async def row(document_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Return one row of the list, for a document on which is worked."""
    document = await _get(service, scope, document_id)
    return page(request, "parts/source_row.html", document=document)


@routes.add("GET", _ONE + "/passage", permission="read", spends="read", page=True)
async def passage(
    document_id: UUID,
    request: Request,
    service: Serving,
    scope: Seeing,
    chunk: UUID,
    start: int = 0,
    end: int = 0,
) -> Response:
    """Show a cited passage in its document: on the page's picture, and in the text around it."""
    document = await _get(service, scope, document_id)
    documents = service.app.catalogue.documents
    confirmed = await documents.confirm(scope, [ChunkId(chunk)], None, sections=True)
    found = confirmed.get(ChunkId(chunk))
    text = await documents.text(scope, document.id)
    known = found is not None and found.document_id == document.id
    excerpt: Excerpt | None = None
    pages: list[int] = []
    if known and found is not None and 0 <= start < end <= len(text):
        excerpt = around(text, start, end)
        first, last = found.chunk.page_at(start), found.chunk.page_at(end - 1)
        if document.media_type == PDF and first is not None and last is not None:
            pages = list(range(first, min(last, first + 2) + 1))
    name = "parts/evidence.html" if wants_part(request) else "passage.html"
    return page(
        request,
        name,
        document=document,
        source=found if known else None,
        excerpt=excerpt,
        pages=pages,
        start=start,
        end=end,
    )


@routes.add("GET", _ONE + "/pages/{number}.png", permission="read", spends="read")
async def picture(
    document_id: UUID,
    number: int,
    service: Serving,
    scope: Seeing,
    start: int = 0,
    end: int = 0,
) -> Response:
    """Return a page of a PDF as a picture, with a span of the text marked on it. It is drawn in a
    child process, as the document was read in one."""
    document = await _get(service, scope, document_id)
    parser = service.app.ingest_parts.parser
    if document.media_type != PDF or not isinstance(parser, PagePainter):
        raise NotFound("there is no picture of this", hint="open the original")
    words = ""
    if 0 <= start < end:
        text = await service.app.catalogue.documents.text(scope, document.id)
        words = text[start : min(end, start + _MOST_WORDS)]
    # Of what is in force: the newest bytes may not have been read yet.
    history = await service.app.catalogue.documents.history(scope, document.id)
    current = next((one.content_hash for one in history if one.current), document.content_hash)
    content = await service.app.catalogue.blobs.get(scope.tenant, current)
    async with _PAINTING:
        painted = await parser.paint(content, number, words)
    return Response(painted, media_type="image/png")


@routes.add("GET", _ONE, permission="read", spends="read", page=True)
async def show(document_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Show all that is known of a document, and what was read from it beside its pages."""
    document = await _get(service, scope, document_id)
    documents = service.app.catalogue.documents
    text = await documents.text(scope, document.id)
    chunks = await documents.chunks(scope, document.id)
    history = await documents.history(scope, document.id)
    last = max((chunk.page_end or 0 for chunk in chunks), default=0)
    return page(
        request,
        "source.html",
        document=document,
        history=history,
        read=_read(history),
        outline=outlined(text, chunks),
        letters=len(text),
        pages=list(range(1, last + 1)) if document.media_type == PDF else [],
    )


def _read(history: list[Revision]) -> list[int]:
    """Return the numbers of the revisions that have a text, oldest first."""
    return [one.number for one in history if one.state in (State.READY, State.PARTIAL)]


@routes.add("GET", _ONE + "/changes", permission="read", spends="work", page=True)
async def changes(
    document_id: UUID,
    request: Request,
    service: Serving,
    scope: Seeing,
    before: int = 0,
    after: int = 0,
) -> Response:
    """Show what one revision says and another does not; without numbers the last two."""
    document = await _get(service, scope, document_id)
    documents = service.app.catalogue.documents
    history = await documents.history(scope, document.id)
    read = _read(history)
    numbers = (before or (read[-2] if len(read) > 1 else 0), after or (read[-1] if read else 0))
    texts = [await documents.revision_text(scope, document.id, number) for number in numbers]
    if texts[0] is None or texts[1] is None:
        raise NotFound("there is no such revision to compare", hint="choose two that were read")
    async with _COMPARING:
        found = await asyncio.to_thread(differences, texts[0], texts[1])
    return page(
        request,
        "changes.html",
        document=document,
        history=[one for one in history if one.number in read],
        numbers=numbers,
        found=found,
    )


@routes.add("GET", _ONE + "/delete", permission="write", spends="read", page=True)
async def ask_delete(
    document_id: UUID, request: Request, service: Serving, scope: Seeing
) -> Response:
    """Show what would go, before it goes."""
    document = await _get(service, scope, document_id)
    history = await service.app.catalogue.documents.history(scope, document.id)
    return page(request, "delete_source.html", document=document, history=history)


@routes.add("POST", _ONE + "/delete", permission="write", spends="work", page=True)
async def delete(document_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Delete a document from every store, and show the receipt."""
    receipt = await service.app.catalogue.delete(DocumentId(document_id), scope=scope)
    return page(request, "receipt.html", receipt=receipt, what="document", back="/sources")


@routes.add("POST", _ONE + "/retry", permission="write", spends="work", page=True)
async def retry(document_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Read a document once more that failed, or was read in part."""
    document = await _get(service, scope, document_id)
    await service.app.catalogue.jobs.retry(scope, document.id)
    return see(f"/sources/{document.id}")


async def _get(service: Service, scope: Scope, document_id: UUID) -> Document:
    return await service.app.catalogue.documents.get(scope, DocumentId(document_id))
