"""What do the passages themselves say? Their best sentences, word for word."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.model.chunk import Chunk
from vademecum.model.embedding import FloatArray, TokenStates, check_states
from vademecum.model.passage import Passage
from vademecum.ports.embedder import TokenEncoder
from vademecum.rank.bm25 import idf
from vademecum.rank.fuse import min_max
from vademecum.rank.maxsim import centre, maxsim, normalised
from vademecum.text.analyse import codes, words
from vademecum.text.language import detect
from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.questions import asked_alone
from vademecum.text.sentences import sentence_spans

_MOST_SENTENCES = 2
_CLOSE = 0.9  # a second sentence is quoted if its score is this near to the best one's
# Bytes of UTF-8, since a letter of Chinese says as much as three of English.
_FEWEST_BYTES = 12
# A list's mark is no part of what its entry says.
_BULLET = late(r"(?:[-*+•‣–]|\d{1,2}[.)])\s+")
_FEWEST_NEW_WORDS = 3
# A word with a capital, though not the question's first, or with a digit.
_NAMED = late(r"(?<!^[¿¡\s]*)\b(?=\p{Lu}|\p{L}*\d)[\p{L}\p{N}]+")
# A mean over fewer sentences of a language is noise; they get the mean of all.
_FEWEST_OF_LANGUAGE = 5
# The best sentence must carry the answer: late interaction adds to (or takes from) the evidence
# of retrieval. Chosen by hand on the box office questions; calibration comes with the evaluation.
_LATE_MIDDLE, _LATE_WEIGHT = 0.42, 8.0
_PASSAGE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Code points `start:end` of a passage's own text, chosen as (part of) an answer."""

    passage: Passage
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scores:
    """Of each unit: the score that orders them, and MaxSim with the text that was searched, or with
    that of it which asks, whichever is more."""

    order: list[float]
    late: list[float]


async def extract(
    part: str, search: str, passages: Sequence[Passage], confidence: float, encoder: TokenEncoder
) -> list[Extract]:
    """Return the sentences that answer best, best first; none where none carries an answer.

    `part` is what is asked, `search` the same with the names of the whole question, by which the
    passages were found; `confidence` (0..1) is retrieval's, that they can answer. A part that
    names a code is answered only by passages that hold that very code. Whether a sentence answers
    is judged by what asks too: "I live in Porto. Can I …?" asks no less for what is told before.
    """
    asked_codes = set(codes(part))
    units = [
        Extract(passage=passage, start=start, end=end)
        for passage in passages
        if asked_codes <= set(codes(passage.source.chunk.embedded_text))
        for start, end in _units(passage.source.chunk)
    ]
    units = [unit for unit in units if _says_more(unit, search)]
    if not units:
        return []
    scores = await _score(part, search, units, encoder)
    names_it = [bool(asked_codes) and asked_codes <= set(codes(_text(unit))) for unit in units]
    # What holds the code itself comes before what only stands beside it.
    order = sorted(range(len(units)), key=lambda i: (not names_it[i], -scores.order[i]))
    best = order[0]
    if not names_it[best] and not _carries(scores.late[best], confidence):
        return []
    near = [
        i
        for i in order[:_MOST_SENTENCES]
        if names_it[i] == names_it[best] and scores.order[i] >= _CLOSE * scores.order[best]
    ]
    return [units[i] for i in near]


def _carries(late: float, confidence: float) -> bool:
    if not 0 < confidence < 1:
        return confidence >= 1
    evidence = math.log(confidence / (1 - confidence))
    return evidence + _LATE_WEIGHT * (late - _LATE_MIDDLE) >= 0


async def _score(
    part: str, search: str, units: Sequence[Extract], encoder: TokenEncoder
) -> _Scores:
    alone = asked_alone(search)
    texts = [part, search] if alone == search else [part, search, alone]
    queries = await encoder.encode(texts, "query")
    check_states(queries, count=len(texts))
    states = await encoder.encode([_placed(unit) for unit in units], "passage")
    check_states(states, count=len(units))
    own = detect(search, frozenset(unit.passage.source.chunk.language for unit in units))
    return await asyncio.to_thread(_compare, part, own, queries, units, states)


