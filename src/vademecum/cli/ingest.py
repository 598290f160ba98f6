"""`vade ingest`: put documents in."""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from vademecum.adapters.sources.files import Facts, find, make, read
from vademecum.app import open as open_app
from vademecum.cli.options import COMMON
from vademecum.cli.output import err, escape, out, print_json, working
from vademecum.errors import UsageError
from vademecum.ingest.accept import MOST_BYTES
from vademecum.model.document import IngestResult, MetadataValue, Refused, Source, State
from vademecum.model.principal import TENANT_LABEL, Scope

DEFAULT_COLLECTION = "default"
_COLOURS = {"ready": "green", "unchanged": "dim", "failed": "red"}


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="files, folders, patterns; - for stdin")
    ],
    collection: Annotated[
        str, typer.Option("-c", "--collection", metavar="NAME", help="where to put them")
    ] = DEFAULT_COLLECTION,
    access: Annotated[
        list[str] | None,
        typer.Option("--access", metavar="LABEL", help="who may see them; repeatable"),
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="KEY=VALUE", help="metadata; repeatable"),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="CODE", help="of all of them, like pt; else detected"),
    ] = None,
    uri: Annotated[str | None, typer.Option("--uri", help="the name of what stdin gives")] = None,
    wait: Annotated[bool, typer.Option(help="wait until searchable")] = True,
) -> None:
    """Put documents in, and wait until they can be searched."""
    facts = Facts(
        collection=collection,
        access=tuple(access) if access else (TENANT_LABEL,),
        metadata=dict(pair(text) for text in meta or ()),
        language=language,
    )
    sources: list[Source | Refused]
    if paths == ["-"]:
        if not uri:
            raise UsageError("stdin has no name", hint="give one with --uri")
        found, sources = [], [make(uri, sys.stdin.buffer.read(MOST_BYTES + 1), facts)]
    elif uri:
        raise UsageError("--uri is for stdin", hint="give - as the path")
    else:
        found, sources = find(paths), []
    started = time.monotonic()

    async def run() -> list[IngestResult]:
        with working("opening", quiet=COMMON.json, counted="reading documents") as work:
            async with open_app(COMMON.settings(), tell=work.tell) as app:
                return await app.ingest(
                    [*sources] or read(found, facts),
                    scope=Scope.for_operator(COMMON.tenant),
                    wait=wait,
                    on_progress=work.count,
                )

    results = asyncio.run(run())
    seconds = time.monotonic() - started
    if COMMON.json:
        print_json({"documents": [asdict(result) for result in results], "seconds": seconds})
    else:
        show_results(results, seconds)
    if any(result.status == State.FAILED for result in results):
        raise typer.Exit(1)


def pair(text: str) -> tuple[str, MetadataValue]:
    """Read `key=value`; the value as a JSON scalar where it is one, else as text."""
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise UsageError(f"{text!r} is not KEY=VALUE", hint="for example --meta season=2026")
    try:
        read_value = json.loads(value)
    except (ValueError, RecursionError):
        return key, value
    return key, value if isinstance(read_value, dict | list) else read_value


def show_results(results: list[IngestResult], seconds: float) -> None:
    """Print a line for each document that needs a look, then what became of all."""
    for result in results:
        if result.status not in (State.READY, "unchanged") or len(results) <= 20:
            colour = _COLOURS.get(result.status, "yellow")
            detail = result.reason or f"{result.title} · {result.chunks} chunks"
            out.print(
                f"[{colour}]{result.status:>9}[/]  {escape(result.uri)}  [dim]{escape(detail)}[/]"
            )
    counts = Counter(result.status for result in results)
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no documents"
    chunks = sum(result.new_chunks for result in results)
    out.print(f"{told}; {chunks} new chunks in {seconds:.1f} s")
    if not results:
        err.print("nothing was found there")
