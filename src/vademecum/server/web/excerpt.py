"""Which part of a document's text is shown, and what is marked in it?"""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.model.chunk import Chunk

# Letters before and after a cited span; a page of a whole document has more.
_AROUND = 6_000
_MOST_LETTERS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The text around a span, in three pieces; `cut_before` and `cut_after` tell whether there is
    more."""

    before: str
    marked: str
    after: str
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of a text: a chunk, or what lies between two of them (`ordinal` None)."""

    text: str
    ordinal: int | None
    headings: tuple[str, ...]
    pages: tuple[int, int] | None
    tokens: int
    language: str


def around(text: str, start: int, end: int) -> Excerpt:
    """Return the text around `start:end`, which must lie in it."""
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return Excerpt(
        before=text[first:start],
        marked=text[start:end],
        after=text[end:last],
        cut_before=first > 0,
        cut_after=last < len(text),
    )


def outlined(text: str, chunks: Sequence[Chunk]) -> list[Stretch]:
    """Cut a text where its chunks begin and end; what two of them share belongs to the first."""
    shown = text[:_MOST_LETTERS]
    pieces: list[Stretch] = []
    at = 0
    for chunk in chunks:
        if chunk.start >= len(shown):
            break
        if chunk.start > at:
            pieces.append(_between(shown[at : chunk.start]))
        pieces.append(
            Stretch(
                text=shown[max(at, chunk.start) : chunk.end],
                ordinal=chunk.ordinal,
                headings=chunk.heading_path,
                pages=(chunk.page_start, chunk.page_end)
                if chunk.page_start is not None and chunk.page_end is not None
                else None,
                tokens=chunk.tokens,
                language=chunk.language,
            )
        )
        at = max(at, chunk.end)
    if at < len(shown):
        pieces.append(_between(shown[at:]))
    return [piece for piece in pieces if piece.text.strip()]


def _between(text: str) -> Stretch:
    return Stretch(text=text, ordinal=None, headings=(), pages=None, tokens=0, language="")
