"""`vade remember`, `vade memories`: what is remembered of a person."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar
from uuid import UUID

import regex
import typer

from vademecum.app import App
from vademecum.cli.options import COMMON, As, AsOf, command, day_of, scope_of
from vademecum.cli.output import escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.interface import memory_json, remembered_json, remembers_json, story_json
from vademecum.model.ids import MemoryId
from vademecum.model.memory import (
    DEFAULT_PERSONA,
    KINDS,
    STAGES,
    STATES,
    Kind,
    Memory,
    Remembered,
    Stage,
)
from vademecum.model.principal import LOCAL_PRINCIPAL, Scope
from vademecum.remembering import moment_of

memories = typer.Typer(
    no_args_is_help=True, help="What is remembered of a person: see, correct, confirm, erase it."
)
T = TypeVar("T")
Id = Annotated[str, typer.Argument(metavar="ID", help="a memory's id")]
PersonaOption = Annotated[
    str, typer.Option("--persona", metavar="NAME", help="which side of the app")
]
KindOption = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help=f"one of {', '.join(KINDS)}")
]
Importance = Annotated[
    float | None, typer.Option("--importance", min=0, max=1, help="0 to 1; .5 unless told")
]
Expires = Annotated[
    str | None,
    typer.Option("--expires", metavar="WHEN", help="a date, a time, or a span like 30d, 12h, 90s"),
]
StageOption = Annotated[
    str | None,
    typer.Option("--stage", metavar="STAGE", help=f"how well they are known: {', '.join(STAGES)}"),
]
_SPAN = regex.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def with_app(work: Callable[[App], Awaitable[T]]) -> T:
    async def run() -> T:
        with working("opening", quiet=COMMON.json) as shown:
            async with open_app(COMMON.settings(), tell=shown.tell) as app:
                return await work(app)

    return asyncio.run(run())


def person_of(principal: str | None) -> Scope:
    """Return the scope of whose memories are meant; nobody's but one person's are ever."""
    return scope_of(LOCAL_PRINCIPAL if principal is None else principal, None)


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="one statement, in any language")],
    principal: As = None,
    kind: KindOption = None,
    importance: Importance = None,
    pin: Annotated[bool, typer.Option("--pin", help="always keep it at hand")] = False,
    expires: Expires = None,
    persona: PersonaOption = DEFAULT_PERSONA,
) -> None:
    """Remember one statement of a person; what is known already is confirmed, not doubled."""
    scope = person_of(principal)
    wanted, until = kind_named(kind), expiry(expires)
    done = with_app(
        lambda app: app.remember(
            text,
            scope=scope,
            kind=wanted,
            importance=importance,
            pinned=pin,
            expires_at=until,
            persona=persona,
        )
    )
    _show_done(done, scope)


@memories.command("list")
@command
def list_memories(
    principal: As = None,
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="NAME", help="of this one only")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="also what is superseded or expired")
    ] = False,
    as_of: AsOf = None,
) -> None:
    """List what is remembered of a person, or was believed on a day."""
    scope = person_of(principal)
    states = STATES if every else None

    async def work(app: App) -> tuple[list[Memory], bool]:
        listed = await app.memories(
            scope=scope, persona=persona, states=states, as_of=day_of(as_of)
        )
        return listed, await app.remembering(scope=scope)

    found, remembers = with_app(work)
    if COMMON.json:
        told = {"memories": [memory_json(m) for m in found]}
        print_json(told | remembers_json(remembers, scope))
        return
    if not remembers:
        out.print("remembering is off: `vade memories on` switches it on")
    elif not found:
        past = "nothing was remembered on that day"
        out.print(past if as_of else "nothing is remembered yet: `vade remember TEXT` does it")
    for memory in found:
        _show_listed(memory)


def _show_listed(memory: Memory) -> None:
    """Print a memory, and below it what tells it apart: on a narrow terminal, too."""
    told = [memory.state, memory.kind, f"since {memory.known_from:%Y-%m-%d}"]
    if memory.pinned:
        told.append("pinned")
    if memory.expires_at is not None:
        told.append(f"expires {memory.expires_at:%Y-%m-%d %H:%M}")
    out.print(escape(memory.text))
    out.print(f"  [dim]{memory.id}  {' · '.join(told)}[/]")


@memories.command("show")
@command
def show(memory_id: Id, principal: As = None) -> None:
    """Show all that is known of a memory: where it comes from, and what it said before."""
    scope = person_of(principal)
    known = _id(memory_id)
    story = with_app(lambda app: app.memory(known, scope=scope))
    values = story_json(story)
    if COMMON.json:
        print_json(values)
        return
    for key, value in values.items():
        if key != "versions" and (told := _told(value)):
            out.print(f"[bold]{key.replace('_', ' '):>22}[/]  {escape(told)}")
    for version in story.versions:
        until = f"until {version.known_until:%Y-%m-%d %H:%M}"
        out.print(f"[dim]{until:>22}  {escape(version.text)}[/]")


@memories.command("edit")
@command
def edit(
    memory_id: Id,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="what it says from now on")
    ] = None,
    principal: As = None,
    kind: KindOption = None,
    importance: Importance = None,
    expires: Expires = None,
) -> None:
    """Change what a memory says, its kind, importance or expiry."""
    scope = person_of(principal)
    known, wanted, until = _id(memory_id), kind_named(kind), expiry(expires)
    done = with_app(
        lambda app: app.edit_memory(
            known,
            scope=scope,
            text=text,
            kind=wanted,
            importance=importance,
            expires_at=until,
        )
    )
    _show_done(done, scope)


@memories.command("pin")
@command
def pin(memory_id: Id, principal: As = None) -> None:
    """Keep a memory always at hand."""
    _pin(memory_id, person_of(principal), pinned=True)


@memories.command("unpin")
@command
def unpin(memory_id: Id, principal: As = None) -> None:
    """Keep a memory at hand only where it matters."""
    _pin(memory_id, person_of(principal), pinned=False)


@memories.command("confirm")
@command
def confirm(memory_id: Id, principal: As = None) -> None:
    """Say that a memory is right; one that waited counts from now on."""
    scope = person_of(principal)
    known = _id(memory_id)
    _show_done(with_app(lambda app: app.confirm(known, scope=scope)), scope)


@memories.command("reject")
@command
def reject(memory_id: Id, principal: As = None) -> None:
    """Erase a memory that waits for the person's word."""
    scope = person_of(principal)
    known = _id(memory_id)
    with_app(lambda app: app.reject(known, scope=scope))
    _show_erased(memory_id)


