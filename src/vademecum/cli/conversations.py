"""`vade conversations`: what was said, taking it with you, and taking it out."""

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

import typer

from vademecum.catalogue import Catalogue
from vademecum.cli.documents import show_receipt, with_catalogue
from vademecum.cli.options import COMMON, As, Labels, Persona, command, scope_of
from vademecum.cli.output import escape, out, print_json
from vademecum.errors import UsageError
from vademecum.interface import dialogue_json
from vademecum.model.ids import ConversationId
from vademecum.talking import Dialogue

conversations = typer.Typer(no_args_is_help=True, help="What was said, and taking it out.")
Id = Annotated[str, typer.Argument(metavar="ID", help="a conversation's id")]


def conversation_id(text: str) -> ConversationId:
    """Return the id that a person typed. Raises: UsageError."""
    try:
        return ConversationId(UUID(text))
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not the id of a conversation",
            hint="`vade conversations list` shows the ids",
        ) from error


@conversations.command("list")
@command
def list_conversations(
    persona: Persona = None, principal: As = None, labels: Labels = None
) -> None:
    """List your conversations, the last used first."""
    scope = scope_of(principal, labels)
    found = with_catalogue(lambda catalogue: catalogue.talking.list(scope=scope, persona=persona))
    if COMMON.json:
        print_json({"conversations": [asdict(conversation) for conversation in found]})
        return
    if not found:
        out.print("no conversations yet: `vade ask` begins one")
        return
    for c in found:
        out.print(escape(c.title))
        told = f"{c.turns} turns · last used {c.last_at:%Y-%m-%d %H:%M} · {c.persona}"
        out.print(f"  [dim]{c.id}  {escape(told)}[/]")


@conversations.command("show")
@command
def show(name: Id, principal: As = None, labels: Labels = None) -> None:
    """Show all that was said in a conversation, and its summary."""
    scope = scope_of(principal, labels)
    wanted = conversation_id(name)
    dialogue = with_catalogue(lambda catalogue: catalogue.talking.show(wanted, scope=scope))
    if COMMON.json:
        print_json(dialogue_json(dialogue))
        return
    if dialogue.conversation.summary:
        out.print(f"[dim]{escape(dialogue.conversation.summary)}[/]\n")
    for turn in dialogue.turns:
        broken = "" if turn.state == "complete" else f" [yellow]({turn.state})[/]"
        speaker = escape(turn.speaker or turn.role)
        out.print(f"[bold]{speaker}[/]{broken} [dim]{turn.created_at:%Y-%m-%d %H:%M}[/]")
        out.print(escape(turn.text))


@conversations.command("export")
@command
def export(
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="a conversation's id; all without one")
    ] = None,
    principal: As = None,
    labels: Labels = None,
) -> None:
    """Print your conversations as JSON, every turn of them."""
    scope = scope_of(principal, labels)
    wanted = conversation_id(name) if name else None

    async def work(catalogue: Catalogue) -> list[Dialogue]:
        talking = catalogue.talking
        ids = [wanted] if wanted else [c.id for c in await talking.list(scope=scope)]
        return [await talking.show(each, scope=scope) for each in ids]

    print_json({"conversations": [dialogue_json(found) for found in with_catalogue(work)]})


@conversations.command("delete")
@command
def delete(name: Id, principal: As = None, labels: Labels = None) -> None:
    """Delete a conversation with its summary and all that was made from it."""
    scope = scope_of(principal, labels)
    wanted = conversation_id(name)
    receipt = with_catalogue(lambda catalogue: catalogue.talking.delete(wanted, scope=scope))
    show_receipt(receipt)
