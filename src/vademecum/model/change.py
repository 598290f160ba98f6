"""What changed, for whoever keeps a copy of something?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vademecum.model.ids import DocumentId, RevisionId

ChangeKind = Literal["published", "changed", "deleted"]
FIRST: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvent:
    """One change of one document, by id only: a consumer reads the truth again.

    `published` = another revision is in force, `changed` = labels or metadata, `deleted` = gone.
    `cursor` orders events by their transaction, then by their place in it.
    """

    cursor: tuple[int, int]
    kind: ChangeKind
    document_id: DocumentId
    revision_id: RevisionId | None
    occurred_at: datetime
