"""What is remembered of whoever asks: only ever their own."""

from datetime import date
from uuid import UUID

from starlette.responses import Response

from vademecum import interface
from vademecum.errors import UsageError
from vademecum.model.ids import ConversationId, MemoryId
from vademecum.model.memory import STATES, Remembered
from vademecum.server.forms import EditForm, RecallForm, RememberForm, SwitchForm
from vademecum.server.problems import Json
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Serving

routes = Routes()
_SWITCH = "/api/v1/memories/remembering"
_ONE = "/api/v1/memories/{memory_id}"


@routes.add("GET", "/api/v1/memories", permission="memory", spends="read")
async def list_memories(
    service: Serving,
    scope: Seeing,
    persona: str | None = None,
    every: bool = False,  # a flag of the query string
    as_of: date | None = None,
) -> Response:
    """List what is remembered, oldest first; with `every` also what is superseded or expired."""
    found = await service.app.memories(
        scope=scope, persona=persona, states=STATES if every else None, as_of=as_of
    )
    return Json(
        {
            "memories": [interface.memory_json(memory) for memory in found],
            "remembers": await service.app.remembering(scope=scope),
            "scope": interface.scope_json(scope),
        }
    )


@routes.add(
    "POST",
    "/api/v1/memories",
    permission="memory",
    spends="work",
    repeatable=True,
    status_code=201,
)
async def remember(form: RememberForm, service: Serving, scope: Seeing) -> Response:
    """Remember one statement; what is known already is confirmed, not doubled."""
    done = await service.app.remember(
        form.text,
        scope=scope,
        persona=form.persona,
        kind=form.kind,
        importance=form.importance,
        pinned=form.pinned,
        expires_at=form.expires_at,
        client=form.client,
    )
    return Json(interface.remembered_json(done, scope), 201)


@routes.add(
    "POST", "/api/v1/memories/recall", permission="memory", spends="work", audit="retrieval"
)
async def recall(form: RecallForm, service: Serving, scope: Seeing) -> Response:
    """Return the profile and the memories that matter for a message, best first."""
    conversation = ConversationId(form.conversation_id) if form.conversation_id else None
    found = await service.app.recall(
        form.text,
        scope=scope,
        conversation_id=conversation,
        persona=form.persona,
        stage=form.stage,
        as_of=form.as_of,
    )
    return Json(interface.recall_json(found) | {"scope": interface.scope_json(scope)})


@routes.add("GET", _SWITCH, permission="memory", spends="read")
async def remembers(service: Serving, scope: Seeing) -> Response:
    """Tell whether anything is remembered of whoever asks."""
    return Json(interface.remembers_json(await service.app.remembering(scope=scope), scope))


@routes.add("PUT", _SWITCH, permission="memory", spends="work")
async def set_remembers(form: SwitchForm, service: Serving, scope: Seeing) -> Response:
    """Switch remembering on or off for oneself; what is known stays until it is forgotten."""
    done = await service.app.remembering(form.remembers, scope=scope)
    return Json(interface.remembers_json(done, scope))


@routes.add("GET", _ONE, permission="memory", spends="read")
async def show(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Show all that is known of a memory, and what it said before."""
    story = await service.app.memory(MemoryId(memory_id), scope=scope)
    return Json(interface.story_json(story))


@routes.add("PATCH", _ONE, permission="memory", spends="work")
async def edit(memory_id: UUID, form: EditForm, service: Serving, scope: Seeing) -> Response:
    """Change what a memory says, its kind, importance or expiry; pin it, or no longer."""
    given = form.model_dump(exclude_unset=True)
    if not given:
        raise UsageError("nothing is to be changed", hint="give a text or a value")
    done: Remembered | None = None
    if given.keys() - {"pinned"}:
        done = await service.app.edit_memory(
            MemoryId(memory_id),
            scope=scope,
            text=form.text,
            kind=form.kind,
            importance=form.importance,
            expires_at=form.expires_at,
        )
    now = done.memory.id if done else MemoryId(memory_id)
    if form.pinned is not None:
        memory = await service.app.pin(now, scope=scope, pinned=form.pinned)
        if done is None:
            return Json({"memory": interface.memory_json(memory)})
        now = memory.id
    story = await service.app.memory(now, scope=scope)
    told = interface.remembered_json(done, scope) if done else {}
    return Json(told | {"memory": interface.memory_json(story.memory)})


@routes.add("POST", _ONE + "/confirm", permission="memory", spends="work")
async def confirm(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Say that a memory is right; one that waited counts from now on."""
    done = await service.app.confirm(MemoryId(memory_id), scope=scope)
    return Json(interface.remembered_json(done, scope))


@routes.add("POST", _ONE + "/reject", permission="memory", spends="work")
async def reject(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Erase a memory that waits for the person's word."""
    await service.app.reject(MemoryId(memory_id), scope=scope)
    return Json({"id": memory_id, "deleted": True})


@routes.add("DELETE", _ONE, permission="memory", spends="work")
async def forget(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Erase a memory with its history and its place in the index."""
    await service.app.forget_memory(MemoryId(memory_id), scope=scope)
    return Json({"id": memory_id, "deleted": True})
