"""Which build of the index is being read?"""

from dataclasses import dataclass
from datetime import date

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
