"""Who runs what was accepted? The queue is procrastinate's; leases and rescue are ours."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.psycopg_connector import PsycopgConnector

from vademecum.model.ids import DocumentId, RevisionId, Tenant, new_uuid
from vademecum.model.job import Job
from vademecum.model.principal import Scope
from vademecum.ports.jobs import Kind, Work, Works
from vademecum.postgres.pool import Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import collections_of, transaction

_CONCURRENCY = 4
# A notice that was lost is made up for by looking; who is told to end gets this long.
_POLL_SECONDS = 5.0
_GRACE_SECONDS = 25.0
# How often whoever wants all done looks whether it is.
_LOOK_SECONDS = 0.1
# Documents that are queued together to be divided again.
_DIVIDED = 200
_SQL = load("job")

_log = logging.getLogger(__name__)

# The library tells of every job on its own logger; what matters is told by the work itself.
logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


class PostgresJobs:
    """The Jobs port: a procrastinate worker over the same database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def drain(self, works: Works) -> None:
        if await self._left(works):
            await self._work(works, for_ever=False)

    async def run(self, works: Works) -> None:
        await self._work(works, for_ever=True)

    async def _work(self, works: Works, *, for_ever: bool) -> None:
        while not await self._worked(works, for_ever=for_ever):
            # It was so busy that its heartbeat came late, and another process let go of it.
            _log.warning("the worker was taken for dead, and begins again")

    async def _worked(self, works: Works, *, for_ever: bool) -> bool:
        """Work; False where the queue does not know this worker any more. What it had begun ends,
        or is rescued when its lease runs out. Raises: DatabaseAway, DiskFull."""
        try:
            await self._run(works, for_ever=for_ever)
        except ConnectorException as error:
            if isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation):
                return False
            with clear_errors():  # the queue hides the driver's error behind one of its own
                raise (error.__cause__ or error) from error
        return True

    async def _run(self, works: Works, *, for_ever: bool) -> None:
        begun: set[UUID] = set()
        async with self._queue(works, begun) as queue:
            working = asyncio.create_task(
                queue.run_worker_async(
                    queues=list(works),
                    # A worker that does not wait gives what it has begun no more than its grace.
                    wait=True,
                    concurrency=_CONCURRENCY,
                    listen_notify=for_ever,
                    fetch_job_polling_interval=_POLL_SECONDS if for_ever else _LOOK_SECONDS,
                    shutdown_graceful_timeout=_GRACE_SECONDS,
                    install_signal_handlers=False,
                    delete_jobs="always",
                )
            )
            try:
                while not working.done() and (
                    for_ever or begun or await self._left(works) or begun
                ):
                    await asyncio.wait({working}, timeout=None if for_ever else _LOOK_SECONDS)
            finally:
                working.cancel()
                await asyncio.wait({working})
            if not working.cancelled():
                working.result()

    async def _left(self, works: Works) -> bool:
        """Tell whether anything waits that a worker would begin now."""
        with clear_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_SQL["left"], {"kinds": list(works)})
                row = await cursor.fetchone()
        return bool(row and row["waiting"])

    async def rescue(self) -> int:
        with clear_errors():
            async with self._pool.connection() as connection:
                row = await (await connection.execute(_SQL["rescue"])).fetchone()
        return int(row["rescued"]) if row else 0

    async def pending(self, scope: Scope) -> list[Job]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["pending"], {"tenant": scope.tenant, "collections": collections_of(scope)}
            )
            return [
                Job(
                    document_id=DocumentId(row["document"]),
                    revision_id=RevisionId(row["revision"]),
                    collection=row["collection"],
                    uri=row["uri"],
                    state=row["state"],
                    attempts=row["attempts"],
                    reason=row["reason"],
                    accepted_at=row["accepted_at"],
                )
                async for row in cursor
            ]

    async def retry(self, scope: Scope, document_id: DocumentId | None) -> list[DocumentId]:
        place = {
            "tenant": scope.tenant,
            "id": document_id,
            "collections": collections_of(scope),
        }
        async with transaction(self._pool, scope) as connection:
            rows = await (await connection.execute(_SQL["to_retry"], place)).fetchall()
            for row in rows:
                keys = row | {
                    "tenant": scope.tenant,
                    "revision": new_uuid(),
                    "principal": scope.principal,
                }
                await connection.execute(_SQL["add_retry"], keys)
                await connection.execute(_SQL["enqueue_ingestion"], keys)
        return [DocumentId(row["document"]) for row in rows]

    async def divide(
        self, scope: Scope, collection: str, chunker: str | None, fingerprint: str
    ) -> int:
        """Queue the documents of a collection that were read otherwise, as new revisions of the
        same bytes, divided by `chunker` (None: as the settings say); return how many."""
        place = {
            "tenant": scope.tenant,
            "collection": collection,
            "chunker": chunker,
            "fingerprint": fingerprint,
            "limit": _DIVIDED,
        }
        queued = 0
        while True:  # each page is a transaction, so that none is long
            async with transaction(self._pool, scope) as connection:
                rows = await (await connection.execute(_SQL["to_divide"], place)).fetchall()
                for row in rows:
                    keys = place | row | {"revision": new_uuid()}
                    await connection.execute(_SQL["add_divided"], keys)
                    await connection.execute(_SQL["enqueue_ingestion"], keys)
            queued += len(rows)
            if len(rows) < _DIVIDED:
                return queued

    @asynccontextmanager
    async def _queue(self, works: Works, begun: set[UUID]) -> AsyncIterator[procrastinate.App]:
        queue = procrastinate.App(connector=PsycopgConnector())
        for kind, work in works.items():
            _add_task(queue, kind, work, begun)
        with clear_errors():
            async with queue.open_async(self._pool):
                yield queue


def _add_task(queue: procrastinate.App, kind: Kind, work: Work, begun: set[UUID]) -> None:
    """Let a worker do the work of a kind, which is also the name of its queue. What it is about is
    in `begun` meanwhile."""

    @queue.task(name=kind, queue=kind)
    async def task(tenant: str, **item: str) -> None:
        # One thing a job; an older release named it by what it was.
        (name,) = item.values()
        begun.add(UUID(name))
        try:
            await work(Tenant(tenant), UUID(name))
        finally:
            begun.discard(UUID(name))
