"""`vade config`, `status`, `doctor`, `stop`, `migrate`, `model`: the system itself."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from vademecum.adapters.parsers import jail
from vademecum.catalogue import Catalogue, calibrations_of, open_catalogue
from vademecum.cli.documents import with_catalogue
from vademecum.cli.options import COMMON, command
from vademecum.cli.output import escape, out, print_json, working
from vademecum.errors import VademecumError
from vademecum.interface import generation_json, generation_text
from vademecum.model.calibration import Calibration
from vademecum.model.index import BuildProgress, GenerationRecord
from vademecum.model.principal import Scope
from vademecum.opening import model_files, recognition_languages
from vademecum.postgres import embedded
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.health import Server, server_facts
from vademecum.settings import shown

config = typer.Typer(no_args_is_help=True, help="What is set, and where it came from.")
model = typer.Typer(no_args_is_help=True, help="The local embedding model.")
_LEAST_FREE_BYTES = 1 << 30
Standing = list[tuple[GenerationRecord, BuildProgress | None]]


@config.command("show")
@command
def config_show() -> None:
    """Print each setting and where it came from; secrets are masked."""
    loaded = COMMON.settings()
    rows = [
        ("home", str(loaded.home), "VADE_HOME or the default"),
        *shown(loaded),
    ]
    if COMMON.json:
        print_json({"settings": [{"key": k, "value": v, "origin": o} for k, v, o in rows]})
        return
    table = Table(box=None, header_style="bold")
    for heading in ("setting", "value", "from"):
        table.add_column(heading, overflow="fold")
    for key, value, origin in rows:
        style = "dim" if origin == "default" else ""
        table.add_row(key, escape(value), escape(origin), style=style)
    out.print(table)


@config.command("check")
@command
def config_check() -> None:
    """Read every setting; say whether all are valid."""
    loaded = COMMON.settings()
    if COMMON.json:
        print_json({"valid": True, "set": sorted(loaded.origins)})
    else:
        out.print(f"[green]valid[/]; {len(loaded.origins)} not at their default")


@model.command("fetch")
@command
def model_fetch() -> None:
    """Prepare the local embedding model, or check that it is whole."""
    loaded = COMMON.settings()
    with working("checking the embedding model", quiet=COMMON.json) as work:
        files = model_files(loaded, work.tell)
    if COMMON.json:
        print_json({"folder": files.graph.parent, "revision": files.revision})
    else:
        out.print(f"[green]ready[/] {escape(str(files.graph.parent))} ({files.revision})")


def migrate() -> None:
    """Bring the database to this release's schema."""
    with_catalogue(_nothing)
    if COMMON.json:
        print_json({"migrated": True})
    else:
        out.print("[green]the schema is up to date[/]")


async def _nothing(_catalogue: Catalogue) -> None:
    return None


def stop() -> None:
    """Stop the embedded database server."""
    stopped = embedded.stop(COMMON.settings().home)
    if COMMON.json:
        print_json({"stopped": stopped})
    else:
        out.print("stopped" if stopped else "no server was running")


