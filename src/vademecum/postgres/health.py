"""What kind of server is it?"""

import asyncio
from dataclasses import dataclass

from vademecum.postgres.pool import Pool, away, clear_errors
from vademecum.postgres.queries import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Versions, the two settings that durability hangs on, and the database's size in bytes."""

    version: str
    vector: str
    fsync: str
    synchronous_commit: str
    bytes: int


async def server_facts(pool: Pool) -> Server:
    """Ask the server about itself."""
    with clear_errors():
        async with pool.connection() as connection:
            row = await (await connection.execute(load("health")["server"])).fetchone()
    assert row is not None
    return Server(**row)


async def ping(pool: Pool, *, seconds: float = 1.0) -> None:
    """Return once the server answers. Raises: DatabaseAway, at the latest after `seconds`."""
    try:
        with clear_errors():
            async with asyncio.timeout(seconds), pool.connection(timeout=seconds) as connection:
                await connection.execute(load("health")["ping"])
    except TimeoutError as error:
        raise away(error) from error
