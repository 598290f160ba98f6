"""Finding passages, and getting checked answers."""

from collections.abc import AsyncGenerator
from functools import partial

from fastapi import Request
from starlette.responses import Response, StreamingResponse

from vademecum import interface
from vademecum.answer.pipeline import whole
from vademecum.errors import UsageError
from vademecum.model.answer import Answer, Event
from vademecum.model.ids import ConversationId
from vademecum.model.serving.key import Caller
from vademecum.server.forms import AskForm, SearchForm
from vademecum.server.leaving import unless_gone
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Calling, Seeing, Service, Serving
from vademecum.server.streams import framed

routes = Routes()
EVENTS = "text/event-stream"


@routes.add("POST", "/api/v1/search", permission="read", spends="work", audit="retrieval")
async def search(form: SearchForm, service: Serving, scope: Seeing) -> Response:
    """Find the passages nearest to a text."""
    found = await service.app.search(
        form.query,
        scope=scope,
        k=form.k,
        mode=form.mode,
        collections=form.among(),
        as_of=form.as_of,
        filter=form.wanted(),
    )
    return Json(interface.found_json(found, scope))


@routes.add(
    "POST", "/api/v1/ask", permission="read", spends="work", audit="retrieval", repeatable=True
)
async def ask(request: Request, form: AskForm, service: Serving, caller: Calling) -> Response:
    """Get an answer whose every sentence is backed; whole, or as events while it is written."""
    if form.temporary:
        _keep_nothing(request)
    events = answering(service, caller, form, request)
    if form.stream or EVENTS in request.headers.get("accept", ""):
        first = await opened(events)
        framing = framed(first, partial(_keep_nothing, request))
        return StreamingResponse(framing, media_type=EVENTS)
    answer: Answer = await unless_gone(request, whole(events))
    return Json(interface.answer_json(answer) | {"scope": interface.scope_json(caller.scope)})


def _keep_nothing(request: Request) -> None:
    """Let the same request be answered anew, whatever it is called (`server.repeats`)."""
    request.state.unkept = True


def answering(
    service: Service, caller: Caller, form: AskForm, request: Request
) -> AsyncGenerator[Event, None]:
    """Return the events of an answer, within the limits of the caller's key."""
    if form.temporary and (form.conversation_id is not None or form.again):
        raise UsageError("a temporary question belongs to no conversation", hint="leave one out")
    if form.again and form.conversation_id is None:
        raise UsageError("to ask again needs a conversation", hint="give conversation_id")
    events = service.app.stream(
        form.question,
        scope=caller.scope,
        collections=form.among(),
        conversation_id=ConversationId(form.conversation_id) if form.conversation_id else None,
        as_of=form.as_of,
        filter=form.wanted(),
        persona=form.persona,
        stage=form.stage,
        temporary=form.temporary,
        zone=form.zone,
        again=form.again,
    )
    return followed(service, caller, events, request)


def followed(
    service: Service, caller: Caller, events: AsyncGenerator[Event, None], request: Request
) -> AsyncGenerator[Event, None]:
    """Return the events of an answer within the limits of the caller's key, and for as long as it
    lives."""
    credential: str = request.state.credential

    async def alive() -> bool:
        return await service.app.catalogue.keyring.enter(credential) is not None

    return service.streams.follow(caller, events, alive)


async def opened(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """Return the same events once the first is there: what is wrong before it is no stream."""
    first = await anext(events)

    async def rest() -> AsyncGenerator[Event, None]:
        try:
            yield first
            async for event in events:
                yield event
        finally:
            await events.aclose()

    return rest()
