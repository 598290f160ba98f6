"""What goes on in the background, for as long as the process lives?

Loops side by side. None of them needs another: lost work is rescued though every job hangs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from vademecum.answer.fold import tend_conversation
from vademecum.app import App, ingest_item
from vademecum.ingest.reconcile import Reconciled, reconcile
from vademecum.ingest.retain import Retired, retire
from vademecum.memory.extract import learn_waiting
from vademecum.memory.upkeep import Indexed, LetGo, index_waiting, let_go
from vademecum.model.ids import Tenant
from vademecum.ports.jobs import Works
from vademecum.purge.person import resume
from vademecum.reindexing import drop_retired


@dataclass(frozen=True, slots=True, kw_only=True)
class LetGoServed:
    """How many rows of serving one pass let go: sessions, first answers, old spending."""

    served: int


Mended = tuple[Reconciled, Indexed]
Left = tuple[Retired, LetGo, LetGoServed]

RESCUE_SECONDS = 10.0
RECONCILE_SECONDS = 60.0
RETIRE_SECONDS = 3600.0
ERASE_SECONDS = 60.0
LEARN_SECONDS = 10.0
GRAPH_SECONDS = 300.0
_AGAIN_SECONDS = 5.0
_log = logging.getLogger(__name__)


async def work(app: App) -> None:
    """Work until cancelled. What was begun then ends, or its lease runs out."""
    jobs = app.catalogue.jobs
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_for_ever("jobs", lambda: jobs.run(works_of(app)), 0.0))
        tasks.create_task(_for_ever("rescue", jobs.rescue, RESCUE_SECONDS))
        tasks.create_task(_for_ever("reconcile", lambda: _mend(app), RECONCILE_SECONDS))
        tasks.create_task(_for_ever("retire", lambda: _let_go(app), RETIRE_SECONDS))
        tasks.create_task(_for_ever("erase", lambda: _erase(app), ERASE_SECONDS))
        tasks.create_task(_for_ever("learn", lambda: learn_all(app), LEARN_SECONDS))
        tasks.create_task(_for_ever("graph", lambda: _tend(app), GRAPH_SECONDS))


def works_of(app: App) -> Works:
    """Return what is done with each kind of job."""
    return {
        "ingest": partial(ingest_item, app),
        "converse": partial(_converse, app),
    }


async def _converse(app: App, tenant: Tenant, item: UUID) -> None:
    """Tend a conversation with the parts that the App has at that moment."""
    await tend_conversation(app.tend_parts, tenant, item)


async def once(app: App) -> tuple[Mended, Left]:
    """Do all that there is to do now, and return what was mended and let go."""
    mended = await _mend(app)
    await app.catalogue.jobs.drain(works_of(app))
    await _tend(app)
    await learn_all(app)
    await _erase(app)
    return mended, await _let_go(app)


async def _mend(app: App) -> Mended:
    """Make the index what the truth says, of documents and of memories."""
    return await reconcile(app.reconcile_parts), await index_waiting(app.memory_upkeep_parts)


async def _let_go(app: App) -> Left:
    """Let go what is kept no longer, of documents, memories, serving and builds of
    the index."""
    await drop_retired(app.catalogue, app.retain_parts.keep.generations)
    served = await _of_each_tenant(app, app.catalogue.let_go)
    return (
        await retire(app.retain_parts),
        await let_go(app.memory_upkeep_parts),
        LetGoServed(served=served),
    )


async def learn_all(app: App) -> int:
    """Learn from conversations that have gone quiet; return how many memories came of it."""
    if app.learn_parts is None:
        return 0
    return await _of_each_tenant(app, partial(learn_waiting, app.learn_parts))


async def _erase(app: App) -> int:
    """Go on with what was to be forgotten and could not go yet; return how many are done."""
    return await _of_each_tenant(app, partial(resume, app.catalogue.person_parts))


async def _of_each_tenant(app: App, do: Callable[[Tenant], Awaitable[int]]) -> int:
    """Do the same for every tenant; return the sum."""
    return sum([await do(tenant) for tenant in await app.reconcile_parts.upkeep.tenants()])


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
