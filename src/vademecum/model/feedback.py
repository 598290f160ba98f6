"""What did somebody think of an answer?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vademecum.model.ids import FeedbackId, Principal, TraceId

Verdict = Literal["up", "down"]
Reason = Literal["", "wrong", "unsupported", "outdated", "off_topic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's word on one search or answer: the last one counts. `note` is free text."""

    id: FeedbackId
    principal: Principal
    trace_id: TraceId
    verdict: Verdict
    reason: Reason
    note: str
    created_at: datetime
