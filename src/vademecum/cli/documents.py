"""`vade documents`: what is in, what was read from it, and taking it out."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
from rich.table import Table

from vademecum.catalogue import Catalogue, open_catalogue
from vademecum.cli.options import COMMON, As, AsOf, Collection, Labels, command, day_of, scope_of
from vademecum.cli.output import escape, out, print_json, visible, working
from vademecum.errors import DocumentNotFound, UsageError
from vademecum.interface import chunk_json, document_json, receipt_json
from vademecum.model.document import Document
from vademecum.model.ids import DocumentId
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt

documents = typer.Typer(no_args_is_help=True, help="What is in, and taking it out.")
T = TypeVar("T")
Name = Annotated[str, typer.Argument(metavar="ID", help="a document's id, or its uri")]


def with_catalogue(work: Callable[[Catalogue], Awaitable[T]]) -> T:
    """Open the database without any model, and do one thing."""

    async def run() -> T:
        with working("opening", quiet=COMMON.json) as shown:
            async with open_catalogue(COMMON.settings(), tell=shown.tell) as catalogue:
                return await work(catalogue)

    return asyncio.run(run())


@documents.command("list")
@command
def list_documents(
    collection: Collection = None, principal: As = None, labels: Labels = None
) -> None:
    """List the documents that you may see."""
    scope = scope_of(principal, labels)
    found = with_catalogue(lambda catalogue: catalogue.documents.all(scope))
    if collection:
        found = [document for document in found if document.collection in collection]
    if COMMON.json:
        print_json({"documents": [document_json(document) for document in found]})
        return
    if not found:
        out.print("no documents yet: `vade ingest PATH` puts some in")
        return
    table = Table(box=None, header_style="bold")
    for heading in ("id", "collection", "status", "chunks", "lang", "title", "uri"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
    for d in found:
        table.add_row(
            str(d.id), escape(d.collection), d.state.value, str(d.chunks),
            escape(d.language), escape(d.title), escape(d.uri),
        )  # fmt: skip
    out.print(table)


async def named(catalogue: Catalogue, name: str, scope: Scope) -> DocumentId:
    """Return the id of the one document that an id or a uri names."""
    document_id = _read_id(name)
    if document_id is not None:
        return (await catalogue.documents.get(scope, document_id)).id
    matches = [d for d in await catalogue.documents.all(scope) if d.uri == name]
    if len(matches) > 1:
        raise UsageError(
            f"{name} is in {len(matches)} collections", hint="give the id instead of the uri"
        )
    if not matches:
        raise DocumentNotFound(
            f"no document {name}", hint="`vade documents list` shows those you may see"
        )
    return matches[0].id


def _read_id(name: str) -> DocumentId | None:
    try:
        return DocumentId(UUID(name))
    except ValueError:
        return None


@documents.command("show")
@command
def show(name: Name, principal: As = None, labels: Labels = None) -> None:
    """Show all that is known of a document."""
    scope = scope_of(principal, labels)

    async def work(catalogue: Catalogue) -> Document:
        document_id = await named(catalogue, name, scope)
        return await catalogue.documents.get(scope, document_id)

    document = with_catalogue(work)
    if COMMON.json:
        print_json(document_json(document))
        return
    for key, value in document_json(document).items():
        out.print(f"[bold]{key:>12}[/]  {escape(str(value))}")


@documents.command("text")
@command
def text(name: Name, principal: As = None, labels: Labels = None, as_of: AsOf = None) -> None:
    """Print the text that offsets and citations point into."""
    scope = scope_of(principal, labels)

    async def work(catalogue: Catalogue) -> tuple[DocumentId, str]:
        document_id = await named(catalogue, name, scope)
        return document_id, await catalogue.documents.text(scope, document_id, day_of(as_of))

    document_id, extracted = with_catalogue(work)
    if COMMON.json:
        print_json({"id": document_id, "text": extracted})
    else:
        # A file or a pipe gets every character; a terminal, one for one, those that only show.
        print(visible(extracted) if sys.stdout.isatty() else extracted)


@documents.command("chunks")
@command
def chunks(name: Name, principal: As = None, labels: Labels = None) -> None:
    """List a document's chunks with their places."""
    scope = scope_of(principal, labels)

    async def work(catalogue: Catalogue) -> list[dict[str, Any]]:
        document_id = await named(catalogue, name, scope)
        found = await catalogue.documents.chunks(scope, document_id)
        return [chunk_json(chunk) for chunk in found]

    rows = with_catalogue(work)
    if COMMON.json:
        print_json({"chunks": rows})
        return
    for row in rows:
        path = " > ".join(row["heading_path"])
        out.print(
            f"{row['ordinal']:>4}  {row['start']}-{row['end']}  {row['tokens']} tokens"
            f"  {escape(row['language'])}  [dim]{escape(path)}[/]"
        )


@documents.command("history")
@command
def history(name: Name, principal: As = None, labels: Labels = None) -> None:
    """List a document's revisions, oldest first."""
    scope = scope_of(principal, labels)

    async def work(catalogue: Catalogue) -> list[dict[str, Any]]:
        document_id = await named(catalogue, name, scope)
        return [asdict(r) for r in await catalogue.documents.history(scope, document_id)]

    rows = with_catalogue(work)
    if COMMON.json:
        print_json({"revisions": rows})
        return
    for row in rows:
        mark = "current" if row["current"] else ""
        out.print(
            f"{row['number']:>4}  {row['state']:<10} {row['accepted_at']:%Y-%m-%d %H:%M:%S}"
            f"  {row['content_hash'][:12]}  [green]{mark}[/]{escape(row['reason'])}"
        )


@documents.command("delete")
@command
def delete(name: Name, principal: As = None, labels: Labels = None) -> None:
    """Delete a document from every store, and print the receipt."""
    scope = scope_of(principal, labels)

    async def work(catalogue: Catalogue) -> Receipt:
        document_id = await named(catalogue, name, scope)
        return await catalogue.delete(document_id, scope=scope)

    show_receipt(with_catalogue(work))


def show_receipt(receipt: Receipt) -> None:
    """Print what proves a deletion, and leave with 1 if something is left."""
    if COMMON.json:
        print_json(receipt_json(receipt))
    else:
        _show_stores(receipt)
    if not receipt.complete:
        raise typer.Exit(1)


def _show_stores(receipt: Receipt) -> None:
    for store in receipt.stores:
        counts = f"found {store.found:>5}  deleted {store.deleted:>5}  left {store.left}"
        out.print(f"{store.store:<26} {counts}{escape(f'  {store.why}' if store.why else '')}")
    out.print("[green]nothing is left[/]" if receipt.complete else "[red]something is left[/]")
