"""`vade ingest`: put documents in."""

import asyncio
import io
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from vademecum.adapters.chunkers.choose import STRATEGIES
from vademecum.adapters.sources.events import read as read_events
from vademecum.adapters.sources.files import Facts, make
from vademecum.adapters.sources.places import Place, find, networks, read
from vademecum.adapters.sources.records import records as split_records
from vademecum.adapters.sources.watch import changes, folders, gone
from vademecum.app import App
from vademecum.cli.options import COMMON
from vademecum.cli.output import err, escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import SourceNotFound, UsageError, VademecumError
from vademecum.ingest.accept import MOST_BYTES
from vademecum.model.document import (
    DEFAULT_COLLECTION,
    Deletion,
    IngestResult,
    MetadataValue,
    Refused,
    Source,
    State,
)
from vademecum.model.filter_json import read_pair
from vademecum.model.principal import TENANT_LABEL, Scope

_COLOURS = {"ready": "green", "unchanged": "dim", "failed": "red"}


Option = typer.Option


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH…", help="files, folders, patterns, URLs, s3://…; - for stdin"),
    ],
    collection: Annotated[
        str, Option("-c", "--collection", metavar="NAME", help="where to put them")
    ] = DEFAULT_COLLECTION,
    access: Annotated[
        list[str] | None,
        Option("--access", metavar="LABEL", help="who may see them; repeatable"),
    ] = None,
    meta: Annotated[
        list[str] | None, Option("--meta", metavar="KEY=VALUE", help="metadata; repeatable")
    ] = None,
    language: Annotated[
        str | None, Option("--language", metavar="CODE", help="of all of them, like pt")
    ] = None,
    chunker: Annotated[
        str | None, Option("--chunker", metavar="NAME", help=", ".join(STRATEGIES))
    ] = None,
    uri: Annotated[str | None, Option("--uri", help="the name of what stdin gives")] = None,
    records: Annotated[
        bool, Option("--records", help="each record of JSON, JSON lines or CSV is a document")
    ] = False,
    events: Annotated[
        bool, Option("--events", help="read events, a JSON object a line: upserts and deletes")
    ] = False,
    prune: Annotated[
        bool, Option("--prune", help="delete documents whose file is gone from its folder")
    ] = False,
    watch: Annotated[
        bool, Option("--watch", help="go on with what changes in the folders, until stopped")
    ] = False,
    wait: Annotated[bool, Option(help="wait until searchable")] = True,
) -> None:
    """Put documents in, and wait until they can be searched."""
    facts = Facts(
        collection=collection,
        access=tuple(access) if access else (TENANT_LABEL,),
        metadata=dict(pair(text) for text in meta or ()),
        language=language,
        chunker=chunker,
    )
    brought = _Brought(paths=paths, facts=facts, uri=uri, records=records, events=events)
    brought.check()
    within = folders(paths)
    if (prune or watch) and not within:
        raise UsageError("--prune and --watch are for folders", hint="give a folder")
    started = time.monotonic()
    results = asyncio.run(_run(brought, within if prune or watch else [], watch=watch, wait=wait))
    if watch:
        return
    seconds = time.monotonic() - started
    if COMMON.json:
        print_json({"documents": [asdict(result) for result in results], "seconds": seconds})
    else:
        show_results(results, seconds)
    if any(result.status == State.FAILED for result in results):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Brought:
    """What the words of one call bring."""

    paths: list[str]
    facts: Facts
    uri: str | None
    records: bool
    events: bool

    def check(self) -> None:
        """Refuse words that do not go together."""
        chunker = self.facts.chunker
        if chunker is not None and chunker not in STRATEGIES:
            raise UsageError(
                f"there is no chunker {chunker!r}", hint=f"use {', '.join(STRATEGIES)}"
            )
        from_stdin = self.paths == ["-"] and not self.events
        if from_stdin and not self.uri:
            raise UsageError("stdin has no name", hint="give one with --uri")
        if self.uri and not from_stdin:
            raise UsageError("--uri is for stdin", hint="give - as the path")

    def places(self) -> list[Place]:
        """Find what is named before anything is opened, so that a wrong name is told at once."""
        if self.events:
            find([path for path in self.paths if path != "-"])
            return []
        if self.paths == ["-"]:
            return []
        return find(self.paths, networks(COMMON.settings().settings.ingest.allow_networks))

    def sources(self, found: list[Place]) -> Iterator[Source | Refused | Deletion]:
        if self.events:
            yield from read_events(_lines(self.paths), self.facts)
            return
        sources: Iterable[Source | Refused] = read(found, self.facts)
        if self.uri:
            sources = [make(self.uri, sys.stdin.buffer.read(MOST_BYTES + 1), self.facts)]
        for source in sources:
            if self.records and isinstance(source, Source):
                yield from _records(source)
            else:
                yield source


