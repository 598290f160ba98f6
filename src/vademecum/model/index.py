"""Which build of the index is being read?"""

from dataclasses import dataclass

from vademecum.model.embedding import EmbeddingSpace


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
