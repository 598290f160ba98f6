"""How is it kept what was fitted to each collection, and which of it holds?"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from psycopg.types.json import Jsonb

from vademecum.errors import CalibrationNotFound, Forbidden
from vademecum.model.calibration import Calibration, Weights
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("calibration")


class CalibrationsOf:
    """The Calibrations of one build of the index, on PostgreSQL."""

    def __init__(self, pool: Pool, generation: int) -> None:
        self._pool = pool
        self._generation = generation

    async def of(self, scope: Scope, collection: str) -> Calibration | None:
        values = {
            "tenant": scope.tenant,
            "collection": collection,
            "generation": self._generation,
        }
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["of"], values)).fetchone()
        return _calibration(row) if row else None


class PostgresCalibrations:
    """Every calibration of a tenant, for its operators."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, scope: Scope, one: Calibration) -> None:
        """Write a calibration in the place of that of its collection. Raises: Forbidden."""
        _check_operator(scope)
        values = {
            "tenant": scope.tenant,
            "collection": one.collection,
            "name": one.name,
            "sha256": one.sha256,
            "generation": one.generation,
            "ranking": Jsonb(dict(one.ranking)),
            "same": Jsonb(asdict(one.same)) if one.same else None,
            "across": Jsonb(asdict(one.across)) if one.across else None,
            "dense_weight": one.dense_weight,
            "figures": Jsonb(dict(one.figures)),
            "created_at": one.created_at,
        }
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["keep"], values)
            await connection.execute(_SQL["forget_answers"], {"tenant": scope.tenant})

    async def all(self, scope: Scope) -> list[Calibration]:
        """Return those of every collection, by name; none for who is no operator."""
        if not scope.operator:
            return []
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["all"], {"tenant": scope.tenant})
            return [_calibration(row) async for row in cursor]

    async def remove(self, scope: Scope, collection: str) -> None:
        """Take a calibration back. Raises: Forbidden, CalibrationNotFound."""
        _check_operator(scope)
        values = {"tenant": scope.tenant, "collection": collection}
        async with transaction(self._pool, scope) as connection:
            gone = await (await connection.execute(_SQL["remove"], values)).fetchone()
            if gone is None:
                raise CalibrationNotFound(
                    f"the collection {collection!r} has no calibration",
                    hint="`vade eval list` shows those that there are",
                )
            await connection.execute(_SQL["forget_answers"], {"tenant": scope.tenant})


def _check_operator(scope: Scope) -> None:
    if not scope.operator:
        raise Forbidden("only an operator calibrates", hint="use a key that may admin")


def _calibration(row: Mapping[str, Any]) -> Calibration:
    branches = {name: Weights(**row[name]) if row[name] else None for name in ("same", "across")}
    return Calibration(**(dict(row) | branches))
