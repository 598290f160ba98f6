"""`vade recall`: what would be remembered of a person for a message, and what was said of it."""

import asyncio
from typing import Annotated

import typer

from vademecum.app import App
from vademecum.cli.conversations import conversation_id
from vademecum.cli.memories import (
    PersonaOption,
    StageOption,
    person_of,
    stage_named,
    with_app,
)
from vademecum.cli.options import COMMON, As, AsOf, day_of
from vademecum.cli.output import escape, out, print_json
from vademecum.interface import recall_json, recalled_json, recalled_turn_json, scope_json
from vademecum.model.memory import DEFAULT_PERSONA, Recall, Recalled
from vademecum.model.turn_unit import RecalledTurns

# Of what was said before, in one recall; and letters of each on a terminal.
_MOST_TURNS = 5
_MOST_SHOWN = 200


def recall(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="the message it may matter for")],
    principal: As = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="ID", help="its last message counts as well"),
    ] = None,
    persona: PersonaOption = DEFAULT_PERSONA,
    stage: StageOption = None,
    as_of: AsOf = None,
) -> None:
    """Show what would be remembered of a person for a message, and why, and what was said of it."""
    scope = person_of(principal)
    known, day = stage_named(stage), day_of(as_of)
    talk = conversation_id(conversation) if conversation else None

    async def all_of_it(app: App) -> tuple[Recall, RecalledTurns, bool]:
        finding = app.recall(
            text, scope=scope, conversation_id=talk, persona=persona, stage=known, as_of=day
        )
        # Turns are not kept as they stood on a day: what was said is said.
        turns = RecalledTurns(turns=(), conversations=(), degraded=())
        if day is not None:
            found = await finding
        else:
            said = app.recall_turns(text, scope=scope, k=_MOST_TURNS, persona=persona)
            found, turns = await asyncio.gather(finding, said)
        return found, turns, bool(found.all) or await app.remembering(scope=scope)

    found, turns, remembers = with_app(all_of_it)
    degraded = dict.fromkeys([*found.degraded, *turns.degraded])
    if COMMON.json:
        print_json(
            recall_json(found)
            | {
                "turns": [recalled_turn_json(turn) for turn in turns.turns],
                "degraded": list(degraded),
                "remembers": remembers,
            }
            | {"scope": scope_json(scope)}
        )
        return
    for recalled in found.profile:
        out.print(f"[bold]always[/]  {escape(recalled.memory.text)}")
    for recalled in found.memories:
        _show_recalled(recalled)
    if not remembers:
        out.print("remembering is switched off: `vade memories on` switches it on again")
    elif not found.all:
        out.print("nothing is remembered that matters here")
    _show_turns(turns)
    for part in degraded:
        out.print(f"[yellow]without {escape(part)}[/]")


def _show_recalled(recalled: Recalled) -> None:
    out.print(f"[bold]{recalled.score or 0:.3f}[/]   {escape(recalled.memory.text)}")
    if recalled.signals is not None:
        signals = recalled_json(recalled)["signals"]
        told = " · ".join(f"{name} {value:.3f}" for name, value in signals.items())
        out.print(f"        [dim]{told}[/]")


def _show_turns(found: RecalledTurns) -> None:
    if found.turns:
        out.print("[bold]said before[/], what is nearest first")
    for recalled in found.turns:
        turn = recalled.turn
        said = " ".join(turn.text.split())
        out.print(
            f"  [dim]{turn.created_at:%Y-%m-%d}[/] {escape(turn.speaker or turn.role)}:"
            f" {escape(said[:_MOST_SHOWN])}{'…' if len(said) > _MOST_SHOWN else ''}"
        )
