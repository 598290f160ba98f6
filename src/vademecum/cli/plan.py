"""`vade plan`: how large an index will be, and how well this one finds what is nearest."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from vademecum.cli.options import COMMON
from vademecum.cli.output import out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.evaluate.plan import Bytes, Size, bytes_a_chunk, graph_gigabytes, price, seconds
from vademecum.model.principal import Scope
from vademecum.planning import Measured
from vademecum.planning import measure as measure_recall
from vademecum.postgres.graph import GRAPH_FROM

_ORIGINS = {
    "traces": "questions that were asked here",
    "chunks": "texts of chunks, since nothing was asked yet: each finds itself, so this is easier",
}


def plan(
    chunks: Annotated[
        int | None, typer.Option("--chunks", metavar="N", min=1, help="how many chunks")
    ] = None,
    dim: Annotated[
        int | None, typer.Option("--dim", metavar="D", min=1, help="numbers of a vector")
    ] = None,
    number_bytes: Annotated[
        int, typer.Option("--bytes", min=1, max=8, help="bytes of a number: 2 as here, 4 elsewhere")
    ] = 2,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="tokens of a chunk")] = 200,
    per_million: Annotated[
        float | None,
        typer.Option("--price", metavar="P", min=0, help="a provider's price of a million tokens"),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="measure recall and speed of this index's dense leg")
    ] = False,
    k: Annotated[int, typer.Option("-k", "--k", min=1, max=1000, help="recall at how many")] = 10,
    queries: Annotated[
        int, typer.Option("--queries", min=1, max=10_000, help="at most how many to measure")
    ] = 100,
) -> None:
    """Estimate an index before it is made; measure one that is there."""
    if (chunks is None) != (dim is None) or (chunks is None and not measure):
        raise UsageError("a plan needs both --chunks and --dim", hint="or --measure alone")
    size = None
    if chunks is not None and dim is not None:
        size = Size(chunks=chunks, dimension=dim, number_bytes=number_bytes, tokens=tokens)
    measured = asyncio.run(_measured(k, queries)) if measure else None
    estimate = _estimate(size, per_million) if size else None
    if COMMON.json:
        print_json({"plan": estimate, "measured": asdict(measured) if measured else None})
        return
    if size:
        _show_estimate(size, per_million)
    if measured:
        _show_measured(measured)


async def _measured(k: int, queries: int) -> Measured:
    with working("opening", quiet=COMMON.json) as work:
        async with open_app(COMMON.settings(), tell=work.tell) as app:
            work.tell("searching")
            scope = Scope.for_operator(COMMON.tenant)
            return await measure_recall(app, scope=scope, k=k, queries=queries)


def _estimate(size: Size, per_million: float | None) -> dict[str, Any]:
    graph = size.chunks >= GRAPH_FROM
    stored = bytes_a_chunk(size, graph=graph)
    return {
        "chunks": size.chunks,
        "dim": size.dimension,
        "bytes": size.number_bytes,
        "tokens": size.tokens,
        "index_gb": graph_gigabytes(size),
        "graph": graph,
        "bytes_a_chunk": asdict(stored) | {"total": stored.total},
        "stored_gb": stored.total * size.chunks / 1e9,
        "seconds": asdict(seconds(size, graph=graph)),
        "price": None if per_million is None else price(size, per_million),
    }


def _show_estimate(size: Size, per_million: float | None) -> None:
    graph = size.chunks >= GRAPH_FROM
    stored, took = bytes_a_chunk(size, graph=graph), seconds(size, graph=graph)
    out.print(
        f"[bold]{size.chunks:,} chunks[/] of {size.tokens} tokens,"
        f" {size.dimension} numbers of {size.number_bytes} bytes"
    )
    out.print(f"vectors and graph, by the usual formula  {graph_gigabytes(size):,.1f} GB")
    out.print(
        f"all that is stored here  {stored.total * size.chunks / 1e9:,.1f} GB:"
        f" {_parts(stored)} bytes a chunk"
    )
    out.print(f"embedding with the local model on two cores  {_time(took.embed)}")
    out.print(f"storing  {_time(took.store)}; graph  {_time(took.graph) if graph else 'none yet'}")
    if per_million is not None:
        out.print(f"embedding at a provider  {price(size, per_million):,.2f}")


def _parts(stored: Bytes) -> str:
    return ", ".join(f"{name} {value:,.0f}" for name, value in asdict(stored).items() if value)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _show_measured(measured: Measured) -> None:
    out.print(
        f"[bold]{measured.chunks:,} chunks here[/], {measured.queries} queries:"
        f" {_ORIGINS[measured.origin]}"
    )
    table = Table(box=None, header_style="bold")
    for heading in (f"recall@{measured.k}", "lowest", "p50", "exact p50", "how"):
        table.add_column(heading)
    table.add_row(
        f"{measured.recall:.3f}",
        f"{measured.lowest:.3f}",
        f"{measured.p50_ms:.1f} ms",
        f"{measured.exact_p50_ms:.1f} ms",
        ", ".join(f"{plan} {count}" for plan, count in measured.plans.items()),
    )
    out.print(table)
