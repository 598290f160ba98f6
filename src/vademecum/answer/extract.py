"""What do the passages themselves say? Their best sentences, word for word."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.model.chunk import Chunk
from vademecum.model.embedding import FloatArray
from vademecum.model.passage import Passage
from vademecum.ports.embedder import TokenEncoder
from vademecum.rank.fuse import min_max
from vademecum.rank.maxsim import centre, maxsim, normalised
from vademecum.text.analyse import codes, query_terms, terms
from vademecum.text.sentences import sentence_spans

_MOST_SENTENCES = 2
_CLOSE = 0.92  # a second sentence is quoted if its score is this near to the best one's
_FEWEST_LETTERS = 12
# How far the best sentence must stand out. Cosines of e5 lie in a narrow band, so what tells is
# the distance to the median sentence of the same passages, and late interaction. By hand, on the
# box office questions; calibration on data comes with the evaluation.
_MARGIN_MIDDLE, _MARGIN_WEIGHT = 0.025, 40.0
_LATE_MIDDLE, _LATE_WEIGHT = 0.43, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Code points `start:end` of a passage's own text, chosen as (part of) an answer."""

    passage: Passage
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scores:
    """Of each unit in order: the order's score, the cosine to the question, raw MaxSim."""

    order: list[float]
    cosine: FloatArray
    late: list[float]


async def extract(
    question: str, passages: Sequence[Passage], encoder: TokenEncoder
) -> list[Extract]:
    """Return the sentences that answer best, best first; none where none stands out.

    A question that names a code is answered only by passages that hold that very code.
    """
    asked_codes = set(codes(question))
    units = [
        Extract(passage=passage, start=start, end=end)
        for passage in passages
        if asked_codes <= set(codes(passage.source.chunk.embedded_text))
        for start, end in _units(passage.source.chunk)
    ]
    if not units:
        return []
    scores = await _score(question, units, encoder)
    if asked_codes:
        scores = _prefer_codes(scores, units, asked_codes)
    order = sorted(range(len(units)), key=lambda i: -scores.order[i])
    best = order[0]
    named = bool(asked_codes) and asked_codes <= set(codes(_text(units[best])))
    if not named and not _stands_out(scores, best):
        return []
    near = [i for i in order[:_MOST_SENTENCES] if scores.order[i] >= _CLOSE * scores.order[best]]
    return [units[i] for i in near]


async def _score(question: str, units: Sequence[Extract], encoder: TokenEncoder) -> _Scores:
    asked = (await encoder.encode([question], "query"))[0]
    states = await encoder.encode([_placed(unit) for unit in units], "passage")
    mean = centre(states)
    query = normalised(asked.states, mean)
    cosine: FloatArray = np.array([state.vector @ asked.vector for state in states], np.float32)
    late = [maxsim(query, normalised(state.states, mean)) for state in states]
    near, nearer = min_max(dict(enumerate(cosine.tolist()))), min_max(dict(enumerate(late)))
    order = [near[i] + nearer[i] + _overlap(question, unit) for i, unit in enumerate(units)]
    return _Scores(order=order, cosine=cosine, late=late)


def _prefer_codes(scores: _Scores, units: Sequence[Extract], asked: set[str]) -> _Scores:
    """Put units that hold the code themselves before those that only stand beside it."""
    order = [
        score + 3.0 * (asked <= set(codes(_text(unit))))
        for score, unit in zip(scores.order, units, strict=True)
    ]
    return _Scores(order=order, cosine=scores.cosine, late=scores.late)


def _stands_out(scores: _Scores, best: int) -> bool:
    margin = float(scores.cosine[best] - np.median(scores.cosine))
    evidence = _MARGIN_WEIGHT * (margin - _MARGIN_MIDDLE)
    return evidence + _LATE_WEIGHT * (scores.late[best] - _LATE_MIDDLE) >= 0


def _text(unit: Extract) -> str:
    return unit.passage.source.chunk.text[unit.start : unit.end]


def _placed(unit: Extract) -> str:
    """Return the unit after its headings, which say what it is about."""
    return ": ".join([*unit.passage.source.chunk.heading_path[-2:], _text(unit)])


def _units(chunk: Chunk) -> list[tuple[int, int]]:
    """Return the spans that can stand as an answer: sentences, but no headings; one that ends
    with a colon comes with what it announces."""
    headings = {_bare(name) for name in (*chunk.heading_path, chunk.context)}
    units: list[tuple[int, int]] = []
    announced: int | None = None
    for start, end in sentence_spans(chunk.text):
        sentence = chunk.text[start:end]
        if (
            _bare(sentence) in headings
            or sentence.startswith("#")
            or len(sentence) < _FEWEST_LETTERS
        ):
            continue
        begin = start if announced is None else announced
        announced = begin if sentence.endswith(":") else None
        if announced is None:
            units.append((begin, end))
    return units


def _bare(text: str) -> str:
    return text.strip("#*_ \n").casefold()


def _overlap(question: str, unit: Extract) -> float:
    """Return the share of the question's words that the unit holds, 0..1."""
    language = unit.passage.source.chunk.language
    asked = query_terms(question, frozenset({language}))
    held = set(terms(_placed(unit), language))
    return sum(bool(alternatives & held) for alternatives in asked) / max(1, len(asked))
