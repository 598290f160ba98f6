"""`vade eval run`: ask a golden set, and say how good the answers are."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from vademecum.cli.ingest import pair
from vademecum.cli.options import COMMON, Collection, Set
from vademecum.cli.output import err, escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import InvalidSetting, SourceNotFound, UsageError
from vademecum.evaluate import plot as pictures
from vademecum.evaluate.gates import Checked, Gate, check, gates_of, read_gate
from vademecum.evaluate.golden import Golden, GoldenQuestion, read_golden
from vademecum.evaluate.ragas import sample
from vademecum.evaluate.relevance import Target
from vademecum.evaluate.report import Refusal, refusal
from vademecum.evaluate.runner import Asked
from vademecum.evaluating import Wish, check_settable, evaluate
from vademecum.interface import evaluation_json
from vademecum.model.evaluation import Result, Run, Summary
from vademecum.model.principal import Scope
from vademecum.retrieve.abstain import REFUSE_BELOW
from vademecum.settings import Loaded

# What is shown of each kind and language; the JSON has all.
_SHORT = ("recall@5", "ndcg@10", "mrr", "citation_precision", "relevance", "judged", "refused",
          "wrongly_refused")  # fmt: skip


def run(
    golden: Annotated[Path, typer.Argument(metavar="GOLDEN", help="JSON lines, or TOML")],
    collection: Collection = None,
    set_: Set = None,
    gate: Annotated[
        list[str] | None,
        typer.Option("--gate", metavar="NAME>=VALUE", help="fail below this; repeatable"),
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge/--no-judge", help="let the language model judge, if any")
    ] = True,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="write a picture (SVG)")
    ] = None,
    export_ragas: Annotated[
        Path | None,
        typer.Option("--export-ragas", metavar="FILE", help="write what RAGAS reads; has texts"),
    ] = None,
) -> None:
    """Ask every question of a golden set and measure; exits 1 if a gate fails."""
    held = read_file(golden)
    settings = dict(pair(text) for text in set_ or ())
    check_settable(settings)
    loaded = COMMON.settings(settings)
    gates = _gates(loaded, held, gate or ())
    wish = Wish(
        collections=frozenset(collection) if collection else None, settings=settings, judged=judge
    )
    made, results, samples = asyncio.run(_measured(loaded, held, wish))
    if plot is not None:
        _write(plot, picture(made, refusal(results, REFUSE_BELOW)))
    if export_ragas is not None:
        lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in samples]
        _write(export_ragas, "".join(lines))
    checked = check(gates, made.summaries)
    if COMMON.json:
        print_json(evaluation_json(made, results, checked))
    else:
        show_run(made, results, held.skipped)
        for one in checked:
            if one.holds:
                out.print(f"[green]gate holds:[/] {_told(one)}")
    _say_failed(checked)


async def _measured(
    loaded: Loaded, golden: Golden, wish: Wish
) -> tuple[Run, list[Result], list[dict[str, Any]]]:
    """Return the run, its results, and what RAGAS reads of each question."""
    samples: list[dict[str, Any]] = []

    def watch(question: GoldenQuestion, asked: Asked, _targets: tuple[Target, ...]) -> None:
        samples.append(sample(question, asked))

    with working("opening", quiet=COMMON.json, counted="asking") as shown:
        async with open_app(loaded, tell=shown.tell) as app:
            made, results = await evaluate(
                app,
                golden,
                scope=Scope.for_operator(COMMON.tenant),
                loaded=loaded,
                wish=wish,
                count=shown.count,
                watch=watch,
            )
    return made, results, samples


def _say_failed(checked: Sequence[Checked]) -> None:
    failed = [one for one in checked if not one.holds]
    for one in failed:
        err.print(f"[red]gate failed:[/] {_told(one)}")
    if failed:
        raise typer.Exit(1)


def _told(one: Checked) -> str:
    found = "not measured" if one.found is None else f"found {one.found:.3f}"
    return escape(f"{one.gate}, {found}")


def _gates(loaded: Loaded, golden: Golden, given: Sequence[str]) -> tuple[Gate, ...]:
    """Return the gates of the settings, the golden set and the command; the last word on one
    metric of a group counts."""
    named = [*gates_of(loaded.settings.evaluation.gates), *gates_of(golden.gates)]
    named += map(read_gate, given)
    return tuple({(one.metric, one.group, one.least): one for one in named}.values())


def read_file(path: Path) -> Golden:
    """Return the golden set of a file. Raises: SourceNotFound, UsageError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(f"there is no file {path}", hint="check the path") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read", hint="give a readable file") from error
    return read_golden(content, path.name)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be written", hint="give another place") from error


def picture(run: Run, curve: Refusal | None) -> str:
    """Return the picture of a run: every metric with its interval, and the refusal curve."""
    title = f"{run.name} · {run.created_at:%Y-%m-%d %H:%M} · {run.questions} questions"
    figures = {title: pictures.intervals(run.summaries)}
    if curve is not None:
        figures[f"Refusal (area under the curve {curve.auc:.3f})"] = pictures.curve(
            curve,
            "share of the answerable that is refused",
            "share of the unanswerable that is refused",
            f"at {curve.chosen.threshold:g}",
        )
    return pictures.standalone(figures)


def show_run(run: Run, results: Sequence[Result], skipped: Sequence[str] = ()) -> None:
    """Print a run: every metric over all, the main ones of each kind and language, refusals."""
    out.print(f"[bold]{escape(run.name)}[/]  {run.questions} questions in {run.seconds:.1f} s")
    out.print(f"[dim]{run.id}[/]")
    out.print(_all(run.summaries))
    for group in ("kind", "language"):
        out.print(_grouped(run.summaries, group))
    if (curve := refusal(results, REFUSE_BELOW)) is not None:
        point = curve.chosen
        out.print(
            f"search alone, refusing below {point.threshold:g}: {point.refused:.2f} of the"
            f" unanswerable, {point.lost:.2f} of the answerable; AUC {curve.auc:.3f}"
        )
    hurt = [one.question for one in results if one.degraded]
    if hurt:
        out.print(
            f"[yellow]parts were missing[/] in {len(hurt)} questions: {escape(', '.join(hurt[:5]))}"
        )
    if skipped:
        out.print(
            f"[yellow]not asked[/], since nobody has confirmed them:"
            f" {escape(', '.join(skipped[:10]))}{' …' if len(skipped) > 10 else ''}"
        )


def _all(summaries: Sequence[Summary]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("metric", "mean", "95 %", "n", "not measurable"):
        table.add_column(name, justify="right" if name in ("mean", "n") else "left")
    for one in summaries:
        if one.group:
            continue
        span = "" if one.low is None or one.high is None else f"[{one.low:.2f}, {one.high:.2f}]"
        apart = ", ".join(f"{count} {why}" for why, count in one.apart.items())
        table.add_row(one.metric, _number(one.mean), escape(span), str(one.measured), apart)
    return table


def _grouped(summaries: Sequence[Summary], kind: str) -> Table:
    held = [one for one in summaries if one.group.startswith(f"{kind}:")]
    shown = [name for name in _SHORT if any(one.metric == name for one in held)]
    means = {(one.group, one.metric): one for one in held}
    table = Table(box=None, header_style="bold")
    table.add_column(kind)
    for name in shown:
        table.add_column(name, justify="right")
    for group in dict.fromkeys(one.group for one in held):
        cells = [means.get((group, name)) for name in shown]
        table.add_row(
            escape(group.partition(":")[2]),
            *("" if one is None else f"{_number(one.mean)} ({one.measured})" for one in cells),
        )
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
