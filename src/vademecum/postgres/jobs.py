"""Who runs what was accepted? The queue is procrastinate's; leases and rescue are ours."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import procrastinate
from procrastinate.psycopg_connector import PsycopgConnector

from vademecum.model.ids import RevisionId, Tenant
from vademecum.ports.jobs import Work
from vademecum.postgres.pool import Pool, clear_errors

QUEUE = "ingest"
_CONCURRENCY = 4

# The library tells of every job on its own logger; what matters is told by the work itself.
logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


class PostgresJobs:
    """The Jobs port: a procrastinate worker over the same database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def drain(self, work: Work) -> None:
        async with self._queue(work) as queue:
            await queue.run_worker_async(
                queues=[QUEUE],
                wait=False,
                concurrency=_CONCURRENCY,
                listen_notify=False,
                install_signal_handlers=False,
                delete_jobs="always",
            )

    async def rescue(self) -> int:
        with clear_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute("SELECT rescue_ingestion() AS rescued")
                row = await cursor.fetchone()
        return int(row["rescued"]) if row else 0

    @asynccontextmanager
    async def _queue(self, work: Work) -> AsyncIterator[procrastinate.App]:
        queue = procrastinate.App(connector=PsycopgConnector())

        @queue.task(name="ingest", queue=QUEUE)
        async def ingest(tenant: str, revision: str) -> None:
            await work(Tenant(tenant), RevisionId(UUID(revision)))

        with clear_errors():
            async with queue.open_async(self._pool):
                yield queue
