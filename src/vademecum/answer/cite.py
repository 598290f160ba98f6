"""Does the cited passage really say what the sentence says? Nothing is shown before this."""

from collections.abc import Mapping, Sequence

import numpy as np
import regex

from vademecum.answer.markers import Claim, without_markers
from vademecum.model.answer import Citation, Sentence, Support
from vademecum.model.embedding import FloatArray, check_vectors
from vademecum.model.passage import Passage
from vademecum.ports.embedder import Embedder
from vademecum.text.analyse import codes
from vademecum.text.normalise import fold
from vademecum.text.numbers import numbers
from vademecum.text.sentences import sentence_spans

_QUOTED = regex.compile(r"[\"“«„]([^\"“”«»„]{12,})[\"”»“]")
_BLANKS = regex.compile(r"\s+")
_LIST_ITEM = regex.compile(r"^\s*(?:[-*•]\s+)?(?:[*_]*\d{1,3}[.)]\s+)?")
# Cosines of e5 between a claim and the sentence that states it; see MODELS on their range.
_SUPPORTED, _PARTLY = 0.84, 0.80


def plain(text: str) -> str:
    """Return the form in which a quotation is compared: folded, without markers, blanks as one
    space."""
    return _BLANKS.sub(" ", fold(without_markers(text))).strip()


async def verify(
    claim: Claim, sources: Mapping[int, Passage], embedder: Embedder | None
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check one sentence against the passages it cites, by number of this request's sources.

    A marker that names no source of this request is dropped. Numbers, codes and quoted words that
    the cited passages do not hold are a veto; then the nearest sentence decides by similarity.
    """
    cited = {marker: sources[marker] for marker in claim.markers if marker in sources}
    if not cited:
        return Sentence(text=claim.text, markers=(), support="unsupported"), ()
    stated = _LIST_ITEM.sub("", claim.text)
    if _vetoed(stated, cited):
        support: Support = "unsupported"
        spans = {marker: _whole(passage) for marker, passage in cited.items()}
    else:
        support, spans = await _nearest(stated, cited, embedder)
    citations = tuple(
        citation(marker, cited[marker], *spans[marker], support=support) for marker in cited
    )
    return Sentence(text=claim.text, markers=tuple(cited), support=support), citations


def _vetoed(text: str, cited: Mapping[int, Passage]) -> bool:
    evidence = "\n".join(
        f"{passage.source.chunk.context}\n{passage.source.chunk.text}" for passage in cited.values()
    )
    if not numbers(text) <= numbers(evidence):
        return True
    if not set(codes(text)) <= set(codes(evidence)):
        return True
    known = plain(evidence)
    return any(plain(quoted) not in known for quoted in _QUOTED.findall(text))


async def _nearest(
    text: str, cited: Mapping[int, Passage], embedder: Embedder | None
) -> tuple[Support, dict[int, tuple[int, int]]]:
    """Return the support, and for each source the span of its sentence nearest to the claim."""
    spans: dict[int, tuple[int, int]] = {}
    best = -1.0
    for marker, passage in cited.items():
        chunk = passage.source.chunk
        inner = sentence_spans(chunk.text) or [(0, len(chunk.text))]
        exact = [span for span in inner if plain(text) in plain(chunk.text[slice(*span)])]
        if exact or plain(text) in plain(chunk.text):
            spans[marker], score = exact[0] if exact else (0, len(chunk.text)), 1.0
        elif embedder is None:
            spans[marker], score = (0, len(chunk.text)), _PARTLY
        else:
            pieces = [chunk.text[start:end] for start, end in inner]
            vectors = await embedder.embed([text, *pieces], "passage")
            check_vectors(vectors, count=len(pieces) + 1, dimension=embedder.space.dimension)
            similar: FloatArray = vectors[1:] @ vectors[0]
            nearest = int(np.argmax(similar))
            spans[marker], score = inner[nearest], float(similar[nearest])
        best = max(best, score)
    support: Support = (
        "supported" if best >= _SUPPORTED else "partly" if best >= _PARTLY else "unsupported"
    )
    return support, spans


def _whole(passage: Passage) -> tuple[int, int]:
    return 0, len(passage.source.chunk.text)


def citation(marker: int, passage: Passage, start: int, end: int, *, support: Support) -> Citation:
    """Return the citation of the code points `start:end` of a passage's own text."""
    source, chunk = passage.source, passage.source.chunk
    return Citation(
        marker=marker,
        chunk_id=chunk.id,
        document_id=source.document_id,
        uri=source.uri,
        title=source.title,
        page_start=chunk.page_at(chunk.start + start),
        page_end=chunk.page_at(chunk.start + end - 1),
        start=chunk.start + start,
        end=chunk.start + end,
        quote=chunk.text[start:end],
        support=support,
    )


def merge(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return one citation a marker and span, in the order of their markers."""
    unique = {(item.marker, item.start, item.end): item for item in citations}
    return tuple(sorted(unique.values(), key=lambda item: (item.marker, item.start)))
