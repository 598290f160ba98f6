"""`vade bench`: how quick is it here?"""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from vademecum.benching import Measured, Times
from vademecum.benching import bench as measure
from vademecum.cli.options import COMMON
from vademecum.cli.output import out, print_json, working


def bench(
    documents: Annotated[
        int, typer.Option("--documents", min=1, max=1000, help="how many are made up and ingested")
    ] = 20,
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=1000, help="how many of each kind are asked")
    ] = 50,
) -> None:
    """Measure how quick this machine is, in a data folder of its own that is removed."""
    with working("opening", quiet=COMMON.json) as work:
        found = asyncio.run(
            measure(COMMON.settings(), documents=documents, questions=questions, tell=work.tell)
        )
    if COMMON.json:
        print_json(asdict(found))
    else:
        _show(found)


def _show(found: Measured) -> None:
    out.print(
        f"[bold]{found.cores} cores[/], load {found.load:.1f}; {found.documents} documents,"
        f" {found.chunks} chunks"
    )
    if found.load > found.cores / 2:
        out.print("[yellow]other work has the cores:[/] an idle machine is quicker")
    out.print(f"embedding {found.tokens_a_second:,.0f} tokens a second")
    out.print(
        f"ingesting {found.chunks_a_second:,.1f} chunks a second; all of it again, unchanged,"
        f" {found.unchanged_seconds:.2f} s"
    )
    table = Table(box=None, header_style="bold")
    for heading in ("one after the other", "p50", "p95"):
        table.add_column(heading, justify="left" if heading[0] == "o" else "right")
    rows: dict[str, Times] = {
        "a query's vector": found.embed,
        "search": found.search,
        "answer in quotes": found.ask,
        "remember": found.remember,
        "recall": found.recall,
    }
    for name, times in rows.items():
        table.add_row(name, f"{times.p50_ms:.0f} ms", f"{times.p95_ms:.0f} ms")
    out.print(table)
    stages = ", ".join(f"{name} {ms:.0f}" for name, ms in found.stages.items() if name != "total")
    out.print(f"of a search, in ms (the legs run side by side): {stages}")
