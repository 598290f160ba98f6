"""How is kept what people thought of answers?"""

from collections.abc import Mapping
from typing import Any

from vademecum.errors import FeedbackNotFound, TraceNotFound
from vademecum.model.feedback import Feedback, Reason, Verdict
from vademecum.model.ids import FeedbackId, TraceId, new_uuid
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import transaction

_SQL = load("feedback")


class PostgresFeedback:
    """The FeedbackStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def give(
        self, scope: Scope, trace_id: TraceId, verdict: Verdict, reason: Reason, note: str
    ) -> Feedback:
        values = {
            "tenant": scope.tenant,
            "id": new_uuid(),
            "principal": scope.principal,
            "trace": trace_id,
            "verdict": verdict,
            "reason": reason,
            "note": note,
        }
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["give"], values)).fetchone()
        if row is None:
            raise TraceNotFound(
                f"no trace {trace_id}", hint="each search and answer prints its trace id"
            )
        return _feedback(row)

    async def get(self, scope: Scope, feedback_id: FeedbackId) -> Feedback:
        found = await self._select(scope, feedback_id, None, 1)
        if not found:
            raise FeedbackNotFound(f"no feedback {feedback_id}", hint="it went with its trace")
        return found[0]

    async def all(self, scope: Scope, verdict: Verdict | None, limit: int) -> list[Feedback]:
        return await self._select(scope, None, verdict, limit)

    async def _select(
        self, scope: Scope, feedback_id: FeedbackId | None, verdict: Verdict | None, limit: int
    ) -> list[Feedback]:
        values = {"tenant": scope.tenant, "id": feedback_id, "verdict": verdict, "limit": limit}
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["feedback"], values)
            return [_feedback(row) async for row in cursor]


def _feedback(row: Mapping[str, Any]) -> Feedback:
    return Feedback(
        id=FeedbackId(row["id"]),
        principal=row["principal"],
        trace_id=TraceId(row["trace"]),
        verdict=row["verdict"],
        reason=row["reason"],
        note=row["note"],
        created_at=row["created_at"],
    )
