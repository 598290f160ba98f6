"""`vade worker`, `vade jobs`, `vade changes`: the work behind, and what came of it."""

import asyncio
import signal
from dataclasses import asdict
from typing import Annotated

import typer

from vademecum.catalogue import Catalogue
from vademecum.cli.documents import named, with_catalogue
from vademecum.cli.options import COMMON, Collection, command
from vademecum.cli.output import err, escape, out, print_json, working
from vademecum.composing import open as open_app
from vademecum.errors import UsageError
from vademecum.model.change import FIRST, ChangeEvent
from vademecum.model.ids import DocumentId
from vademecum.model.job import Job
from vademecum.model.principal import Scope
from vademecum.worker.loop import once as work_once
from vademecum.worker.loop import work

jobs = typer.Typer(no_args_is_help=True, help="What waits, what is being done, what was given up.")
_COLOURS = {"waiting": "dim", "working": "cyan", "dead": "red"}


def worker(
    once: Annotated[bool, typer.Option("--once", help="do what there is now, then end")] = False,
) -> None:
    """Work on what was accepted, and keep the index right, until stopped."""
    asyncio.run(_once() if once else _until_stopped())


async def _once() -> None:
    with working("opening", quiet=COMMON.json) as shown:
        async with open_app(COMMON.settings(), tell=shown.tell) as app:
            shown.tell("working")
            mended, retired = await work_once(app)
    done = {
        "mended": {key: n for part in mended for key, n in asdict(part).items()},
        "retired": {key: n for part in retired for key, n in asdict(part).items()},
    }
    if COMMON.json:
        print_json(done)
        return
    for what, values in (("mended", done["mended"]), ("let go", done["retired"])):
        told = ", ".join(f"{n} {key.replace('_', ' ')}" for key, n in values.items() if n)
        out.print(f"[bold]{what}[/]  {told or 'nothing'}")


async def _until_stopped() -> None:
    async with open_app(COMMON.settings(), tell=err.print) as app:
        working_on = asyncio.create_task(work(app))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, working_on.cancel)
        err.print("working; stop with Ctrl-C")
        await asyncio.wait({working_on})
        if not working_on.cancelled():
            working_on.result()
    err.print("stopped")


@jobs.command("list")
@command
def list_jobs(collection: Collection = None) -> None:
    """List the work that waits, is being done, or was given up."""
    scope = Scope.for_operator(COMMON.tenant)
    found = with_catalogue(lambda catalogue: catalogue.jobs.pending(scope))
    if collection:
        found = [job for job in found if job.collection in collection]
    if COMMON.json:
        print_json({"jobs": [asdict(job) for job in found]})
        return
    for job in found:
        _show(job)
    if not found:
        out.print("nothing waits, and nothing was given up")


def _show(job: Job) -> None:
    tried = f" after {job.attempts} attempts" if job.attempts > 1 else ""
    out.print(
        f"[{_COLOURS[job.state]}]{job.state:>8}[/]  {job.document_id}  {escape(job.uri)}"
        f"  [dim]{escape(job.reason)}{tried}[/]"
    )


@jobs.command("retry")
@command
def retry(
    name: Annotated[str | None, typer.Argument(metavar="ID", help="a document's id or uri")] = None,
    every: Annotated[bool, typer.Option("--all", help="every one of them")] = False,
) -> None:
    """Try again what was given up, or could be read only in part."""
    if (name is None) != every:
        raise UsageError("name a document, or --all", hint="`vade jobs list` shows them")
    scope = Scope.for_operator(COMMON.tenant)

    async def run(catalogue: Catalogue) -> list[DocumentId]:
        document_id = await named(catalogue, name, scope) if name else None
        return await catalogue.jobs.retry(scope, document_id)

    queued = with_catalogue(run)
    if COMMON.json:
        print_json({"queued": queued})
    else:
        out.print(f"{len(queued)} queued; a worker does them, or `vade worker --once`")


def changes(
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="those after this one")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="at most")] = 1_000,
) -> None:
    """List what changed, in the order of commitment, each change exactly once."""
    scope = Scope.for_operator(COMMON.tenant)
    cursor = _cursor(after) if after else FIRST
    found = with_catalogue(lambda catalogue: catalogue.documents.changes(scope, cursor, limit))
    if COMMON.json:
        print_json({"changes": [_json(event) for event in found]})
        return
    for event in found:
        told = _json(event)
        out.print(f"{told['cursor']:<16} {told['kind']:<10} {told['document_id']}")
    if not found:
        out.print("no changes")


def _cursor(text: str) -> tuple[int, int]:
    left, dot, right = text.partition(".")
    if not (dot and left.isdecimal() and right.isdecimal()):
        raise UsageError(f"{text!r} is no cursor", hint="give the last one that you saw")
    return int(left), int(right)


def _json(event: ChangeEvent) -> dict[str, object]:
    return asdict(event) | {"cursor": f"{event.cursor[0]}.{event.cursor[1]}"}
