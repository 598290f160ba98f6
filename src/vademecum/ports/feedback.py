"""Where is kept what people thought of answers?"""

from typing import Protocol

from vademecum.model.feedback import Feedback, Reason, Verdict
from vademecum.model.ids import FeedbackId, TraceId
from vademecum.model.principal import Scope


class FeedbackStore(Protocol):
    """Each one's own, and all of the tenant's for its operator."""

    async def give(
        self, scope: Scope, trace_id: TraceId, verdict: Verdict, reason: Reason, note: str
    ) -> Feedback:
        """Keep a word on what a trace tells of, in place of an earlier one of the same person.
        Raises: TraceNotFound."""
        ...

    async def get(self, scope: Scope, feedback_id: FeedbackId) -> Feedback:
        """Raises: FeedbackNotFound."""
        ...

    async def all(self, scope: Scope, verdict: Verdict | None, limit: int) -> list[Feedback]:
        """Return at most `limit`, the newest first."""
        ...
