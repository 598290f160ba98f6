"""Which work is there to do, and which was given up?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vademecum.model.ids import DocumentId, RevisionId

JobState = Literal["waiting", "working", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The work on one revision. `dead` = it failed, `reason` says why, and nobody tries again
    until somebody asks."""

    document_id: DocumentId
    revision_id: RevisionId
    collection: str
    uri: str
    state: JobState
    attempts: int
    reason: str
    accepted_at: datetime
