"""What is remembered of me, where does it come from, and how do I change or end it?"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import Request
from starlette.responses import Response

from vademecum.model.ids import MemoryId
from vademecum.model.memory import KINDS, STATES, Memory
from vademecum.model.principal import Scope
from vademecum.server.routes import Routes
from vademecum.server.service import Seeing, Service, Serving
from vademecum.server.web.pages.sign_in import forget_session
from vademecum.server.web.site import local, page, see, wants_part

routes = Routes()
_ONE = "/memory/{memory_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The memories of one kind, newest first; each with what it replaced, newest first."""

    kind: str
    memories: tuple[tuple[Memory, tuple[Memory, ...]], ...]


@routes.add("GET", "/memory", permission="memory", spends="read", page=True)
async def list_memories(request: Request, service: Serving, scope: Seeing) -> Response:
    """Show what waits for a word first, then everything by kind."""
    every = await service.app.memories(scope=scope, states=STATES)
    pending = [memory for memory in every if memory.state == "pending"]
    return page(
        request,
        "memory.html",
        pending=pending[::-1],
        groups=grouped(every),
        remembers=await service.app.remembering(scope=scope),
        total=sum(memory.state in ("active", "held") for memory in every),
    )


def grouped(every: Sequence[Memory]) -> list[Group]:
    """Return memories by kind, those that are history under the one that took their place."""
    replaced: dict[UUID, list[Memory]] = {}
    for memory in every:
        if memory.superseded_by is not None:
            replaced.setdefault(memory.superseded_by, []).append(memory)
    shown = [m for m in every if m.state in ("active", "held", "archived")]
    return [
        Group(
            kind=kind,
            memories=tuple(
                (memory, tuple(_line(memory, replaced)))
                for memory in sorted(shown, key=lambda one: one.changed_at, reverse=True)
                if memory.kind == kind
            ),
        )
        for kind in KINDS
        if any(memory.kind == kind for memory in shown)
    ]


def _line(memory: Memory, replaced: dict[UUID, list[Memory]]) -> list[Memory]:
    """Return everything that a memory took the place of, and what that had taken the place of."""
    line: list[Memory] = []
    waiting = list(replaced.get(memory.id, ()))
    while waiting:
        older = waiting.pop()
        line.append(older)
        waiting += replaced.get(older.id, ())
    return sorted(line, key=lambda one: one.created_at, reverse=True)


@routes.add("POST", "/memory", permission="memory", spends="work", page=True)
async def remember(request: Request, service: Serving, scope: Seeing) -> Response:
    """Keep a statement in the words that the person chose."""
    async with request.form() as form:
        text, place = str(form.get("text") or ""), local(str(form.get("next") or "/memory"))
    done = await service.app.remember(text, scope=scope)
    if wants_part(request):
        return page(request, "parts/kept.html", done=done)
    return see(place)


@routes.add("POST", "/memory/remembering", permission="memory", spends="work", page=True)
async def switch(request: Request, service: Serving, scope: Seeing) -> Response:
    """Switch remembering on or off for oneself."""
    async with request.form() as form:
        on = form.get("on") == "1"
    await service.app.remembering(on, scope=scope)
    return see("/memory")


@routes.add("POST", _ONE + "/confirm", permission="memory", spends="work", page=True)
async def confirm(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Say that a memory is right."""
    await service.app.confirm(MemoryId(memory_id), scope=scope)
    return see("/memory")


@routes.add("POST", _ONE + "/reject", permission="memory", spends="work", page=True)
async def reject(memory_id: UUID, service: Serving, scope: Seeing) -> Response:
    """Erase a memory that waits for a word."""
    await service.app.reject(MemoryId(memory_id), scope=scope)
    return see("/memory")


@routes.add("POST", _ONE + "/edit", permission="memory", spends="work", page=True)
async def edit(memory_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Change what a memory says; one that waited is confirmed with it."""
    async with request.form() as form:
        text = str(form.get("text") or "")
    known = await service.app.memory(MemoryId(memory_id), scope=scope)
    now = known.memory
    if text.strip() and text != now.text:
        now = (await service.app.edit_memory(now.id, scope=scope, text=text)).memory
    if known.memory.state == "pending":
        now = (await service.app.confirm(now.id, scope=scope)).memory
    return see(f"/memory#m-{now.id}")


@routes.add("POST", _ONE + "/pin", permission="memory", spends="work", page=True)
async def pin(memory_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Keep a memory always at hand, or no longer."""
    async with request.form() as form:
        pinned = form.get("pinned") == "1"
    memory = await service.app.pin(MemoryId(memory_id), scope=scope, pinned=pinned)
    return see(f"/memory#m-{memory.id}")


@routes.add("POST", _ONE + "/forget", permission="memory", spends="work", page=True)
async def forget(memory_id: UUID, request: Request, service: Serving, scope: Seeing) -> Response:
    """Erase a memory with its history."""
    await service.app.forget_memory(MemoryId(memory_id), scope=scope)
    if wants_part(request):
        return page(request, "parts/forgotten.html")
    return see("/memory")


@routes.add("GET", "/memory/erase", permission="memory", spends="read", page=True)
async def ask_erase(request: Request, service: Serving, scope: Seeing) -> Response:
    """Show what exists of the person, store by store, before anything goes."""
    return await _erase_page(request, service, scope, wrong=False)


async def _erase_page(request: Request, service: Service, scope: Scope, *, wrong: bool) -> Response:
    own = scope.as_person()
    held = await service.app.catalogue.would_forget(scope=own)
    status = 400 if wrong else 200
    return page(
        request, "erase.html", status=status, held=held, principal=own.principal, wrong=wrong
    )


@routes.add("POST", "/memory/erase", permission="memory", spends="work", page=True)
async def erase(request: Request, service: Serving, scope: Seeing) -> Response:
    """Forget the person in every store, once they have typed who they are; show the receipt."""
    async with request.form() as form:
        typed = str(form.get("confirm") or "").strip()
    if typed != scope.principal:
        return await _erase_page(request, service, scope, wrong=True)
    receipt = await service.app.forget(scope=scope.as_person())
    request.state.caller = None  # the key went as well
    answer = page(request, "receipt.html", receipt=receipt, what="person", back="/sign-in")
    forget_session(request, answer)
    return answer
