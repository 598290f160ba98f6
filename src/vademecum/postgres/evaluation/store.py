"""How are evaluations kept?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from psycopg.types.json import Jsonb

from vademecum.errors import EvaluationNotFound, Forbidden
from vademecum.model.evaluation import Result, Run, Summary
from vademecum.model.ids import ChunkId, DocumentId, EvaluationId, TraceId
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("evaluation")


class PostgresEvaluations:
    """The EvaluationStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, scope: Scope, run: Run, results: Sequence[Result]) -> None:
        if not scope.operator:
            raise Forbidden("only an operator evaluates", hint="use a key that may admin")
        values = {
            "tenant": scope.tenant,
            "id": run.id,
            "principal": scope.principal,
            "name": run.name,
            "sha256": run.sha256,
            "seconds": run.seconds,
            "questions": run.questions,
            "skipped": run.skipped,
            "settings": Jsonb(dict(run.settings)),
            "versions": Jsonb(dict(run.versions)),
            "summaries": Jsonb([asdict(one) for one in run.summaries]),
            "created_at": run.created_at,
        }
        rows = [_row(ordinal, result) for ordinal, result in enumerate(results)]
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["insert_run"], values)
            written = json.dumps(rows, default=str, ensure_ascii=False)
            kept = {"tenant": scope.tenant, "run": run.id, "results": written}
            await connection.execute(_SQL["insert_results"], kept)

    async def get(self, scope: Scope, run_id: EvaluationId) -> tuple[Run, list[Result]]:
        async with transaction(self._pool, scope) as connection:
            values = {"tenant": scope.tenant, "id": run_id, "limit": 1}
            row = await (await connection.execute(_SQL["runs"], values)).fetchone()
            keys = {"tenant": scope.tenant, "run": run_id}
            results = [
                _result(one) async for one in await connection.execute(_SQL["results"], keys)
            ]
        if row is None:
            raise EvaluationNotFound(
                f"no evaluation {run_id}", hint="`vade eval list` shows those that there are"
            )
        return _run(row), results

    async def all(self, scope: Scope, limit: int) -> list[Run]:
        async with transaction(self._pool, scope) as connection:
            values = {"tenant": scope.tenant, "id": None, "limit": limit}
            return [_run(row) async for row in await connection.execute(_SQL["runs"], values)]

    async def pieces(
        self, scope: Scope, document_id: DocumentId, as_of: date | None
    ) -> list[tuple[ChunkId, int, int]]:
        values = {"tenant": scope.tenant, "document": document_id, "as_of": as_of}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["pieces"], values)
            return [
                (ChunkId(row["id"]), row["start_offset"], row["end_offset"]) async for row in cursor
            ]


def _row(ordinal: int, result: Result) -> dict[str, Any]:
    values = asdict(result)
    return {"ordinal": ordinal, "trace": values.pop("trace_id")} | values


def _run(row: Mapping[str, Any]) -> Run:
    values = dict(row)
    summaries = tuple(Summary(**one) for one in values.pop("summaries"))
    return Run(**(values | {"id": EvaluationId(row["id"]), "summaries": summaries}))


def _result(row: Mapping[str, Any]) -> Result:
    values = dict(row)
    trace = TraceId(values.pop("trace"))
    lists = {"chunks": tuple(row["chunks"]), "degraded": tuple(row["degraded"])}
    return Result(**(values | lists | {"trace_id": trace}))