@memories.command("forget")
@command
def forget(memory_id: Id, principal: As = None) -> None:
    """Erase a memory with its history and its place in the index."""
    scope = person_of(principal)
    known = _id(memory_id)
    with_app(lambda app: app.forget_memory(known, scope=scope))
    _show_erased(memory_id)


@memories.command("off")
@command
def off(principal: As = None) -> None:
    """Remember nothing more of a person, and recall nothing; what is known stays."""
    _switch(person_of(principal), on=False)


@memories.command("on")
@command
def on(principal: As = None) -> None:
    """Remember again; what was said while it was off is not learned from."""
    _switch(person_of(principal), on=True)


def _switch(scope: Scope, *, on: bool) -> None:
    done = with_app(lambda app: app.remembering(on, scope=scope))
    if COMMON.json:
        print_json(remembers_json(done, scope))
    else:
        out.print(f"remembering is {'on' if done else 'off'} for {escape(scope.principal)}")


def _pin(memory_id: str, scope: Scope, *, pinned: bool) -> None:
    known = _id(memory_id)
    memory = with_app(lambda app: app.pin(known, scope=scope, pinned=pinned))
    if COMMON.json:
        print_json({"memory": memory_json(memory)})
    else:
        out.print(f"{'pinned' if pinned else 'unpinned'}: {escape(memory.text)}")


def _show_done(done: Remembered, scope: Scope) -> None:
    if COMMON.json:
        print_json(remembered_json(done, scope))
        return
    why = f" ({done.why})" if done.why else ""
    out.print(f"[green]{done.outcome}[/]{escape(why)}: {escape(done.memory.text)}")
    out.print(f"[dim]{done.memory.id}  {done.memory.kind}[/]")


def _show_erased(memory_id: str) -> None:
    if COMMON.json:
        print_json({"id": memory_id, "deleted": True})
    else:
        out.print("[green]erased[/]")


def _told(value: object) -> str:
    """Return a value as a person reads it, "" for what is not known or is not so."""
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case frozenset():
            return ", ".join(sorted(map(str, value)))
    return str(value)


def kind_named(name: str | None) -> Kind | None:
    """Return the kind of a name. Raises: UsageError."""
    for kind in KINDS:
        if name == kind:
            return kind
    if name is None:
        return None
    raise UsageError(f"there is no kind {name!r}", hint=f"use {', '.join(KINDS)}")


def stage_named(name: str | None) -> Stage | None:
    """Return the stage of a name. Raises: UsageError."""
    for stage in STAGES:
        if name == stage:
            return stage
    if name is None:
        return None
    raise UsageError(f"there is no stage {name!r}", hint=f"use {', '.join(STAGES)}")


def expiry(text: str | None) -> datetime | None:
    """Return the time that `--expires` names: the end of a date, a time (UTC unless told), or so
    long from now. Raises: UsageError."""
    if text is None:
        return None
    if span := _SPAN.fullmatch(text.strip()):
        return datetime.now(UTC) + timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        named = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is no date, time or span", hint="like 2027-01-31, or 30d"
        ) from error
    return moment_of(named.date() if len(text.strip()) == len("2027-01-31") else named)


def _id(text: str) -> MemoryId:
    try:
        return MemoryId(UUID(text))
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not the id of a memory", hint="`vade memories list` shows the ids"
        ) from error