def _compare(
    part: str,
    own: str,
    queries: Sequence[TokenStates],
    units: Sequence[Extract],
    states: Sequence[TokenStates],
) -> _Scores:
    """Score units by cosine, late interaction, named words and their passage.

    `queries` are the part, what was searched, and more that the evidence may rest on; `own` is the
    question's language. The mean of its language is taken from each vector and each
    token state first, or sentences in that language would outrank the right one in another.
    """
    languages = [unit.passage.source.chunk.language for unit in units]
    common = centre(states)
    means = {
        language: centre(same)
        for language in set(languages)
        if len(same := [s for s, name in zip(states, languages, strict=True) if name == language])
        >= _FEWEST_OF_LANGUAGE
    }
    passages = [
        normalised(state.states, means.get(language, common))
        for state, language in zip(states, languages, strict=True)
    ]
    late, *evidence = (
        [maxsim(normalised(query.states, means.get(own, common)), text) for text in passages]
        for query in queries
    )
    cosine = _centred_cosines(
        queries[0].vector, own, np.stack([s.vector for s in states]), languages
    )
    signals = (
        (1.0, dict(enumerate(cosine.tolist()))),
        (1.0, dict(enumerate(late))),
        (_PASSAGE_WEIGHT, {i: unit.passage.signals.dense or 0.0 for i, unit in enumerate(units)}),
    )
    order = _shares(part, units)
    for weight, values in signals:
        for i, value in min_max(values).items():
            order[i] += weight * value
    return _Scores(order=order, late=[max(values) for values in zip(*evidence, strict=True)])


def _centred_cosines(
    query: FloatArray, query_language: str, vectors: FloatArray, languages: Sequence[str]
) -> FloatArray:
    """Return cosines, shape (n,), after each vector and the query lost their language's mean."""
    named = np.array(languages)
    common = vectors.mean(axis=0)
    means = {
        language: vectors[named == language].mean(axis=0)
        for language in set(languages)
        if (named == language).sum() >= _FEWEST_OF_LANGUAGE
    }
    shifted = vectors - np.stack([means.get(language, common) for language in languages])
    asked = query - means.get(query_language, common)
    norms = np.linalg.norm(shifted, axis=1) * np.linalg.norm(asked)
    cosines: FloatArray = np.divide(
        shifted @ asked, norms, out=np.zeros(len(vectors), np.float32), where=norms > 0
    )
    return cosines


def _text(unit: Extract) -> str:
    return unit.passage.source.chunk.text[unit.start : unit.end]


def _says_more(unit: Extract, question: str) -> bool:
    """Return whether a unit holds more than the names that the question gives already."""
    known = {fold(word) for word in _NAMED.findall(question)}
    return sum(word not in known for word in words(_text(unit))) >= _FEWEST_NEW_WORDS


def _placed(unit: Extract) -> str:
    """Return the unit after its title and headings, which say what it is about."""
    return f"{unit.passage.source.chunk.context}: {_text(unit)}"


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
            or len(sentence.encode()) < _FEWEST_BYTES
        ):
            continue
        bullet = _BULLET.match(sentence)
        begin = start + (bullet.end() if bullet else 0) if announced is None else announced
        announced = begin if sentence.endswith(":") else None
        if announced is None:
            units.append((begin, end))
    return units


def _bare(text: str) -> str:
    return text.strip("#*_ \n").casefold()


def _shares(question: str, units: Sequence[Extract]) -> list[float]:
    """Return U of each unit over the names, numbers and single capitals of the question, 0..1.

    Only words that are the same in every language: others would prefer sentences in the
    question's own. What every unit holds, like the name of the place, counts little.
    """
    asked = {fold(word) for word in _NAMED.findall(question)}
    if not asked:
        return [0.0] * len(units)
    held = [set(words(f"{unit.passage.source.chunk.context} {_text(unit)}")) for unit in units]
    weights = {word: idf(len(units), sum(word in own for own in held)) for word in asked}
    total = sum(weights.values())
    return [sum(weights[word] for word in asked & own) / total for own in held]
