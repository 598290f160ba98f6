"""Chunks of one size that overlap, whatever the document's structure."""

from functools import partial

from vademecum.adapters.chunkers.cut import (
    Headings,
    Ruler,
    first_blank,
    last_blank,
    last_cluster,
    next_cluster,
    skip_blanks,
    trimmed,
)
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.ports.embedder import Tokenizer

DEFAULT_TOKENS = 800
DEFAULT_OVERLAP = 150
# A cut is moved back to white space within this part of a chunk, or of an overlap.
_NEAR = 8


class FixedChunker:
    """Chunks of `tokens` tokens, each beginning with the last `overlap` tokens of the one before;
    a little less where that spares a word, and never within a letter cluster."""

    def __init__(
        self,
        tokens: int = DEFAULT_TOKENS,
        overlap: int = DEFAULT_OVERLAP,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        if tokens < 1:
            raise ValueError(f"a chunk needs at least 1 token, not {tokens}")
        if not 0 <= overlap < tokens:
            raise ValueError(f"an overlap of {overlap} is not below the size of {tokens}")
        self._tokens = tokens
        self._notes = notes
        self._overlap = overlap

    @property
    def fingerprint(self) -> str:
        return f"fixed-1/{self._tokens}/{self._overlap}"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """See `Chunker.split`. Only here do spans overlap; none lies inside another."""
        text = document.text
        ruler, headings = Ruler(text, tokenizer), Headings(document)
        stop = trimmed(text, 0, len(text))
        spans: list[Span] = []
        start = skip_blanks(text, 0, stop)
        covered = 0
        while covered < stop:
            end = ruler.end(start, stop, self._tokens, partial(_cut, text, start, stop))
            end = trimmed(text, start, end)
            if end <= covered:  # the overlap filled the chunk: a shorter one
                later = next_cluster(text, start, start + (covered - start + 1) // 2, covered)
                start = skip_blanks(text, later, stop)
                continue
            spans.append(Span(start=start, end=end, heading_path=headings.of(start, end)))
            covered = end
            start = self._next(ruler, start, end, stop)
        return spans

    def _next(self, ruler: Ruler, start: int, end: int, stop: int) -> int:
        """Return where the chunk after `start:end` begins."""
        if not self._overlap or end >= stop:
            return skip_blanks(ruler.text, end, stop)
        place = max(start + 1, ruler.before(end, self._overlap))
        blank = first_blank(ruler.text, start, place, place + (end - place) // _NEAR)
        place = blank or next_cluster(ruler.text, start, place, end)
        return skip_blanks(ruler.text, place, stop)


def _cut(text: str, start: int, stop: int, limit: int) -> int:
    if limit >= stop:
        return stop
    near = last_blank(text, start, limit)
    if near is not None and near > limit - (limit - start) // _NEAR:
        return near
    return last_cluster(text, start, limit) or limit