def _records(source: Source) -> Iterator[Source | Refused]:
    try:
        for uri, content in split_records(source.content, source.uri):
            yield replace(source, uri=uri, content=content)
    except VademecumError as error:
        yield Refused(uri=source.uri, reason=str(error), state=State.REJECTED)


def _lines(paths: list[str]) -> Iterator[str]:
    for path in paths:
        if path == "-":
            yield from io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield from file
        except OSError as error:
            raise SourceNotFound(
                f"{path} cannot be read ({error.strerror})", hint="check the path"
            ) from error


async def _run(
    brought: _Brought, within: list[Path], *, watch: bool, wait: bool
) -> list[IngestResult]:
    found = brought.places()
    scope = Scope.for_operator(COMMON.tenant)
    with working("opening", quiet=COMMON.json, counted="reading documents") as work:
        async with open_app(COMMON.settings(), tell=work.tell) as app:
            known = await app.catalogue.documents.all(scope) if within else []
            ended = gone(known, within, found, brought.facts.collection)
            results = await app.ingest(
                chain(brought.sources(found), ended),
                scope=scope,
                wait=wait,
                on_progress=work.count,
            )
            if watch:
                work.stop()
                await _follow(app, brought.facts, within, results)
    return results


async def _follow(app: App, facts: Facts, within: list[Path], first: list[IngestResult]) -> None:
    """Show each batch as it is done: a JSON document a line, or lines for a person."""
    _show_batch(first, 0.0)
    err.print("watching; stop with Ctrl-C")
    async for batch in changes(within, facts):
        started = time.monotonic()
        results = await app.ingest(batch, scope=Scope.for_operator(COMMON.tenant))
        _show_batch(results, time.monotonic() - started)


def _show_batch(results: list[IngestResult], seconds: float) -> None:
    if COMMON.json:
        told = {"documents": [asdict(result) for result in results], "seconds": seconds}
        print_json(told, compact=True)
    else:
        show_results(results, seconds)


def pair(text: str) -> tuple[str, MetadataValue]:
    """Read `key=value`; the value as a JSON scalar where it is one, else as text."""
    try:
        return read_pair(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not KEY=VALUE", hint="for example --meta season=2026"
        ) from error


def show_results(results: list[IngestResult], seconds: float) -> None:
    """Print a line for each document that needs a look, then what became of all."""
    for result in results:
        if result.status not in (State.READY, "unchanged") or len(results) <= 20:
            colour = _COLOURS.get(result.status, "yellow")
            reason = result.reason.removeprefix(result.uri).strip()  # it stands beside it
            detail = reason or f"{result.title} · {result.chunks} chunks"
            if result.status == "deleted":
                detail = reason
            out.print(
                f"[{colour}]{result.status:>9}[/]  {escape(result.uri)}  [dim]{escape(detail)}[/]"
            )
            for warning in result.warnings:
                out.print(f"           [dim]{escape(warning)}[/]")
    counts = Counter(result.status for result in results)
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no documents"
    chunks = sum(result.new_chunks for result in results)
    out.print(f"{told}; {chunks} new chunks in {seconds:.1f} s")
    if not results:
        err.print("nothing was found there")
