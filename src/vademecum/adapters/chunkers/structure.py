"""Chunks that follow a document's own structure: headings, paragraphs, rows, sentences."""

from bisect import bisect_right
from collections.abc import Iterator

import regex

from vademecum.model.chunk import Span
from vademecum.model.document import Block, ParsedDocument
from vademecum.ports.embedder import Tokenizer
from vademecum.text.sentences import sentence_spans

DEFAULT_TOKENS = 200
_GRAPHEMES = regex.compile(r"\X")
_ROWS = regex.compile(r"[^\n]*\n?")


class StructureChunker:
    """Pack whole blocks of one section into chunks of at most `tokens` tokens; cut a block that
    is larger between rows or sentences, and a sentence that is larger between letter clusters."""

    def __init__(self, tokens: int = DEFAULT_TOKENS) -> None:
        if tokens < 8:
            raise ValueError(f"a chunk needs at least 8 tokens, not {tokens}")
        self._tokens = tokens

    @property
    def fingerprint(self) -> str:
        return f"structure-1/{self._tokens}"

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        spans: list[Span] = []
        start = end = used = 0
        path: tuple[str, ...] = ()
        only_headings = True
        for piece_start, piece_end, cost, block in self._pieces(document, tokenizer):
            same_section = path == block.heading_path or only_headings
            if start < end and (not same_section or used + cost > self._tokens):
                spans.append(Span(start=start, end=end, heading_path=path))
                start = end = used = 0
            if start == end:
                start, only_headings = piece_start, True
            end, used, path = piece_end, used + cost, block.heading_path
            only_headings = only_headings and block.kind == "heading"
        if start < end:
            spans.append(Span(start=start, end=end, heading_path=path))
        return spans

    def _pieces(
        self, document: ParsedDocument, tokenizer: Tokenizer
    ) -> Iterator[tuple[int, int, int, Block]]:
        """Yield stretches of at most `tokens` tokens with their cost in tokens, in order, blanks
        at both ends left out."""
        for block in document.blocks:
            for start, end, cost in self._cut(document.text, block, tokenizer):
                text = document.text[start:end]
                if stripped := text.strip():
                    begin = start + len(text) - len(text.lstrip())
                    yield begin, begin + len(stripped), cost, block

    def _cut(self, text: str, block: Block, tokenizer: Tokenizer) -> Iterator[tuple[int, int, int]]:
        whole = tokenizer.count(text[block.start : block.end])
        if whole <= self._tokens:
            yield block.start, block.end, whole
            return
        inner = text[block.start : block.end]
        by_rows = block.kind in ("table", "code", "list")
        units = (
            [match.span() for match in _ROWS.finditer(inner) if match.group()]
            if by_rows
            else sentence_spans(inner)
        )
        start = end = used = 0
        for unit_start, unit_end in units:
            cost = tokenizer.count(inner[unit_start:unit_end])
            if end > start and used + cost > self._tokens:
                yield block.start + start, block.start + end, used
                start, used = unit_start, 0
            elif end == start:
                start = unit_start
            if cost > self._tokens:
                for a, b in self._cut_hard(inner[unit_start:unit_end], tokenizer):
                    yield block.start + unit_start + a, block.start + unit_start + b, self._tokens
                start = end = unit_end
                used = 0
                continue
            end, used = unit_end, used + cost
        if end > start:
            yield block.start + start, block.start + end, used

    def _cut_hard(self, text: str, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
        """Cut where no sentence ends: after a blank if there is one, never inside a cluster."""
        ends = tokenizer.ends(text)
        clusters = [match.end() for match in _GRAPHEMES.finditer(text)]
        start = 0
        while start < len(text):
            first = bisect_right(ends, start)
            limit = (
                ends[min(first + self._tokens, len(ends)) - 1] if first < len(ends) else len(text)
            )
            if first + self._tokens >= len(ends):
                limit = len(text)
            if limit < len(text):
                blank = max(text.rfind(" ", start, limit), text.rfind("\n", start, limit))
                limit = (
                    blank + 1
                    if blank > start
                    else clusters[max(0, bisect_right(clusters, limit) - 1)]
                )
            if limit <= start:  # one cluster of more tokens than a chunk may have
                limit = clusters[bisect_right(clusters, start)]
            yield start, limit
            start = limit
