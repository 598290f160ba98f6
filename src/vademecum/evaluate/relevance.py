"""Which chunks and which words of the documents are the right ones for a question?"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import regex

from vademecum.model.answer import Citation
from vademecum.model.ids import ChunkId, DocumentId
from vademecum.text.normalise import clean

Place = tuple[int, int]
"""Code points `start:end` of a document's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A chunk of a document and its place in the text."""

    chunk_id: ChunkId
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one relevant entry means: a document, where its quote stands (several places where it
    is repeated, none for the whole document), and the chunks that prove it."""

    document_id: DocumentId
    places: tuple[Place, ...]
    chunks: frozenset[ChunkId]


def places_of(text: str, quote: str) -> tuple[Place, ...]:
    """Return where a quote stands in a text, each blank of it as any blanks; empty where it does
    not. Letters are compared as they are, after NFC."""
    words = clean(quote).split()
    pattern = regex.compile(r"\s+".join(regex.escape(word) for word in words))
    return tuple(match.span() for match in pattern.finditer(text)) if words else ()


def target(document_id: DocumentId, places: tuple[Place, ...], pieces: Sequence[Piece]) -> Target:
    """Return what an entry means among the chunks of its document.

    A chunk proves a quote if it covers the quote's place; where none does, because the quote runs
    over a border, the chunk with the most of it does. Without places every chunk proves.
    """
    if not places:
        chunks = frozenset(piece.chunk_id for piece in pieces)
        return Target(document_id=document_id, places=(), chunks=chunks)
    covering = frozenset(
        piece.chunk_id
        for piece in pieces
        for start, end in places
        if piece.start <= start and end <= piece.end
    )
    if not covering and pieces:
        best = max(pieces, key=lambda one: max(_shared((one.start, one.end), p) for p in places))
        covering = frozenset([best.chunk_id])
    return Target(document_id=document_id, places=places, chunks=covering)


def items(targets: Sequence[Target]) -> dict[ChunkId, int]:
    """Return for each chunk that proves something the number of what it proves.

    Entries that one chunk can prove together are one item, and so are the chunks that prove it:
    whichever of them is found, the item is found once.
    """
    numbers: dict[ChunkId, int] = {}
    for number, one in enumerate(targets):
        joined = {numbers[chunk] for chunk in one.chunks if chunk in numbers}
        own = min(joined, default=number)
        for chunk in (*one.chunks, *(c for c, known in numbers.items() if known in joined)):
            numbers[chunk] = own
    return numbers


def as_items(chunks: Sequence[ChunkId], numbers: Mapping[ChunkId, int]) -> list[Hashable]:
    """Return hits as metrics count them: the item that a chunk proves, else the chunk itself."""
    return [numbers.get(chunk, chunk) for chunk in chunks]


def is_right(citation: Citation, targets: Sequence[Target]) -> bool:
    """Return whether a citation points into a relevant document, at its quote where it has one."""
    return any(_proves(citation, one) for one in targets)


def cited_share(citations: Sequence[Citation], targets: Sequence[Target]) -> float | None:
    """Return the share of the targets that a citation points at; None where there is no target."""
    told = set(targets)
    if not told:
        return None
    return sum(any(_proves(citation, one) for citation in citations) for one in told) / len(told)


def _proves(citation: Citation, one: Target) -> bool:
    if citation.document_id != one.document_id:
        return False
    span = (citation.start, citation.end)
    return not one.places or any(_shared(span, place) > 0 for place in one.places)


def _shared(one: Place, other: Place) -> int:
    """Return how many code points two places share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))
