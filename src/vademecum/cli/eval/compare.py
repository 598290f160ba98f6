"""`vade eval compare`, `vade eval list`: what changed between runs, and which ones are there."""

from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from vademecum.catalogue import Catalogue, calibrations_of
from vademecum.cli.documents import with_catalogue
from vademecum.cli.options import COMMON
from vademecum.cli.output import escape, out, print_json
from vademecum.errors import EvaluationNotFound, UsageError
from vademecum.evaluate.compare import Change, Comparison, Moved
from vademecum.evaluate.compare import compare as compare_runs
from vademecum.interface import calibration_json, comparison_json, run_json
from vademecum.model.calibration import Calibration
from vademecum.model.evaluation import Run, Summary
from vademecum.model.ids import EvaluationId
from vademecum.model.principal import Scope

_NEWEST = {"latest": 0, "previous": 1}
_SHOWN = ("recall@5", "ndcg@10", "relevance", "refused", "wrongly_refused")


def compare(
    before: Annotated[str, typer.Argument(metavar="A", help="a run's id, latest or previous")],
    after: Annotated[str, typer.Argument(metavar="B", help="another one")],
    most: Annotated[int, typer.Option("--questions", min=0, help="show so many questions")] = 20,
) -> None:
    """Say what changed from one run to another, and whether it is more than noise."""

    async def work(catalogue: Catalogue) -> tuple[Run, Run, Comparison]:
        scope = Scope.for_operator(COMMON.tenant)
        old = await catalogue.evaluations.get(scope, await _named(catalogue, scope, before))
        new = await catalogue.evaluations.get(scope, await _named(catalogue, scope, after))
        return old[0], new[0], compare_runs(old, new)

    old, new, found = with_catalogue(work)
    if COMMON.json:
        told = {"before": run_json(old), "after": run_json(new)}
        print_json(told | comparison_json(found))
        return
    for name, run in (("before", old), ("after", new)):
        out.print(f"[bold]{name:<6}[/]  {escape(run.name)}  {_when(run)}  [dim]{run.id}[/]")
    for name, (was, now) in found.versions.items():
        out.print(f"  {escape(name)}: {escape(was) or '-'} > {escape(now) or '-'}")
    if not found.versions:
        out.print("  the same versions of everything")
    out.print(_changes(found.changes))
    _show_moved(found.moved, most)
    for words, names in (("before", found.only_before), ("after", found.only_after)):
        if names:
            out.print(f"[yellow]only {words}:[/] {escape(', '.join(names[:10]))}")


async def _named(catalogue: Catalogue, scope: Scope, name: str) -> EvaluationId:
    if name in _NEWEST:
        runs = await catalogue.evaluations.all(scope, len(_NEWEST))
        if len(runs) <= _NEWEST[name]:
            raise EvaluationNotFound(f"there is no {name} evaluation", hint="vade eval run GOLDEN")
        return runs[_NEWEST[name]].id
    try:
        return EvaluationId(UUID(name))
    except ValueError as error:
        raise UsageError(
            f"{name!r} is no evaluation's id", hint="copy it from `vade eval list`"
        ) from error


def _changes(changes: tuple[Change, ...]) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("metric")
    for heading in ("before", "after", "difference"):
        table.add_column(heading, justify="right")
    table.add_column("95 %")
    table.add_column("n", justify="right")
    table.add_column("")
    for one in changes:
        table.add_row(
            one.metric,
            f"{one.before:.3f}",
            f"{one.after:.3f}",
            f"{one.difference:+.3f}",
            escape(f"[{one.low:+.3f}, {one.high:+.3f}]"),
            str(one.paired),
            verdict(one),
        )
    return table


def verdict(one: Change) -> str:
    """Return in words whether a change says something."""
    if one.better is None:
        return "[dim]the same[/]"
    if not one.more_than_noise:
        return "[dim]within noise[/]"
    return "[green]better[/]" if one.better else "[red]worse[/]"


def _show_moved(moved: tuple[Moved, ...], most: int) -> None:
    if not moved:
        out.print("no question changed")
        return
    out.print(f"[bold]{len(moved)} questions changed[/], most first")
    for one in moved[:most]:
        was, now = one.before[one.most], one.after[one.most]
        others = ", ".join(
            f"{name} {one.after[name] - value:+.2f}"
            for name, value in one.before.items()
            if name != one.most
        )
        told = f"{one.most} {was:.2f} > {now:.2f}"
        out.print(
            f"  {escape(one.question)} [dim]({one.kind})[/]  {told}  [dim]{escape(others)}[/]"
        )
        out.print(f"    [dim]vade explain {one.trace_before}; vade explain {one.trace_after}[/]")


def list_runs(
    most: Annotated[int, typer.Option("--limit", min=1, max=1000, help="at most so many")] = 20,
) -> None:
    """List the runs, the newest first."""
    scope = Scope.for_operator(COMMON.tenant)

    async def work(catalogue: Catalogue) -> tuple[list[Run], list[tuple[Calibration, str]]]:
        runs = await catalogue.evaluations.all(scope, most)
        return runs, await calibrations_of(catalogue, scope, COMMON.settings())

    runs, fitted = with_catalogue(work)
    if COMMON.json:
        told = [calibration_json(one, why) for one, why in fitted]
        print_json({"evaluations": [run_json(run) for run in runs], "calibrations": told})
        return
    for one, why in fitted:
        state = f"[yellow]not used:[/] {escape(why)}" if why else "[green]in use[/]"
        out.print(f"calibrated: {escape(one.label)}, {escape(one.name)}; {state}")
    if not runs:
        out.print("nothing was evaluated yet: vade eval run GOLDEN")
        return
    table = Table(box=None, header_style="bold")
    for heading in ("when", "golden set", "n", *_SHOWN, "set", "id"):
        table.add_column(heading)
    for run in runs:
        own = {one.metric: one for one in run.summaries if not one.group}
        settings = " ".join(f"{key}={value}" for key, value in run.settings.items())
        table.add_row(
            _when(run), escape(run.name), str(run.questions),
            *(_cell(own.get(name)) for name in _SHOWN), escape(settings), str(run.id),
        )  # fmt: skip
    out.print(table)


def _cell(one: Summary | None) -> str:
    return "" if one is None or one.mean is None else f"{one.mean:.3f}"


def _when(run: Run) -> str:
    return f"{run.created_at:%Y-%m-%d %H:%M}"
