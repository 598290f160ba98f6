"""How do deleted bytes leave the files? A deletion and a VACUUM leave them where they were."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncConnection, sql

from vademecum.model.purge import StoreReceipt
from vademecum.postgres.pool import clear_errors
from vademecum.postgres.queries import load

_SQL = load("scrub")
_OWN_TABLES = "VACUUM (FULL, ANALYZE) {table}"
_STATISTICS = "VACUUM FULL pg_catalog.pg_statistic"
_NO_REUSE = "ALTER SYSTEM SET wal_recycle = off"
_REUSE = "ALTER SYSTEM RESET wal_recycle"
_RELOAD = "SELECT pg_reload_conf()"
_SECONDS_A_TABLE = 3600
# A server that streams or archives may keep segments for good; more switches would not help.
_MOST_SEGMENTS = 1_000


async def scrub(url: str) -> list[StoreReceipt]:
    """Rewrite every table and index, and let go of the log of changes, so that no byte of what was
    deleted is left in the server's files; return a receipt each for tables and log.

    `url` is of a login that owns the schema. Writers wait for the table that is being rewritten.
    What the server does not let us reach is `left`, with the reason. Copies on replicas, in
    archives and in backups, and blocks of removed files on the disk, are never reached from here.
    Raises: DatabaseAway.
    """
    with clear_errors():
        async with await AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(f"SET statement_timeout = '{_SECONDS_A_TABLE}s'")
            tables = await _rewrite(connection)
            return [tables, await _let_go_of_log(connection)]


async def _rewrite(connection: AsyncConnection) -> StoreReceipt:
    before = {row[0]: row[1] for row in await _rows(connection, "files")}
    # The planner's statistics hold values of columns, and those of an emptied table stay.
    if superuser := bool(await _rows(connection, "is_superuser")):
        await _rows(connection, "forget_statistics")
    for name, _ in await _rows(connection, "tables"):
        table = sql.Identifier("vademecum", name)
        await connection.execute(sql.SQL(_OWN_TABLES).format(table=table))
    if superuser:
        await connection.execute(_STATISTICS)
    after = {row[0]: row[1] for row in await _rows(connection, "files")}
    left = sum(after.get(name) == file for name, file in before.items())
    why = "" if not left else "only a superuser may rewrite the planner's statistics"
    return StoreReceipt(
        store="files.tables", found=len(before), deleted=len(before) - left, left=left, why=why
    )


async def _let_go_of_log(connection: AsyncConnection) -> StoreReceipt:
    """Go on to segments that are new files, then let checkpoints remove all older ones."""
    try:
        before = {row[0] for row in await _rows(connection, "segments")}
        async with _segments_removed(connection):
            # Segments that wait to be written over hold old bytes behind names still to come.
            for _ in range(_MOST_SEGMENTS):
                ((current,),) = await _rows(connection, "next_segment")
                if current > max(before):
                    break
            await connection.execute("CHECKPOINT")
            # The checkpoint before the last one is kept, too.
            await _rows(connection, "next_segment")
            await connection.execute("CHECKPOINT")
        kept = before & {row[0] for row in await _rows(connection, "segments")}
    except psycopg.errors.InsufficientPrivilege:
        why = "this login may not switch and checkpoint the log: run `vade scrub` as a superuser"
        return StoreReceipt(store="files.log", found=1, deleted=0, left=1, why=why)
    why = "the server keeps segments for a replica, a slot or an archive" if kept else ""
    return StoreReceipt(
        store="files.log",
        found=len(before),
        deleted=len(before) - len(kept),
        left=len(kept),
        why=why,
    )


@asynccontextmanager
async def _segments_removed(connection: AsyncConnection) -> AsyncIterator[None]:
    await connection.execute(_NO_REUSE)
    await connection.execute(_RELOAD)
    try:
        yield
    finally:
        await connection.execute(_REUSE)
        await connection.execute(_RELOAD)


async def _rows(connection: AsyncConnection, name: str) -> list[tuple[str, ...]]:
    cursor = await connection.execute(_SQL[name])
    return await cursor.fetchall() if cursor.description else []
