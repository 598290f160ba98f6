"""`vade reindex`, `vade rollback`: another build of the index, and back."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from vademecum.adapters.chunkers.choose import STRATEGIES
from vademecum.cli.documents import with_catalogue
from vademecum.cli.eval.run import read_file
from vademecum.cli.options import COMMON
from vademecum.cli.output import Work, err, escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import DocumentNotFound, UsageError
from vademecum.evaluate.golden import GoldenQuestion
from vademecum.evaluate.plan import advice
from vademecum.model.principal import Scope
from vademecum.planning import measure
from vademecum.reindexing import (
    Estimate,
    Reindexed,
    Reindexing,
    divide,
    drop_old,
    estimate,
    golden_judge,
    open_reindexing,
    roll_back,
)
from vademecum.reindexing import reindex as build_again

Option = typer.Option
_AS_SET = "settings"


def reindex(
    embedding: Annotated[
        str | None,
        Option("--embedding", metavar="NAME", help="provider:model of the vectors; else as set"),
    ] = None,
    gate: Annotated[
        Path | None,
        Option("--gate", metavar="GOLDEN", help="switch only if its questions fare no worse"),
    ] = None,
    chunker: Annotated[
        str | None,
        Option("--chunker", metavar="NAME", help="divide every document again; settings = as set"),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="do not ask after the estimate")] = False,
    drop: Annotated[
        bool, Option("--drop-old", help="drop the builds that are not read, and do nothing else")
    ] = False,
) -> None:
    """Build the index again beside the one that is read, then switch to it."""
    if drop:
        if embedding is not None or gate is not None or chunker is not None:
            raise UsageError("--drop-old goes alone", hint="leave the other options out")
        _show_dropped(with_catalogue(drop_old))
        return
    if chunker is not None and chunker not in (*STRATEGIES, _AS_SET):
        names = ", ".join((*STRATEGIES, _AS_SET))
        raise UsageError(f"there is no chunker {chunker!r}", hint=f"use {names}")
    asked = read_file(gate).questions if gate else None
    if chunker is None or embedding is not None or asked is not None:
        done = asyncio.run(_reindex(embedding, asked, yes=yes))
        _show(done, "built again")
        if done is None:
            return
    if chunker is not None:
        _show_divided(asyncio.run(_divide(None if chunker == _AS_SET else chunker)))


def rollback() -> None:
    """Go back to the build of the index before the last switch."""
    _show(asyncio.run(_roll_back()), "gone back to")


async def _reindex(
    embedding: str | None, asked: tuple[GoldenQuestion, ...] | None, *, yes: bool
) -> Reindexed | None:
    price = COMMON.settings().settings.models.embedding_price
    with working("opening", quiet=COMMON.json, counted="indexing chunks") as shown:
        told = _Told(shown)
        async with open_reindexing(
            COMMON.settings(), embedding=embedding, event=told.event, tell=shown.tell
        ) as work:
            expected = await estimate(work, price)
            told.event("estimate", asdict(expected))
            if not yes and not COMMON.json and sys.stdin.isatty():
                shown.stop()
                if not typer.confirm("go on?", default=True):
                    return None
            judge = golden_judge(asked, COMMON.tenant) if asked is not None else None
            done = await build_again(work, judge)
            await _advise(work, told)
            return done


async def _advise(work: Reindexing, told: "_Told") -> None:
    """Measure the new build, and say which setting suits it; nothing where it is empty."""
    current = await work.generations.current()
    if current is None:
        return
    app = await work.reopen(current)
    try:
        found = await measure(app, scope=Scope.for_operator(COMMON.tenant), k=10, queries=50)
    except DocumentNotFound:
        return
    plan = ", ".join(found.plans)
    text = advice(found.chunks, found.recall, found.p50_ms, found.exact_p50_ms, plan)
    told.event("measured", asdict(found) | {"advice": text})


async def _divide(chunker: str | None) -> int:
    with working("opening", quiet=COMMON.json, counted="dividing documents") as shown:
        async with open_app(COMMON.settings(), tell=shown.tell) as app:
            return await divide(app, chunker, shown.count)


async def _roll_back() -> Reindexed:
    with working("opening", quiet=COMMON.json, counted="catching up") as shown:
        async with open_reindexing(
            COMMON.settings(), event=_Told(shown).event, tell=shown.tell
        ) as work:
            return await roll_back(work)


class _Told:
    """Tells what happens: a JSON document a line, or a bar and lines for a person."""

    def __init__(self, shown: Work) -> None:
        self._shown = shown

    def event(self, name: str, facts: Mapping[str, Any]) -> None:
        if COMMON.json:
            print_json({"event": name, **facts}, compact=True)
        elif name == "progress":
            self._shown.count(facts["done"], facts["total"])
        elif name == "estimate":
            err.print(escape(_estimated(Estimate(**facts))))
        elif name == "compared":
            err.print(
                f"{facts['questions']} questions: {facts['current']:.3f} now,"
                f" {facts['candidate']:.3f} then ({facts['low']:+.3f} to {facts['high']:+.3f})"
            )
        elif name == "measured":
            err.print(escape(str(facts["advice"])))
        elif name == "switched":
            self._shown.tell("switched; waiting until every process reads it")


def _estimated(expected: Estimate) -> str:
    parts = [
        f"{expected.chunks:,} chunks, {expected.memories:,} memories, {expected.turns:,} turns",
        f"{expected.tokens:,} tokens to embed" if expected.tokens else "nothing to embed anew",
    ]
    if expected.seconds is not None:
        parts.append(f"about {expected.seconds:,.0f} s")
    if expected.price is not None:
        parts.append(f"price {expected.price:,.2f}")
    return ("goes on: " if expected.resumed else "to do: ") + "; ".join(parts)


def _show(done: Reindexed | None, what: str) -> None:
    if done is None:
        out.print("nothing was done")
        return
    if COMMON.json:
        print_json({"event": "done", **asdict(done)}, compact=True)
        return
    built = done.built
    out.print(
        f"[green]{what}[/] generation {done.generation}: {built.chunks:,} chunks filled,"
        f" {built.embedded:,} embedded"
    )
    if built.given_up:
        out.print(f"[yellow]{built.given_up:,} chunks get no vector of this model[/]")
    if done.before is not None:
        out.print(f"generation {done.before} is kept: `vade rollback` goes back to it")


def _show_divided(queued: int) -> None:
    if COMMON.json:
        print_json({"event": "divided", "documents": queued}, compact=True)
        return
    out.print(f"{queued:,} documents divided again" if queued else "all are divided so already")


def _show_dropped(counts: Mapping[str, int]) -> None:
    if COMMON.json:
        print_json({"dropped": dict(counts)})
        return
    told = ", ".join(f"{count:,} {store}" for store, count in counts.items() if count)
    out.print(f"dropped {told}" if told else "there was nothing to drop")
