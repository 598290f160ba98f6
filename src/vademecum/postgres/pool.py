"""How are connections opened, and what does a failing server mean to a person?"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from vademecum.errors import DatabaseAway, DiskFull, VademecumError

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

SEARCH_PATH = "vademecum, public"
_CONNECT_SECONDS = 10
_STATEMENT_MILLISECONDS = 60_000


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn the driver's errors about a missing or full server into ours; others pass."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise DiskFull(
            "the database server has no space left",
            hint="free some space on its disk and run the command again; nothing was half-written",
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
        if isinstance(error, psycopg.errors.QueryCanceled):
            raise
        raise away(error) from error


def away(error: Exception) -> VademecumError:
    """Say in one line that the server does not answer, without its address or password."""
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    reason = first_line.rsplit(": ", 1)[-1]
    return DatabaseAway(
        f"the database does not answer ({reason})",
        hint="check that the server of DATABASE_URL runs, or unset it to use the embedded one",
    )


async def _configure(connection: Connection) -> None:
    await register_vector_async(connection)
    await connection.commit()


@asynccontextmanager
async def open_pool(url: str, *, size: int) -> AsyncIterator[Pool]:
    """Open at most `size` connections to the migrated database at `url`."""
    options: dict[str, Any] = {
        "row_factory": dict_row,
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "vademecum",
        "options": f"-c search_path={SEARCH_PATH.replace(' ', '')}"
        f" -c statement_timeout={_STATEMENT_MILLISECONDS}",
    }
    pool: Pool = AsyncConnectionPool(
        url,
        connection_class=AsyncConnection[DictRow],
        kwargs=options,
        min_size=1,
        max_size=size,
        configure=_configure,
        check=AsyncConnectionPool.check_connection,
        timeout=_CONNECT_SECONDS,
        open=False,
    )
    with clear_errors():
        await pool.open(wait=True, timeout=_CONNECT_SECONDS)
    try:
        yield pool
    finally:
        await pool.close()