def status() -> None:
    """Show what runs and what is in."""
    loaded = COMMON.settings()

    async def work(
        catalogue: Catalogue,
    ) -> tuple[Server, dict[str, int], Standing, list[tuple[Calibration, str]]]:
        scope = Scope.for_operator(COMMON.tenant)
        counts = await catalogue.documents.counts(scope)
        standing = await PostgresGenerations(catalogue.pool).standing()
        fitted = await calibrations_of(catalogue, scope, loaded)
        return await server_facts(catalogue.pool), counts, standing, fitted

    server, counts, standing, fitted = with_catalogue(work)
    kind = "given" if loaded.settings.database.url else "embedded"
    facts: dict[str, Any] = {
        "home": str(loaded.home),
        "tenant": COMMON.tenant,
        "database": {"kind": kind} | asdict(server),
        "documents": counts["documents"],
        "chunks": counts["chunks"],
        "waiting": counts["waiting"],
        "embedding": loaded.settings.models.embedding,
        "language_model": loaded.settings.models.language,
        "index": [generation_json(record, progress) for record, progress in standing],
        "calibrations": [
            {"collection": one.collection, "sha256": one.sha256, "stale": why or None}
            for one, why in fitted
        ],
    }
    if COMMON.json:
        print_json(facts)
        return
    out.print(f"[bold]data folder[/]    {escape(facts['home'])}")
    out.print(
        f"[bold]database[/]       {kind}, PostgreSQL {server.version}, pgvector {server.vector},"
        f" {server.bytes / 2**20:.0f} MB"
    )
    written = facts["language_model"] or "extractive (no language model set)"
    out.print(f"[bold]embedding[/]      {escape(facts['embedding'])}")
    out.print(f"[bold]answers[/]        {escape(written)}")
    for record, progress in standing:
        out.print(f"[bold]index[/]          {escape(generation_text(record, progress))}")
    for one, why in fitted:
        state = f"not used: {why}" if why else "in use"
        out.print(f"[bold]calibrated[/]     {escape(one.label)}; {escape(state)}")
    out.print(
        f"[bold]in {escape(COMMON.tenant)}[/]     {counts['documents']} documents,"
        f" {counts['chunks']} chunks, {counts['waiting']} waiting"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the doctor's report."""

    name: str
    ok: bool
    detail: str


def doctor() -> None:
    """Check every part, and say what to do about what is wrong."""
    checks = asyncio.run(_examine())
    if COMMON.json:
        print_json({"checks": [asdict(check) for check in checks], "ok": all(c.ok for c in checks)})
    else:
        for check in checks:
            mark = "[green]ok  [/]" if check.ok else "[red]FAIL[/]"
            out.print(f"{mark} {check.name:<14} {escape(check.detail)}")
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


async def _examine() -> list[Check]:
    loaded = COMMON.settings()
    checks = [
        Check(name="settings", ok=True, detail=f"{len(loaded.origins)} set"),
        _disk(loaded.home),
    ]

    async def tried(name: str, work: Callable[[], Awaitable[str]]) -> None:
        try:
            checks.append(Check(name=name, ok=True, detail=await work()))
        except VademecumError as error:
            checks.append(Check(name=name, ok=False, detail=f"{error} [{error.code}]"))

    async def database() -> str:
        async with open_catalogue(loaded) as catalogue:
            server = await server_facts(catalogue.pool)
        if server.fsync != "on" or server.synchronous_commit == "off":
            raise VademecumError(
                "the server may lose what it acknowledged",
                hint="set fsync and synchronous_commit on",
            )
        return (
            f"PostgreSQL {server.version}, pgvector {server.vector}; schema, roles and "
            "row-level security checked"
        )

    async def weights() -> str:
        files = await asyncio.to_thread(model_files, loaded)
        return f"{files.graph.parent} ({files.revision})"

    async def reading() -> str:
        layers = await asyncio.to_thread(jail.layers)
        active = [name for name, works in layers.items() if works]
        missing = [name for name, works in layers.items() if not works]
        without = f"; not on this system: {', '.join(missing)}" if missing else ""
        languages = await asyncio.to_thread(recognition_languages, loaded.settings.ingest.ocr)
        recognised = f"; recognises {languages}" if languages else ""
        return f"each document in a process of its own, shut off from {', '.join(active)}" + (
            without + recognised
        )

    await tried("database", database)
    await tried("readers", reading)
    await tried("embedding", weights)
    return checks


def _disk(home: Path) -> Check:
    place = next(folder for folder in (home, *home.parents) if os.path.exists(folder))
    free = shutil.disk_usage(place).free
    return Check(
        name="disk",
        ok=free >= _LEAST_FREE_BYTES,
        detail=f"{free / 2**30:.1f} GB free for {home}"
        + ("" if free >= _LEAST_FREE_BYTES else ": free some space"),
    )
