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
from vademecum.text.analyse import query_terms, terms
from vademecum.text.sentences import sentence_spans

# A sentence must come this near to the question (cosine of e5) to be quoted at all.
FLOOR = 0.80
_CLOSE = 0.92  # a second sentence is quoted if its score is this near to the best one's
_MOST_SENTENCES = 2
_FEWEST_LETTERS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Code points `start:end` of a passage's own text, chosen as (part of) an answer."""

    passage: Passage
    start: int
    end: int
    score: float
    cosine: float


async def extract(
    question: str, passages: Sequence[Passage], encoder: TokenEncoder
) -> list[Extract]:
    """Return the sentences that answer best, best first; none where none is near enough."""
    places = [
        (passage, start, end) for passage in passages for start, end in _units(passage.source.chunk)
    ]
    if not places:
        return []
    asked = (await encoder.encode([question], "query"))[0]
    texts = [
        f"{' > '.join(p.source.chunk.heading_path)}: {p.source.chunk.text[a:b]}"
        if p.source.chunk.heading_path
        else p.source.chunk.text[a:b]
        for p, a, b in places
    ]
    states = await encoder.encode(texts, "passage")
    mean = centre(states)
    query_states = normalised(asked.states, mean)
    cosines: FloatArray = np.array([state.vector @ asked.vector for state in states], np.float32)
    late = {
        i: maxsim(query_states, normalised(state.states, mean)) for i, state in enumerate(states)
    }
    near = min_max(dict(enumerate(cosines.tolist())))
    late = min_max(late)
    overlap = [
        _overlap(question, text, place[0].source.chunk.language)
        for text, place in zip(texts, places, strict=True)
    ]
    scores = [near[i] + late[i] + overlap[i] for i in range(len(places))]
    order = sorted(range(len(places)), key=lambda i: -scores[i])
    chosen = [i for i in order[:_MOST_SENTENCES] if scores[i] >= _CLOSE * scores[order[0]]]
    return [
        Extract(
            passage=places[i][0],
            start=places[i][1],
            end=places[i][2],
            score=scores[i],
            cosine=float(cosines[i]),
        )
        for i in chosen
        if cosines[i] >= FLOOR
    ]


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


def _overlap(question: str, text: str, language: str) -> float:
    """Return the share of the question's words that the text holds, 0..1."""
    asked = query_terms(question, frozenset({language}))
    held = set(terms(text, language))
    return sum(bool(alternatives & held) for alternatives in asked) / max(1, len(asked))
