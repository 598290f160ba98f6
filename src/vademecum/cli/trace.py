"""`vade explain`: what happened while one question was answered."""

import json
from dataclasses import asdict
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from vademecum.cli.documents import with_catalogue
from vademecum.cli.options import COMMON, As, Labels, scope_of
from vademecum.cli.output import escape, out, print_json
from vademecum.errors import UsageError
from vademecum.model.ids import TraceId


def explain(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="the id that an answer gave")],
    principal: As = None,
    labels: Labels = None,
) -> None:
    """Show the candidates, signals and times of one search or answer."""
    scope = scope_of(principal, labels)
    try:
        trace_id = TraceId(UUID(trace))
    except ValueError as error:
        raise UsageError(f"{trace!r} is not a trace id", hint="copy it from the JSON") from error
    found = with_catalogue(lambda catalogue: catalogue.records.trace(scope, trace_id))
    if COMMON.json:
        print_json(asdict(found))
        return
    record = found.record
    when = f"{found.created_at:%Y-%m-%d %H:%M:%S %Z}"
    out.print(f"[bold]{found.kind}[/] by {escape(found.principal)} at {when}")
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


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
