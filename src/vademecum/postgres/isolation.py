"""Do both walls stand? Checked at every start, because a wall that fell makes no noise."""

from vademecum.errors import IsolationBroken
from vademecum.postgres.pool import Connection, Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import APP_ROLE, drop_to_app

# The only tables of tenants' data without row-level security: ids, vectors and term weights,
# reached through functions that read the tenant from the transaction, and the tenant of each key,
# read by the one function that finds out who asks. No grant to the app role.
INDEX_TABLES = frozenset(
    {
        "chunk_vector",
        "chunk_terms",
        "chunk_states",
        "term_count",
        "term_delta",
        "language_total",
        "vector_sample",
        "memory_index",
        "key_place",
    }
)
_SQL = load("health")


async def check_isolation(pool: Pool) -> None:
    """Raise IsolationBroken that names everything which does not hold."""
    with clear_errors():
        async with pool.connection() as connection, connection.transaction():
            faults = [
                *await _table_faults(connection),
                *await _role_faults(connection),
                *await _function_faults(connection),
                *await _unset_faults(connection),
            ]
    if faults:
        raise IsolationBroken(
            "the database does not keep tenants apart: " + "; ".join(faults),
            hint="undo the change that was made by hand, or restore the database",
        )


async def _table_faults(connection: Connection) -> list[str]:
    faults = []
    async for table in await connection.execute(_SQL["isolation_tables"], {"app": APP_ROLE}):
        name = table["name"]
        if name in INDEX_TABLES:
            if table["granted"]:
                faults.append(f"the app role has rights on the index table {name}")
        elif not (table["enabled"] and table["forced"]):
            faults.append(f"row-level security of {name} is not forced")
        if table["owner"] == APP_ROLE:
            faults.append(f"the app role owns {name}")
    return faults


async def _role_faults(connection: Connection) -> list[str]:
    cursor = await connection.execute(_SQL["isolation_roles"], {"app": APP_ROLE})
    role = await cursor.fetchone()
    if role is None:
        return [f"the role {APP_ROLE} is missing"]
    return [f"the role {APP_ROLE} is {fault}" for fault in ("superuser", "bypasses") if role[fault]]


async def _function_faults(connection: Connection) -> list[str]:
    functions = [
        f"the function {row['name']} has no pinned search_path"
        async for row in await connection.execute(_SQL["isolation_functions"])
    ]
    views = [
        f"the view {row['name']} reads as its owner"
        async for row in await connection.execute(_SQL["isolation_views"])
    ]
    return functions + views


async def _unset_faults(connection: Connection) -> list[str]:
    """A transaction that tells no tenant must see nothing at all."""
    await drop_to_app(connection)
    cursor = await connection.execute(_SQL["visible_without_tenant"])
    row = await cursor.fetchone()
    seen = [name for name, count in (row or {}).items() if count]
    return [f"{name} shows rows to a transaction without a tenant" for name in seen]
