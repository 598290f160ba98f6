"""What do dense, BM25 and hybrid search each find in a corpus small enough to check by hand?

A lab is a JSON file of chunks and questions with vectors made by hand. It runs through the
product's own BM25, fusion and metrics; only the tokens are the lab's own, without stemming.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import regex

from vademecum.evaluate.lab_file import Lab, LabQuestion, Vector, load_lab
from vademecum.evaluate.metrics import mean, mean_reciprocal_rank, recall
from vademecum.rank.bm25 import average_length, document_weights, idf, score
from vademecum.rank.fuse import reciprocal_rank

__all__ = ["Lab", "LabResult", "as_json", "load_lab", "run_lab"]

LabMode = Literal["dense", "bm25", "hybrid"]
MODES: tuple[LabMode, ...] = ("dense", "bm25", "hybrid")
RECALL_AT = 2
_TOKEN = regex.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRow:
    """One candidate of a question. `cosine` in -1..1, `bm25` and `rrf` from 0; a rank of a leg
    counts from 1 and is None where the leg did not propose the chunk."""

    rank: int
    chunk: str
    cosine: float
    bm25: float
    rrf: float
    dense_rank: int | None
    bm25_rank: int | None
    relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabAnswer:
    """What a question found: the ids of each mode, best first, and a row for each candidate in
    hybrid order."""

    question: str
    relevant: tuple[str, ...]
    found: dict[LabMode, tuple[str, ...]]
    rows: tuple[LabRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabScore:
    """Recall@2 and MRR of one mode, 0..1; None where no question has a relevant chunk."""

    mode: LabMode
    recall: float | None
    mrr: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabResult:
    answers: tuple[LabAnswer, ...]
    scores: tuple[LabScore, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keywords:
    """BM25 over the lab's chunks: each chunk's weight by term, and each term's idf."""

    weights: dict[str, dict[str, float]]
    idf: dict[str, float]


def run_lab(lab: Lab) -> LabResult:
    """Ask every question of the lab in every mode, and measure."""
    keywords = _keywords(lab)
    answers = tuple(_ask(lab, keywords, question) for question in lab.questions)
    return LabResult(answers=answers, scores=tuple(_measure(mode, answers) for mode in MODES))


def as_json(result: LabResult) -> dict[str, Any]:
    """Return the result as values that JSON can hold, unrounded; `recall` is recall@2."""
    return asdict(result) | {"recall_at": RECALL_AT}


def tokens(text: str, stop_words: Iterable[str]) -> list[str]:
    """Return the lab's own terms: runs of a-z and 0-9 in lower case, without the stop words."""
    stopped = frozenset(stop_words)
    return [token for token in _TOKEN.findall(text.lower()) if token not in stopped]


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine, -1..1, of two vectors of one length, neither of norm 0."""
    # Each is brought to norm 1 first, so that very large numbers do not overflow.
    norms = math.hypot(*one), math.hypot(*other)
    product = math.fsum((a / norms[0]) * (b / norms[1]) for a, b in zip(one, other, strict=True))
    return max(-1.0, min(1.0, product))


def _keywords(lab: Lab) -> _Keywords:
    terms = {chunk.id: tokens(chunk.text, lab.stop_words) for chunk in lab.chunks}
    average = average_length(len(found) for found in terms.values())
    weights = {chunk: document_weights(found, average) for chunk, found in terms.items()}
    vocabulary = {term for held in weights.values() for term in held}
    frequency = {term: sum(term in held for held in weights.values()) for term in vocabulary}
    return _Keywords(
        weights=weights, idf={term: idf(len(terms), n) for term, n in frequency.items()}
    )


def _ask(lab: Lab, keywords: _Keywords, question: LabQuestion) -> LabAnswer:
    cosines = {chunk.id: cosine(question.vector, chunk.vector) for chunk in lab.chunks}
    # As in the product: a word counts once, however often the question says it.
    asked = {
        term: keywords.idf[term]
        for term in tokens(question.text, lab.stop_words)
        if term in keywords.idf
    }
    bm25 = {chunk: score(asked, weights) for chunk, weights in keywords.weights.items()}
    dense = _best(cosines, lab.candidates_per_leg)
    keyword = _best(
        {chunk: value for chunk, value in bm25.items() if value > 0}, lab.candidates_per_leg
    )
    fused = reciprocal_rank([dense, keyword])
    hybrid = _best(fused, len(fused))
    dense_ranks, keyword_ranks = _ranks(dense), _ranks(keyword)
    rows = tuple(
        LabRow(
            rank=rank,
            chunk=chunk,
            cosine=cosines[chunk],
            bm25=bm25[chunk],
            rrf=fused[chunk],
            dense_rank=dense_ranks.get(chunk),
            bm25_rank=keyword_ranks.get(chunk),
            relevant=chunk in question.relevant,
        )
        for chunk, rank in _ranks(hybrid).items()
    )
    return LabAnswer(
        question=question.text,
        relevant=question.relevant,
        found={"dense": dense, "bm25": keyword, "hybrid": hybrid},
        rows=rows,
    )


def _measure(mode: LabMode, answers: tuple[LabAnswer, ...]) -> LabScore:
    pairs = [(answer.found[mode], answer.relevant) for answer in answers]
    return LabScore(
        mode=mode,
        recall=mean(recall(found, relevant, RECALL_AT) for found, relevant in pairs),
        mrr=mean_reciprocal_rank(pairs),
    )


def _best(scores: Mapping[str, float], k: int) -> tuple[str, ...]:
    """Return at most k ids, best first; ties by id, so that every run gives the same figures."""
    return tuple(sorted(scores, key=lambda item: (-scores[item], item))[:k])


def _ranks(found: Iterable[str]) -> dict[str, int]:
    return {chunk: rank for rank, chunk in enumerate(found, start=1)}
