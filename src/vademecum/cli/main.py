"""The `vade` command: its table of contents, and what an error looks like."""

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vademecum.cli.options import COMMON, command
from vademecum.cli.output import err, print_json, say_error
from vademecum.errors import UsageError, VademecumError

_START, _MEMORY, _SYSTEM = "Start", "Memory", "System"
# Each command: the module of `vademecum.cli` that has it, its name there, and where help lists it.
_COMMANDS = {
    "demo": ("demo", "demo", _START),
    "ingest": ("ingest", "ingest", _START),
    "ask": ("ask", "ask", _START),
    "search": ("ask", "search", _START),
    "documents": ("documents", "documents", _START),
    "conversations": ("conversations", "conversations", _START),
    "explain": ("trace", "explain", _START),
    "replay": ("trace", "replay", _START),
    "forget": ("forget", "forget", _START),
    "remember": ("memories", "remember", _MEMORY),
    "recall": ("recall", "recall", _MEMORY),
    "memories": ("memories", "memories", _MEMORY),
    "serve": ("serve", "serve", _SYSTEM),
    "mcp": ("mcp", "mcp", _SYSTEM),
    "keys": ("serve", "keys", _SYSTEM),
    "worker": ("work", "worker", _SYSTEM),
    "jobs": ("work", "jobs", _SYSTEM),
    "changes": ("work", "changes", _SYSTEM),
    "eval": ("evaluate", "evaluate", _SYSTEM),
    "plan": ("plan", "plan", _SYSTEM),
    "bench": ("bench", "bench", _SYSTEM),
    "reindex": ("reindex", "reindex", _SYSTEM),
    "rollback": ("reindex", "rollback", _SYSTEM),
    "status": ("system", "status", _SYSTEM),
    "doctor": ("system", "doctor", _SYSTEM),
    "config": ("system", "config", _SYSTEM),
    "model": ("system", "model", _SYSTEM),
    "migrate": ("system", "migrate", _SYSTEM),
    "scrub": ("forget", "scrub", _SYSTEM),
    "export": ("export", "export", _SYSTEM),
    "backup": ("backup", "backup", _SYSTEM),
    "restore": ("backup", "restore", _SYSTEM),
    "stop": ("system", "stop", _SYSTEM),
}  # fmt: skip


class _OnDemand(Mapping[str, Any]):
    """The commands, each imported when it is asked for: `vade stop` needs no model's library."""

    def __getitem__(self, name: str) -> Any:
        module, attribute, panel = _COMMANDS[name]
        found = getattr(importlib.import_module(f"vademecum.cli.{module}"), attribute)
        holder = typer.Typer(pretty_exceptions_enable=False)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name, rich_help_panel=panel)
        else:
            holder.command(name, rich_help_panel=panel)(command(found))
        return typer.main.get_group(holder).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Table(TyperGroup):
    """The group of all commands."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**(values | {"commands": _OnDemand()}))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


vade = typer.Typer(
    cls=_Table,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask your documents; every sentence of an answer is backed by a passage you can check.",
)


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
