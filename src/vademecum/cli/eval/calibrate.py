"""`vade eval calibrate`: fit refusing and fusing to one collection's own questions."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from vademecum.calibrating import LOSS, Calibrated, calibrate
from vademecum.cli.documents import with_catalogue
from vademecum.cli.eval.run import read_file
from vademecum.cli.options import COMMON
from vademecum.cli.output import err, escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.evaluate.calibrate import Share
from vademecum.evaluate.golden import Golden
from vademecum.interface import calibrated_json
from vademecum.model.principal import Scope

_NOT_BETTER = 1


def calibrate_collection(
    golden: Annotated[
        Path | None, typer.Argument(metavar="[GOLDEN]", help="JSON lines, or TOML")
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option("-c", "--collection", metavar="NAME", help="else that of what is relevant"),
    ] = None,
    loss: Annotated[
        float, typer.Option("--loss", metavar="SHARE", help="of the answerable may be refused")
    ] = LOSS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="measure, and keep nothing")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="take back what is kept for the collection")
    ] = False,
) -> None:
    """Fit refusing and fusing of one collection to half of a golden set; exits 1 where the other
    half is not better for it, and then keeps nothing."""
    if remove:
        _remove(golden, collection)
        return
    if golden is None:
        raise UsageError("a golden set is needed", hint="vade eval calibrate GOLDEN")
    done = asyncio.run(_calibrated(read_file(golden), collection, loss, keep=not dry_run))
    if COMMON.json:
        print_json(calibrated_json(done))
    else:
        _show(done)
    if not done.kept and not dry_run:
        err.print("[red]nothing is kept:[/] the held half is not better for it")
        raise typer.Exit(_NOT_BETTER)


def _remove(golden: Path | None, collection: str | None) -> None:
    if golden is not None or collection is None:
        raise UsageError("--remove takes a collection alone", hint="name it with -c")
    scope = Scope.for_operator(COMMON.tenant)
    with_catalogue(lambda catalogue: catalogue.calibrations.remove(scope, collection))
    if COMMON.json:
        print_json({"removed": collection})
    else:
        out.print(f"searches of {escape(collection)} go by the built-in constants again")


async def _calibrated(
    golden: Golden, collection: str | None, loss: float, *, keep: bool
) -> Calibrated:
    with working("opening", quiet=COMMON.json, counted="searching") as shown:
        async with open_app(COMMON.settings(), tell=shown.tell) as app:
            return await calibrate(
                app,
                golden,
                scope=Scope.for_operator(COMMON.tenant),
                collection=collection,
                loss=loss,
                keep=keep,
                count=shown.count,
            )


def _show(done: Calibrated) -> None:
    own = done.calibration
    out.print(
        f"[bold]{escape(own.collection)}[/]  {escape(own.name)} {own.sha256[:12]},"
        f" index generation {own.generation}"
    )
    for name, half in (("training", done.training), ("held apart", done.held)):
        made = f", {half.made} made by leaving out the documents that answer" if half.made else ""
        out.print(f"{name}: {half.answerable} with an answer, {half.unanswerable} without{made}")
    for reason, count in done.left_out.items():
        out.print(f"[yellow]left out:[/] {count}, {escape(reason)}")
    for weight, score in done.weights.items():
        chosen = "  [green]fitted[/]" if weight == own.dense_weight else ""
        out.print(f"dense share {weight:g}: nDCG@10 {score:.3f} on the training half{chosen}")
    for name, branch in (("same language", done.same), ("across languages", done.across)):
        if branch.weights is not None:
            told = ", ".join(f"{key} {value:.3f}" for key, value in branch.weights.weights.items())
            out.print(f"{name}: {told}; refuses below {branch.weights.refuse_below:.3f}")
    out.print(_reached(done))
    for told in done.told:
        out.print(f"[yellow]{escape(told)}[/]")
    if done.kept:
        out.print(f"[green]kept:[/] searches of {escape(own.collection)} alone go by it now")


def _reached(done: Calibrated) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in ("held half", "before", "95 %", "after", "95 %"):
        table.add_column(heading, justify="right" if heading in ("before", "after") else "left")
    rows = (
        ("AUC", "auc"), ("unanswerable refused", "refused"), ("answerable lost", "lost"),
        ("nDCG@10", "ndcg"),
    )  # fmt: skip
    for name, key in rows:
        cells = [cell for one in (done.before, done.after) for cell in _cells(getattr(one, key))]
        table.add_row(name, *cells)
    return table


def _cells(one: Share) -> tuple[str, str]:
    return f"{one.mean:.3f}", escape(f"[{one.low:.2f}, {one.high:.2f}]")
