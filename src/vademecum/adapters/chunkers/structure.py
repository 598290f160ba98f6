"""Chunks that follow a document's own structure: headings, paragraphs, rows, sentences."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import regex

from vademecum.adapters.chunkers.cut import (
    MOST_CHARACTERS_A_TOKEN,
    Ruler,
    is_boundary,
    last_blank,
    last_cluster,
    last_line,
    last_sentence,
    skip_blanks,
    trimmed,
    whole,
)
from vademecum.model.chunk import Span
from vademecum.model.document import Block, ParsedDocument
from vademecum.ports.embedder import Tokenizer

DEFAULT_TOKENS = 200
FEWEST_TOKENS = 8
_ITEM_BACKWARDS = regex.compile(r"(?r)\n(?=[^\S\n]*(?:[-*+•–·▪]|\d{1,9}[.)]|\p{L}[.)])\s)")


class StructureChunker:
    """Pack whole blocks of one section into chunks of at most `tokens` tokens; cut a block that
    is larger between rows, items, lines or sentences, and one of these that is larger between
    words, else between letter clusters.

    The column names of a table stand in the header of each chunk that begins below them, and
    count as part of its tokens; names of more than half a chunk are not repeated.
    """

    def __init__(self, tokens: int = DEFAULT_TOKENS, *, notes: tuple[str, ...] = ()) -> None:
        if tokens < FEWEST_TOKENS:
            raise ValueError(f"a chunk needs at least {FEWEST_TOKENS} tokens, not {tokens}")
        self._tokens = tokens
        self._notes = notes

    @property
    def fingerprint(self) -> str:
        return f"structure-2/{self._tokens}"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """See `Chunker.split`."""
        ruler = Ruler(document.text, tokenizer)
        return [
            span for section in _sections(whole(document)) for span in self._divided(section, ruler)
        ]

    def _divided(self, section: Sequence[Block], ruler: Ruler) -> Iterator[Span]:
        first, start = 0, section[0].start
        names: dict[int, tuple[str, int]] = {}  # a table's header and its cost, by its block
        while first < len(section):
            header, cost = "", 0
            block = section[first]
            if block.start < block.header_end <= start:
                if first not in names:
                    names[first] = self._header(block, ruler)
                header, cost = names[first]
            room = self._tokens - cost
            cut = partial(self._cut, ruler, section, first, start)
            end = ruler.end(start, section[-1].end, room, cut)
            end = trimmed(ruler.text, start, end)
            last = first
            while last + 1 < len(section) and section[last + 1].start < end:
                last += 1
            path = section[last].heading_path
            yield Span(start=start, end=end, heading_path=path, header=header)
            start = skip_blanks(ruler.text, end, section[-1].end)
            first = last if end < section[last].end else last + 1

    def _header(self, table: Block, ruler: Ruler) -> tuple[str, int]:
        header = ruler.text[table.start : table.header_end]
        if len(header) > MOST_CHARACTERS_A_TOKEN * self._tokens:
            return "", 0
        cost = ruler.count(header)
        return (header, cost) if 2 * cost <= self._tokens else ("", 0)

    def _cut(
        self, ruler: Ruler, section: Sequence[Block], first: int, start: int, limit: int
    ) -> int:
        """Return where to end the chunk that begins at `start`, in block number `first`."""
        if limit >= section[-1].end:
            return section[-1].end
        over = first
        while section[over].end <= limit:
            over += 1
        block = section[over]  # the first that is not whole in the chunk
        if over == first:
            return (
                _inside(ruler.text, block, start, limit)
                or _anywhere(ruler.text, block, start, limit)
                or limit
            )
        before = section[over - 1].end
        # Headings alone say nothing: what they announce comes with them, if only a part.
        telling = any(each.kind != "heading" for each in section[first:over])
        half = 2 * (before - start) >= limit - start
        if block.start >= limit or (telling and half):
            return before
        if (telling or block.kind == "code") and self._fits(ruler, block.start, block.end):
            return before
        inner = _inside(ruler.text, block, block.start, limit)
        if inner is None and not telling and not self._row_fits(ruler, block):
            inner = _anywhere(ruler.text, block, block.start, limit)
        return inner or before

    def _row_fits(self, ruler: Ruler, block: Block) -> bool:
        """Return whether the block is a table whose first row, which is never cut, fits alone."""
        first = ruler.text.find("\n", block.start, block.end)
        end = first if first > 0 else block.end
        return block.kind == "table" and self._fits(ruler, block.start, end)

    def _fits(self, ruler: Ruler, start: int, end: int) -> bool:
        return (
            end - start <= MOST_CHARACTERS_A_TOKEN * self._tokens
            and ruler.count(ruler.text[start:end]) <= self._tokens
        )


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield the blocks that stand below the same headings, these first."""
    section: list[Block] = []
    opening = True  # only headings so far
    for block in blocks:
        if not opening and (
            block.kind == "heading" or block.heading_path != section[-1].heading_path
        ):
            yield section
            section, opening = [], True
        section.append(block)
        opening = opening and block.kind == "heading"
    if section:
        yield section


def _inside(text: str, block: Block, start: int, limit: int) -> int | None:
    """Return the last place in (start, limit] where one of the block's own parts ends."""
    if block.kind == "table":
        row = last_line(text, start, limit)
        # Column names without a row tell nothing.
        return row if row is not None and (start > block.start or row > block.header_end) else None
    if block.kind == "list":
        item = _ITEM_BACKWARDS.search(text, start + 1, limit + 1)
        return item.start() if item else last_line(text, start, limit)
    if block.kind == "code":
        return last_line(text, start, limit)
    return last_sentence(text, start, limit, block.end)


def _anywhere(text: str, block: Block, start: int, limit: int) -> int | None:
    """Return the best place in (start, limit] inside a part that is itself too large; there is
    none inside a letter cluster."""
    if block.kind == "table" and (row := last_line(text, start, limit)):
        return row
    if block.kind == "list" and (end := last_sentence(text, start, limit, block.end)):
        return end
    middle = start + (limit - start) // 2
    line = last_line(text, middle, limit)
    if line is not None and is_boundary(text, start, line):
        return line
    return last_blank(text, start, limit) or last_cluster(text, start, limit)
