"""The `vade` command: its table of contents, and what an error looks like."""

import importlib.metadata
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Annotated, Any

import typer

from vademecum.cli import ask as ask_commands
from vademecum.cli import backup as backup_commands
from vademecum.cli import demo as demo_commands
from vademecum.cli import evaluate as evaluate_commands
from vademecum.cli import export as export_commands
from vademecum.cli import forget as forget_commands
from vademecum.cli import ingest as ingest_commands
from vademecum.cli import mcp as mcp_commands
from vademecum.cli import memories as memory_commands
from vademecum.cli import plan as plan_commands
from vademecum.cli import recall as recall_commands
from vademecum.cli import reindex as reindex_commands
from vademecum.cli import serve as serve_commands
from vademecum.cli import system as system_commands
from vademecum.cli import trace as trace_commands
from vademecum.cli import work as work_commands
from vademecum.cli.conversations import conversations
from vademecum.cli.documents import documents
from vademecum.cli.options import COMMON, command
from vademecum.cli.output import err, print_json, say_error
from vademecum.errors import UsageError, VademecumError

vade = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask your documents; every sentence of an answer is backed by a passage you can check.",
)

_GETTING_STARTED = "Start"
_MEMORY = "Memory"
_SYSTEM = "System"


def _add(function: Callable[..., None], panel: str, name: str | None = None) -> None:
    vade.command(name or function.__name__, rich_help_panel=panel)(command(function))


_add(demo_commands.demo, _GETTING_STARTED)
_add(ingest_commands.ingest, _GETTING_STARTED)
_add(ask_commands.ask, _GETTING_STARTED)
_add(ask_commands.search, _GETTING_STARTED)
vade.add_typer(documents, name="documents", rich_help_panel=_GETTING_STARTED)
vade.add_typer(conversations, name="conversations", rich_help_panel=_GETTING_STARTED)
_add(trace_commands.explain, _GETTING_STARTED)
_add(trace_commands.replay, _GETTING_STARTED)
_add(forget_commands.forget, _GETTING_STARTED)
_add(memory_commands.remember, _MEMORY)
_add(recall_commands.recall, _MEMORY)
vade.add_typer(memory_commands.memories, name="memories", rich_help_panel=_MEMORY)
_add(serve_commands.serve, _SYSTEM)
_add(mcp_commands.mcp, _SYSTEM)
vade.add_typer(serve_commands.keys, name="keys", rich_help_panel=_SYSTEM)
_add(work_commands.worker, _SYSTEM)
vade.add_typer(work_commands.jobs, name="jobs", rich_help_panel=_SYSTEM)
_add(work_commands.changes, _SYSTEM)
vade.add_typer(evaluate_commands.evaluate, name="eval", rich_help_panel=_SYSTEM)
_add(plan_commands.plan, _SYSTEM)
_add(reindex_commands.reindex, _SYSTEM)
_add(reindex_commands.rollback, _SYSTEM)
_add(system_commands.status, _SYSTEM)
_add(system_commands.doctor, _SYSTEM)
vade.add_typer(system_commands.config, name="config", rich_help_panel=_SYSTEM)
vade.add_typer(system_commands.model, name="model", rich_help_panel=_SYSTEM)
_add(system_commands.migrate, _SYSTEM)
_add(forget_commands.scrub, _SYSTEM)
_add(export_commands.export, _SYSTEM)
_add(backup_commands.backup, _SYSTEM)
_add(backup_commands.restore, _SYSTEM)
_add(system_commands.stop, _SYSTEM)


def _version(wanted: bool) -> None:
    if wanted:
        print(importlib.metadata.version("vademecum"))
        raise typer.Exit


@vade.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    pass


def run(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit status."""
    sys.excepthook = _internal_error
    # Also an error in the words of a command is JSON where JSON was asked.
    COMMON.json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        # Called through the command, since the app's own call would replace our excepthook.
        status = typer.main.get_command(vade)(
            args=arguments, prog_name="vade", standalone_mode=False
        )
    except VademecumError as error:
        sys.exit(_fail(error))
    except (typer.Abort, KeyboardInterrupt):
        err.print("stopped")
        sys.exit(130)
    except typer.TyperException as error:
        sys.exit(_refuse(error))
    except BrokenPipeError:
        # Whoever read our output has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _refuse(error: typer.TyperException) -> int:
    """Say what was wrong with the words of the command; a group alone gets its help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":  # its help has been printed already
        return UsageError.exit_status
    message = error.format_message().rstrip(".").replace("\n", " ")
    path = context.command_path if context else "vade"
    return _fail(UsageError(message[:1].lower() + message[1:], hint=f"try `{path} --help`"))


def _fail(error: VademecumError) -> int:
    if COMMON.debug:
        sys.__excepthook__(type(error), error, error.__traceback__)
    if COMMON.json:
        print_json({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    say_error(error)
    return error.exit_status


def _internal_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> Any:
    """A fault of ours: one line, too, unless somebody wants to find it."""
    if COMMON.debug:
        sys.__excepthook__(kind, error, trace)
        return
    _fail(
        VademecumError(
            f"something broke inside ({kind.__name__})",
            hint="run it again with --debug and report what it prints",
        )
    )
