"""`vade forget`, `vade scrub`: what a person may ask for, and what it takes in the files."""

from dataclasses import replace
from typing import Annotated

import typer

from vademecum.catalogue import Catalogue
from vademecum.cli.documents import show_receipt, with_catalogue
from vademecum.cli.options import COMMON, As, scope_of
from vademecum.cli.output import out, print_json
from vademecum.errors import UsageError
from vademecum.model.ids import new_uuid
from vademecum.model.purge import Receipt


def forget(
    principal: As = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what there is")] = False,
    scrub: Annotated[
        bool, typer.Option("--scrub", help="rewrite the database's files afterwards, too")
    ] = False,
) -> None:
    """Forget a person: everything of theirs in every store, with the receipt."""
    if principal is None:
        raise UsageError("say whom to forget", hint="vade forget --as user:NAME")
    scope = scope_of(principal, None)
    if dry_run:
        held = with_catalogue(lambda catalogue: catalogue.would_forget(scope=scope))
        if COMMON.json:
            print_json({"principal": scope.principal, "held": held})
            return
        for store, count in held.items():
            out.print(f"{store:<26} {count:>5}")
        out.print("nothing was deleted; leave --dry-run out to forget")
        return

    async def work(catalogue: Catalogue) -> Receipt:
        receipt = await catalogue.forget(scope=scope)
        if not (scrub and receipt.complete):
            return receipt
        files = await catalogue.scrub()
        return replace(
            receipt,
            stores=(*receipt.stores, *files),
            scrubbed=not any(store.left for store in files),
        )

    show_receipt(with_catalogue(work))


def scrub() -> None:
    """Take what was deleted out of the database's files too: it rewrites them."""
    files = with_catalogue(lambda catalogue: catalogue.scrub())
    show_receipt(
        Receipt(
            purge_id=str(new_uuid()),
            stores=tuple(files),
            scrubbed=not any(store.left for store in files),
        )
    )
