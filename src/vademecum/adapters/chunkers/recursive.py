"""Chunks that end at the coarsest separator that fills them: paragraph, line, sentence, word."""

from collections.abc import Sequence
from functools import partial

from vademecum.adapters.chunkers.cut import (
    Headings,
    Ruler,
    is_boundary,
    last_cluster,
    skip_blanks,
    trimmed,
)
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.ports.embedder import Tokenizer

DEFAULT_TOKENS = 200
SENTENCE_ENDS = (
    *(". ", "! ", "? ", "… ", '." ', '!" ', '?" ', ".” ", "!” ", "?” ", ".) "),
    *("。", "！", "？", "；", "。」", "！」", "？」", "。”", "！”", "？”"),
    *("।", "॥", "؟", "۔"),
)
SEPARATORS: tuple[tuple[str, ...], ...] = (
    ("\n\n",),
    ("\n",),
    SENTENCE_ENDS,
    (" ", "\t", "\u3000"),
)
# A coarse separator that would leave a chunk emptier than this gives way to a finer one.
_LEAST_FILLED = 4


class RecursiveChunker:
    """Chunks of at most `tokens` tokens, each ending behind the last separator of the coarsest
    level that leaves it a quarter full, else between two letter clusters. Separators are literal
    text and stay with the chunk that they end."""

    def __init__(
        self,
        tokens: int = DEFAULT_TOKENS,
        separators: Sequence[Sequence[str]] = SEPARATORS,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        if tokens < 1:
            raise ValueError(f"a chunk needs at least 1 token, not {tokens}")
        if not all(separator for level in separators for separator in level):
            raise ValueError("an empty text separates nothing")
        self._tokens = tokens
        self._notes = notes
        self._separators = tuple(map(tuple, separators))

    @property
    def fingerprint(self) -> str:
        others = "" if self._separators == SEPARATORS else f"/{self._separators!r}"
        return f"recursive-1/{self._tokens}{others}"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """See `Chunker.split`."""
        text = document.text
        ruler, headings = Ruler(text, tokenizer), Headings(document)
        stop = trimmed(text, 0, len(text))
        start = skip_blanks(text, 0, stop)
        spans = []
        while start < stop:
            end = ruler.end(start, stop, self._tokens, partial(self._cut, text, start, stop))
            end = trimmed(text, start, end)
            spans.append(Span(start=start, end=end, heading_path=headings.of(start, end)))
            start = skip_blanks(text, end, stop)
        return spans

    def _cut(self, text: str, start: int, stop: int, limit: int) -> int:
        if limit >= stop:
            return stop
        for least in (start + (limit - start) // _LEAST_FILLED, start):
            for level in self._separators:
                end = max(_last_end(text, separator, least, limit) for separator in level)
                if end > least and is_boundary(text, start, end):
                    return end
        return last_cluster(text, start, limit) or limit


def _last_end(text: str, separator: str, start: int, limit: int) -> int:
    """Return where the last separator begins, if blank, or ends that lies in (start, limit]."""
    shown = len(separator.rstrip())
    found = text.rfind(separator, max(0, start + 1 - shown), limit + len(separator) - shown)
    return found + shown if found >= 0 else -1
