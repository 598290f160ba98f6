"""What goes on in the background, for as long as the process lives?

Five loops side by side. None of them needs another: lost work is rescued though every job hangs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from vademecum.answer.fold import tend_conversation
from vademecum.app import App
from vademecum.ingest.pipeline import ingest_revision
from vademecum.ingest.reconcile import Reconciled, reconcile
from vademecum.ingest.retain import Retired, retire
from vademecum.ports.jobs import Works

RESCUE_SECONDS = 10.0
RECONCILE_SECONDS = 60.0
RETIRE_SECONDS = 3600.0
GRAPH_SECONDS = 300.0
_AGAIN_SECONDS = 5.0
_log = logging.getLogger(__name__)


async def work(app: App) -> None:
    """Work until cancelled. What was begun then ends, or its lease runs out."""
    jobs = app.catalogue.jobs
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_for_ever("jobs", lambda: jobs.run(works_of(app)), 0.0))
        tasks.create_task(_for_ever("rescue", jobs.rescue, RESCUE_SECONDS))
        tasks.create_task(
            _for_ever("reconcile", lambda: reconcile(app.reconcile_parts), RECONCILE_SECONDS)
        )
        tasks.create_task(_for_ever("retire", lambda: retire(app.retain_parts), RETIRE_SECONDS))
        tasks.create_task(_for_ever("graph", lambda: _tend(app), GRAPH_SECONDS))


def works_of(app: App) -> Works:
    """Return what is done with each kind of job."""
    return {
        "ingest": partial(ingest_revision, app.ingest_parts),
        "converse": partial(tend_conversation, app.tend_parts),
    }


async def once(app: App) -> tuple[Reconciled, Retired]:
    """Do all that there is to do now, and return what was mended and let go."""
    mended = await reconcile(app.reconcile_parts)
    await app.catalogue.jobs.drain(works_of(app))
    await _tend(app)
    return mended, await retire(app.retain_parts)


async def _tend(app: App) -> bool:
    """Give the dense leg a graph once the index is large; True if one was built."""
    return app.graph is not None and await app.graph.tend()


async def _for_ever(name: str, do: Callable[[], Awaitable[object]], seconds: float) -> None:
    task = asyncio.current_task()
    while task is None or not task.cancelling():
        wait = seconds
        try:
            done = await do()
        except Exception as error:  # noqa: BLE001
            # Whatever fails here must not end the others, nor itself: it is tried again.
            _log.error("%s failed: %s", name, getattr(error, "code", type(error).__name__))
            wait = _AGAIN_SECONDS
        else:
            _log.info("%s: %s", name, done)
        await asyncio.sleep(wait)
