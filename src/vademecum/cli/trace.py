"""`vade explain`, `vade replay`: what happened while one question was answered; what would now?"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Table

from vademecum.cli.documents import with_catalogue
from vademecum.cli.ingest import pair
from vademecum.cli.options import COMMON, As, Labels, Set, scope_of
from vademecum.cli.output import escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.evaluate.replay import summary
from vademecum.interface import replay_json
from vademecum.model.ids import TraceId
from vademecum.model.principal import Scope
from vademecum.model.replay import Moved, Replay


def explain(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="the id that an answer gave")],
    principal: As = None,
    labels: Labels = None,
) -> None:
    """Show the candidates, signals and times of one search or answer."""
    scope = scope_of(principal, labels)
    trace_id = _id(trace)
    found = with_catalogue(lambda catalogue: catalogue.records.trace(scope, trace_id))
    if COMMON.json:
        print_json(asdict(found))
        return
    record = found.record
    when = f"{found.created_at:%Y-%m-%d %H:%M:%S %Z}"
    out.print(f"[bold]{found.kind}[/] by {escape(found.principal)} at {when}")
    if before := record.get("given_before"):
        out.print(f"given again: nothing that it rests on changed since {escape(before)}")
    for search in record.get("searches", [record]):
        out.print(f"[cyan]{escape(search['query'])}[/]")
        if wanted := search.get("filter"):  # not in traces of before
            out.print(f"[dim]filter {escape(json.dumps(wanted, ensure_ascii=False))}[/]")
        table = Table(box=None, header_style="bold")
        for heading in ("rank", "dense", "keyword", "share", "final", "document"):
            table.add_column(heading)
        for c in search["candidates"]:
            s = c["signals"]
            table.add_row(
                str(c["rank"]), _number(s["dense"]), _number(s["keyword"]),
                _number(s["keyword_share"]), _number(s["final"]), escape(c["uri"]),
            )  # fmt: skip
        out.print(table)
        times = ", ".join(f"{name} {ms:.0f} ms" for name, ms in search["timings_ms"].items())
        out.print(f"[dim]{times}; confidence {search['abstain']['confidence']:.2f}[/]")


def replay(
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", help="the id that an answer gave")
    ] = None,
    day: Annotated[
        datetime | None,
        typer.Option("--day", formats=["%Y-%m-%d"], metavar="DATE", help="all of a day (UTC)"),
    ] = None,
    settings: Set = None,
    principal: As = None,
    labels: Labels = None,
) -> None:
    """Ask again what was asked before, and say what differs and why."""
    if (trace is None) == (day is None):
        raise UsageError("give a trace, or --day", hint="each search and answer prints its trace")
    scope = scope_of(principal, labels)
    flags = dict(pair(one) for one in settings or ())
    done = asyncio.run(_replayed(_id(trace) if trace else None, day, scope, flags))
    if trace is not None:
        print_json(replay_json(done[0])) if COMMON.json else _show(done[0])
        return
    told = summary(done)
    if COMMON.json:
        print_json(told | {"replays": [replay_json(one) for one in done]})
    else:
        _show_day(told)


async def _replayed(
    trace_id: TraceId | None, day: datetime | None, scope: Scope, flags: Mapping[str, Any]
) -> list[Replay]:
    with working("opening", quiet=COMMON.json, counted="replaying") as shown:
        async with open_app(COMMON.settings(flags), tell=shown.tell) as app:
            if trace_id is not None:
                return [await app.replay(trace_id, scope=scope)]
            assert day is not None
            done: list[Replay] = []
            async with aclosing(app.replay_day(day.date(), scope=scope)) as replays:
                async for one in replays:
                    done.append(one)
                    shown.count(len(done), 0)
            return done


def _show(replay: Replay) -> None:
    when = f"{replay.created_at:%Y-%m-%d %H:%M:%S %Z}"
    out.print(f"[bold]{'the same' if replay.same else 'differs'}[/] from {when}")
    for version in replay.versions:
        out.print(f"  {escape(version.name)}: {escape(f'{version.was} is now {version.now}')}")
    for search in replay.searches:
        out.print(f"[cyan]{escape(search.query)}[/]")
        out.print(
            f"[dim]{search.overlap:.0%} found again; confidence {search.confidence_was:.2f},"
            f" now {search.confidence:.2f}[/]"
        )
        if search.moved:
            out.print(_moves(search.moved))
    if replay.answer is not None and not replay.answer.same:
        answer = replay.answer
        was, now = _outcome(answer.abstained_was), _outcome(answer.abstained)
        cited = len(set(answer.cited_was) & set(answer.cited))
        out.print(
            f"answer: {was} ({answer.mode_was}), now {now} ({answer.mode});"
            f" {cited} of {len(answer.cited_was)} passages cited again,"
            f" {len(set(answer.cited) - set(answer.cited_was))} others"
        )
    for part in replay.degraded:
        out.print(f"[yellow]missing:[/] {escape(part)}")


def _moves(moved: Sequence[Moved]) -> Table:
    table = Table(box=None, header_style="bold")
    for heading in ("was", "now", "why", "document"):
        table.add_column(heading)
    for one in moved:
        why = f"{one.why}: {one.detail}" if one.detail else one.why
        table.add_row(str(one.was or "-"), str(one.now or "-"), escape(why), escape(one.uri))
    return table


def _show_day(told: Mapping[str, Any]) -> None:
    out.print(f"{told['replayed']} replayed, {told['same']} the same")
    if told["replayed"]:
        out.print(f"{told['overlap']:.1%} of what was found is found again")
        out.print(f"{told['first_kept']:.1%} have the same passage first")
    for why, count in told["why"].items():
        out.print(f"  {why}: {count}")


def _outcome(abstained: bool) -> str:
    return "not known" if abstained else "answered"


def _id(trace: str) -> TraceId:
    try:
        return TraceId(UUID(trace))
    except ValueError as error:
        raise UsageError(f"{trace!r} is not a trace id", hint="copy it from the JSON") from error


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
