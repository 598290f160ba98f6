"""How does a person ask, and see sentence by sentence what backs the answer?"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any
from uuid import UUID

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import Response, StreamingResponse

from vademecum.answer.pipeline import whole
from vademecum.errors import UsageError, VademecumError
from vademecum.model.answer import Checked, Done, Event, Retrieved
from vademecum.model.conversation import Conversation
from vademecum.model.ids import ChunkId, ConversationId
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.server.api.search import EVENTS, answering, opened
from vademecum.server.forms import AskForm
from vademecum.server.leaving import unless_gone
from vademecum.server.routes import KILOBYTE, Routes
from vademecum.server.service import Calling, Seeing, Service, Serving
from vademecum.server.streams import frame
from vademecum.server.web.site import fragment, language_of, page, see, wants_events
from vademecum.server.web.threads import Exchange, may_keep, offers_in, open_thread
from vademecum.server.web.views import answer_view, checked_view, sources_of
from vademecum.text.normalise import fold

routes = Routes()
_ONE = "/c/{conversation_id}"
_MOST_LISTED = 60


@routes.add("GET", "/", permission="read", spends="read", page=True)
async def begin(
    request: Request,
    service: Serving,
    scope: Seeing,
    temporary: bool = False,
    q: str = "",
    ask: str = "",
) -> Response:
    """Show an empty thread, beside the conversations so far."""
    beside = await _beside(service, scope, q)
    return page(request, "ask.html", **beside, thread=None, temporary=temporary, asking=ask)


@routes.add("GET", _ONE, permission="read", spends="read", page=True)
async def go_on(
    conversation_id: UUID,
    request: Request,
    service: Serving,
    caller: Calling,
    every: bool = False,
    q: str = "",
    ask: str = "",
) -> Response:
    """Show a conversation with its answers, each as it was checked."""
    thread = await open_thread(service, caller, ConversationId(conversation_id), every=every)
    beside = await _beside(service, caller.scope, q)
    return page(request, "ask.html", **beside, thread=thread, temporary=False, asking=ask)


async def _beside(service: Service, scope: Scope, q: str) -> dict[str, Any]:
    """Return what stands around a thread: conversations and collections."""
    every = await service.app.talking.list(scope=scope)
    found = [conversation for conversation in every if _fits(conversation, q)]
    return {
        "conversations": found[:_MOST_LISTED],
        "more": max(0, len(found) - _MOST_LISTED),
        "q": q,
        "collections": await service.app.catalogue.documents.collections(scope),
    }


def _fits(conversation: Conversation, q: str) -> bool:
    return not q.strip() or fold(q.strip()) in fold(conversation.title)


@routes.add(
    "POST",
    "/ask",
    permission="read",
    spends="work",
    audit="retrieval",
    page=True,
    most_bytes=128 * KILOBYTE,
)
async def ask(request: Request, service: Serving, caller: Calling) -> Response:
    """Answer: sentence by sentence to a script, whole to a browser without one."""
    async with request.form() as fields:
        form = _form(fields)
    events = answering(service, caller, form, request)
    if wants_events(request):
        first = await opened(events)
        keeps = not form.temporary and await may_keep(service, caller)
        streamed = _streamed(request, form, first, keeps=keeps)
        return StreamingResponse(streamed, media_type=EVENTS)
    answer = await unless_gone(request, whole(events))
    if answer.conversation_id is not None:
        return see(f"/c/{answer.conversation_id}#end")
    beside = await _beside(service, caller.scope, "")
    told = Exchange(question=form.question, answers=(answer_view(answer),), offers=())
    return page(request, "ask.html", **beside, thread=None, temporary=True, asking="", told=told)


def _form(fields: FormData) -> AskForm:
    """Return what was asked. Raises: UsageError."""
    collection = str(fields.get("collection") or "")
    try:
        return AskForm(
            question=str(fields.get("question") or ""),
            conversation_id=UUID(text) if (text := str(fields.get("conversation") or "")) else None,
            collections=[collection] if collection else None,
            temporary=fields.get("temporary") == "1",
            again=fields.get("again") == "1",
            zone=str(fields.get("zone") or ""),
        )
    except (ValidationError, ValueError) as error:
        raise UsageError("this is no question", hint="write what you want to know") from error


async def _streamed(
    request: Request, form: AskForm, events: AsyncGenerator[Event, None], *, keeps: bool
) -> AsyncIterator[bytes]:
    """Yield parts of the page as events: `stage`, each `sentence`, and one of `done` and `error`
    at the end."""
    spoken = language_of(request)
    found: dict[ChunkId, ConfirmedChunk] = {}
    written = False
    async with aclosing(events):
        try:
            async for event in events:
                match event:
                    case Retrieved(passages=passages):
                        found = sources_of(passages)
                        text = spoken.count("ask.reading", len(passages))
                        yield frame("stage", {"stage": "reading", "text": text})
                    case Checked():
                        if not written:
                            written = True
                            text = spoken.say("ask.writing")
                            yield frame("stage", {"stage": "writing", "text": text})
                        said = checked_view(event, found)
                        yield frame(
                            "sentence", {"html": fragment(request, "parts/said.html", said=said)}
                        )
                    case Done():
                        yield frame("done", _ended(request, form, event, keeps=keeps))
        except VademecumError as error:
            html = fragment(request, "parts/error.html", error=error)
            yield frame("error", {"html": html})


def _ended(request: Request, form: AskForm, event: Done, *, keeps: bool) -> dict[str, Any]:
    """Return the whole answer as it will stand when the page is loaded again, and where that is."""
    answer = event.answer
    view = answer_view(answer)
    offers = offers_in(form.question) if keeps else ()
    html = fragment(
        request, "parts/answer.html", answer=view, question=form.question, newest=True,
        offers=offers,
    )  # fmt: skip
    place = f"/c/{answer.conversation_id}" if answer.conversation_id else ""
    return {"html": html, "url": place, "conversation": str(answer.conversation_id or "")}


@routes.add("POST", _ONE + "/rename", permission="read", spends="work", page=True)
async def rename(
    conversation_id: UUID, request: Request, service: Serving, scope: Seeing
) -> Response:
    """Give a conversation another title."""
    async with request.form() as form:
        title = str(form.get("title") or "")
    await service.app.talking.rename(ConversationId(conversation_id), title, scope=scope)
    return see(f"/c/{conversation_id}")


@routes.add("POST", _ONE + "/delete", permission="read", spends="work", page=True)
async def delete(
    conversation_id: UUID, request: Request, service: Serving, scope: Seeing
) -> Response:
    """Delete a conversation with all that was made from it, and show the receipt."""
    receipt = await service.app.talking.delete(ConversationId(conversation_id), scope=scope)
    return page(request, "receipt.html", receipt=receipt, what="conversation", back="/")
