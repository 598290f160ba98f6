"""What does one transaction see? Exactly what its Scope allows, told to PostgreSQL first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vademecum.model.principal import Scope
from vademecum.postgres.pool import Connection, Pool, clear_errors

APP_ROLE = "vademecum_app"

# One statement, so that no query can come between; all four end with the transaction.
_ENTER = """
SELECT set_config('role', %(role)s, true),
       set_config('vademecum.tenant', %(tenant)s, true),
       set_config('vademecum.principal', %(principal)s, true),
       set_config('vademecum.labels', %(labels)s::text[]::text, true),
       set_config('vademecum.operator', %(operator)s, true)
"""


# Without a tenant: nothing is visible, and only what finds out who asks may be called.
_DROP = "SELECT set_config('role', %(role)s, true)"


async def drop_to_app(connection: Connection) -> None:
    """Drop to the app role until the transaction ends, and tell it of nobody."""
    await connection.execute(_DROP, {"role": APP_ROLE})


async def enter(connection: Connection, scope: Scope) -> None:
    """Drop to the app role and tell the transaction whose it is."""
    await connection.execute(
        _ENTER,
        {
            "role": APP_ROLE,
            "tenant": scope.tenant,
            "principal": scope.principal,
            "labels": sorted(scope.labels),
            "operator": "on" if scope.operator else "off",
        },
    )


def collections_of(scope: Scope) -> list[str] | None:
    """Return what queries take as the collections that a scope allows; None is all."""
    return None if scope.collections is None else sorted(scope.collections)


@asynccontextmanager
async def transaction(pool: Pool, scope: Scope) -> AsyncIterator[Connection]:
    """Run the block in one transaction of `scope`; it is rolled back if the block raises.

    Statements are sent without waiting for the ones before, up to the next whose rows are read.
    """
    with clear_errors():
        async with (
            pool.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            await enter(connection, scope)
            yield connection
