"""`vade serve`, `vade keys`: letting people and programs in."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from vademecum.cli.documents import with_catalogue
from vademecum.cli.memories import expiry
from vademecum.cli.options import COMMON, command
from vademecum.cli.output import err, escape, out, print_json
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.interface import key_json
from vademecum.model.ids import KeyId
from vademecum.model.principal import Scope
from vademecum.model.serving.key import PERMISSIONS, ApiKey

keys = typer.Typer(no_args_is_help=True, help="Who may come in over HTTP, as whom and for what.")


def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="where to listen")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="at which port; 0 = any")
    ] = None,
    worker: Annotated[bool, typer.Option(help="also do the work in the background")] = True,
) -> None:
    """Serve the HTTP API and the pages, until stopped."""
    # Loads the web framework, which no other command needs.
    from vademecum.server.serve import Serving
    from vademecum.server.serve import serve as run_server

    loaded = COMMON.settings({"server.host": host, "server.port": port})

    def ready(serving: Serving) -> None:
        if COMMON.json:
            print_json({"url": serving.url}, compact=True)
            return
        err.print(f"listening on {serving.url}; stop with Ctrl-C")
        if serving.first_key:
            _tell_first(serving.first_key, loaded.home / "admin.key")

    async def run() -> None:
        async with open_app(loaded, tell=err.print) as app:
            await run_server(app, loaded, worker=worker, ready=ready)

    asyncio.run(run())


def _tell_first(text: str, path: Path) -> None:
    """Say where the first key is; the key itself only to a person who looks."""
    err.print(f"the first key, for everything, is in {escape(str(path))}")
    if sys.stderr.isatty():
        err.print(f"  [bold]{escape(text)}[/]")


@keys.command("create")
@command
def create(
    principal: Annotated[
        str, typer.Option("--principal", metavar="PRINCIPAL", help="whom the key stands for")
    ],
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="LABEL", help="a label; repeatable")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help=f"{', '.join(PERMISSIONS)}; repeatable"),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="WHEN", help="a date, a time, or a span like 30d"),
    ] = None,
) -> None:
    """Make a key; its text is shown this once. Without --scope it may read and remember."""
    until = expiry(expires)
    issued = with_catalogue(
        lambda catalogue: catalogue.keyring.issue(
            scope=Scope.for_operator(COMMON.tenant),
            principal=principal,
            labels=frozenset(label or ()),
            permissions=frozenset(scope or ("read", "memory")),
            expires_at=until,
        )
    )
    if COMMON.json:
        print_json({"id": issued.key.id, "key": issued.text})
        return
    out.print(issued.text)
    err.print("[dim]keep it now: it is shown this once[/]")


@keys.command("list")
@command
def list_keys() -> None:
    """List the tenant's keys, without their secrets."""
    scope = Scope.for_operator(COMMON.tenant)
    found = with_catalogue(lambda catalogue: catalogue.keyring.all(scope=scope))
    if COMMON.json:
        print_json({"keys": [key_json(key) for key in found]})
        return
    if not found:
        out.print("no keys yet: `vade keys create` makes one, and the first `vade serve`")
    for key in found:
        _show(key)


def _show(key: ApiKey) -> None:
    told = [", ".join(sorted(key.permissions)), f"made {key.created_at:%Y-%m-%d}"]
    if key.revoked_at:
        told.append(f"revoked {key.revoked_at:%Y-%m-%d %H:%M}")
    elif key.expires_at:
        told.append(f"until {key.expires_at:%Y-%m-%d %H:%M}")
    told.append(f"last used {key.used_at:%Y-%m-%d %H:%M}" if key.used_at else "never used")
    out.print(f"{escape(key.principal)}  [dim]{escape(' '.join(key.labels))}[/]")
    out.print(f"  [dim]{key.id}  {' · '.join(told)}[/]")


@keys.command("revoke")
@command
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="a key's id")],
) -> None:
    """End a key at once, with every browser session made from it."""
    try:
        wanted = KeyId(UUID(key_id))
    except ValueError as error:
        raise UsageError(
            f"{key_id!r} is not the id of a key", hint="`vade keys list` shows the ids"
        ) from error
    scope = Scope.for_operator(COMMON.tenant)
    key = with_catalogue(lambda catalogue: catalogue.keyring.revoke(wanted, scope=scope))
    if COMMON.json:
        print_json(key_json(key))
    else:
        out.print(f"[green]revoked[/] {escape(key.principal)}")
