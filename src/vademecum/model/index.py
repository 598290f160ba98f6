"""Which build of the index is being read?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from vademecum.model.embedding import EmbeddingSpace
from vademecum.model.filter import Filter
from vademecum.model.passage import Hit

# Up to so many chunks are compared one by one: always right, and as quick as a graph.
EXACT_BELOW = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexGeneration:
    """A swappable build of both legs. All its vectors are of `space`, all its terms of `analyser`.

    `average_length` (terms a chunk) is a constant of the generation, so that a document that a
    principal may not see changes no score that they do see.
    """

    id: int
    space: EmbeddingSpace
    analyser: str
    average_length: float


GenerationState = Literal["building", "ready", "current", "retired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """A generation and how it stands. One is current: read and written. At most one is building or
    ready beside it, and at most one is retired: it was current, and can be gone back to.

    `embedding` is the name by which its model is opened where the settings name `instead_of`;
    None for one that is older than these names. `switched_at` is when it began or ceased to be
    current.
    """

    generation: IndexGeneration
    state: GenerationState
    embedding: str | None
    instead_of: str | None
    created_at: datetime
    switched_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """How much there is to index, of all tenants, and how much of it a generation lacks, by kind:
    chunks (vectors), words (terms of chunks), memories, turns. `tokens` are those of the chunks
    that lack a vector."""

    held: Mapping[str, int]
    lacking: Mapping[str, int]
    tokens: int

    @property
    def whole(self) -> bool:
        return not any(self.lacking.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordRow:
    """A chunk as the keyword index holds it: term -> weight, terms hashed to 1..2**30."""

    weights: dict[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How common terms are among the chunks that a scope may see."""

    chunks: int
    frequencies: dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which chunks are searched at all, of those that a scope may see: those of revisions in force
    at the end of the day `as_of`, or now, of documents that `filter` matches."""

    as_of: date | None = None
    filter: Filter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseHits:
    """The dense leg's proposals, best first.

    `low` is the lowest score of a sample of the collections, None where there is none; `mixed`
    tells that they hold several languages, `plan` how the nearest were found (exact, graph).
    """

    hits: tuple[Hit, ...]
    low: float | None
    mixed: bool
    plan: str
