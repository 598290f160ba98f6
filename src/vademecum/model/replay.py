"""What differs when a question of before is asked again?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from vademecum.model.ids import ChunkId, DocumentId, TraceId

Why = Literal[
    "deleted",  # it is no longer there, or may no longer be seen by whoever replays
    "changed",  # its document has another revision in force
    "lapsed",  # its revision's last day is over
    "permission",  # it is in force, and whoever asked may not see it now
    "published",  # its revision came into force after the question
    "setting",
    "model",
    "index",
    "release",
    "corpus",  # other documents came, changed or went: what is common in the index changed
    "unexplained",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What has become of a chunk. `revision` is the number of its own revision, `current` of that
    in force now, None where none is."""

    document_id: DocumentId
    revision: int
    current: int | None
    in_force: bool
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A candidate that stands elsewhere than before; ranks from 1, None where it does not stand."""

    chunk_id: ChunkId
    uri: str
    was: int | None
    now: int | None
    why: Why
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A part or setting that is not what it was."""

    name: str
    was: Any
    now: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSearch:
    """One search, before and now. `overlap` is the share (0..1) of its candidates of before that
    it finds again, 1 where there were none; confidences lie in 0..1."""

    query: str
    overlap: float
    moved: tuple[Moved, ...]
    confidence_was: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedAnswer:
    """What was answered, before and now: whether at all, how, and which chunks are cited."""

    abstained_was: bool
    abstained: bool
    mode_was: str
    mode: str
    cited_was: tuple[ChunkId, ...]
    cited: tuple[ChunkId, ...]

    @property
    def same(self) -> bool:
        return (self.abstained_was, self.mode_was, set(self.cited_was)) == (
            self.abstained,
            self.mode,
            set(self.cited),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A trace beside the same question asked now. `versions` are those that differ; `answer` is
    None for a search, and where it was not asked for."""

    trace_id: TraceId
    created_at: datetime
    versions: tuple[Version, ...]
    searches: tuple[ReplayedSearch, ...]
    answer: ReplayedAnswer | None
    degraded: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether everything that was found and cited is found and cited again, in its place."""
        return not any(search.moved for search in self.searches) and (
            self.answer is None or self.answer.same
        )
