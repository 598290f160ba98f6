"""How is all that is kept of a person read at once?"""

from collections import defaultdict
from typing import Any
from uuid import UUID

from vademecum.model.conversation import Turn
from vademecum.model.memory import MemoryVersion
from vademecum.model.personal import Personal
from vademecum.model.principal import Scope
from vademecum.postgres.conversation.store import conversation_of, turn_of
from vademecum.postgres.memory.reader import memory_of
from vademecum.postgres.memory.store import version_of
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("export")


class PostgresExport:
    """Reads everything of a principal in four statements, however much it is."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def personal(self, scope: Scope) -> Personal:
        """Return what is kept of the principal of `scope`. Raises: DatabaseAway."""
        keys = {"tenant": scope.tenant, "principal": scope.principal}
        rows: dict[str, list[dict[str, Any]]] = {}
        async with transaction(self._pool, scope) as connection:
            for name, query in _SQL.items():
                rows[name] = await (await connection.execute(query, keys)).fetchall()
        versions: dict[UUID, list[MemoryVersion]] = defaultdict(list)
        for row in rows["versions"]:
            versions[row["memory"]].append(version_of(row))
        turns: dict[UUID, list[Turn]] = defaultdict(list)
        for row in rows["turns"]:
            turns[row["conversation"]].append(turn_of(row))
        return Personal(
            memories=tuple(
                (memory_of(row), tuple(versions[row["id"]])) for row in rows["memories"]
            ),
            conversations=tuple(
                (conversation_of(row), tuple(turns[row["id"]])) for row in rows["conversations"]
            ),
        )
