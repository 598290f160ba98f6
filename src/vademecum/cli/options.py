"""Which options does every command take, and what do they make of one call?"""

import inspect
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from vademecum.errors import UsageError
from vademecum.model.filter import Filter, all_of
from vademecum.model.filter_json import read_filter, where
from vademecum.model.principal import Scope
from vademecum.settings import Loaded, load


@dataclass(slots=True)
class Common:
    """The options that every command takes, as they stand for this run."""

    json: bool = False
    tenant: str = "default"
    config: Path | None = None
    debug: bool = False

    def settings(self, flags: Mapping[str, Any] | None = None) -> Loaded:
        """Read the settings, and let logs of their level through to stderr. `flags` maps dotted
        keys to what the command's own options say; None is nothing."""
        loaded = load(config=self.config, flags=flags or {}, environment=os.environ)
        logging.basicConfig(
            level=loaded.settings.log.level.upper(), format="%(levelname)s %(name)s: %(message)s"
        )
        return loaded


# One command runs in a process; `command` fills this before it starts.
COMMON = Common()


_COMMON_OPTIONS: dict[str, Any] = {
    "json": Annotated[
        bool, typer.Option("--json", help="one JSON document on stdout, nothing else")
    ],
    "tenant": Annotated[str, typer.Option("--tenant", metavar="NAME", help="whose data")],
    "config": Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="the settings file")
    ],
    "debug": Annotated[bool, typer.Option("--debug", help="show where an error came from")],
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command --json, --tenant, --config and --debug beside its own options."""
    own = inspect.signature(function, eval_str=True)

    @wraps(function)
    def run(**values: Any) -> None:
        for name in _COMMON_OPTIONS:
            setattr(COMMON, name, values.pop(name))
        _check_name("--tenant", COMMON.tenant)
        function(**values)

    common = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=getattr(COMMON, name),
        )
        for name, annotation in _COMMON_OPTIONS.items()
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *common])
    run.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return run


def _check_name(option: str, name: str) -> None:
    """Refuse a name that is empty, or that no database could hold."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{option} is not valid text", hint="give it in UTF-8") from error
    if not name.strip():
        raise UsageError(f"{option} is empty", hint="give a name, or leave the option out")


As = Annotated[str | None, typer.Option("--as", metavar="PRINCIPAL", help="act as this principal")]
Labels = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="LABEL", help="a label that the principal has; repeatable"),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="a setting for this time; repeatable"),
]
Collection = Annotated[
    list[str] | None,
    typer.Option("-c", "--collection", metavar="NAME", help="only this collection; repeatable"),
]


AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], metavar="DATE", help="as it was on that day"),
]


Persona = Annotated[
    str | None, typer.Option("--persona", metavar="NAME", help="whom the conversation is with")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", help="only where it is so; repeatable"),
]
FilterJson = Annotated[
    str | None,
    typer.Option("--filter", metavar="JSON", help='like {"gte":["season",2025]}'),
]


def filter_of(pairs: list[str] | None, text: str | None) -> Filter | None:
    """Return what `--where` and `--filter` ask for together. Raises: InvalidFilter."""
    given = [read_filter(text)] if text is not None else []
    return all_of([*given, *map(where, pairs or ())])


def day_of(as_of: datetime | None) -> date | None:
    """Return the day that `--as-of` names."""
    return as_of.date() if as_of else None


def scope_of(principal: str | None, labels: list[str] | None) -> Scope:
    """Return the scope of a command: the operator's, or that of the principal it acts as."""
    if principal is None:
        if labels:
            raise UsageError("--labels needs --as", hint="say whose labels they are")
        return Scope.for_operator(COMMON.tenant)
    _check_name("--as", principal)
    for label in labels or ():
        _check_name("--labels", label)
    name = principal if ":" in principal else f"user:{principal}"
    return Scope.for_principal(COMMON.tenant, name, frozenset(labels or ()))
