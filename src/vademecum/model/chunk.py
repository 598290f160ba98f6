"""What is retrieved?"""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.model.document import page_of
from vademecum.model.ids import ChunkId


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch `text[start:end]` of a document's extracted text that a chunker chose.

    `header` repeats the lines that name a table's columns where the stretch begins inside it;
    it goes to the chunk's context, not to its text. `section` is where a larger stretch that holds
    this one begins and ends, where it is found by this one but answered from by that.
    """

    start: int
    end: int
    heading_path: tuple[str, ...]
    header: str = ""
    section: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A retrieval unit: the exact slice `start:end` of its document's text, with its place.

    `context` (title > heading path, then the column names of a table that began before) is
    embedded and indexed with the text but is not part of it. Pages count from 1 and are None
    where the document has none; `page_breaks` holds the offsets inside the chunk at which a new
    page begins. `tokens` counts the embedder's tokens of the text alone. `section` is where the
    Section that answers in the chunk's place begins and ends; None where the chunk itself answers.
    """

    id: ChunkId
    ordinal: int
    start: int
    end: int
    text: str
    context: str
    tokens: int
    heading_path: tuple[str, ...]
    page_start: int | None
    page_end: int | None
    page_breaks: tuple[int, ...]
    language: str
    section: tuple[int, int] | None = None

    def page_at(self, offset: int) -> int | None:
        """Return the page that holds the code point at `offset` of the document's text."""
        if self.page_start is None:
            return None
        return self.page_start + sum(brk <= offset for brk in self.page_breaks)

    @property
    def embedded_text(self) -> str:
        return f"{self.context}\n{self.text}" if self.context else self.text


def on_pages(
    page_starts: Sequence[int], start: int, end: int
) -> tuple[int | None, int | None, tuple[int, ...]]:
    """Return the first and the last page of a text's stretch `start:end`, and the offsets inside it
    at which a new page begins; None where the document, whose pages begin at `page_starts`, has
    none."""
    breaks = tuple(place for place in page_starts if start < place < end)
    return page_of(page_starts, start), page_of(page_starts, end - 1), breaks
