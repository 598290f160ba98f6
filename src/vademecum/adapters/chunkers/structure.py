"""Chunks that follow a document's own structure: headings, paragraphs, rows, sentences."""

from collections.abc import Iterator, Sequence
from functools import partial

from vademecum.adapters.chunkers.blocks import anywhere, fits, header_of, inside, sections
from vademecum.adapters.chunkers.cut import Ruler, skip_blanks, trimmed, whole
from vademecum.model.chunk import Span
from vademecum.model.document import Block, ParsedDocument
from vademecum.ports.embedder import Tokenizer

DEFAULT_TOKENS = 200
FEWEST_TOKENS = 8


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
        return [span for section in self.by_section(document, tokenizer) for span in section]

    def by_section(self, document: ParsedDocument, tokenizer: Tokenizer) -> Iterator[list[Span]]:
        """Yield the spans of what stands below the same headings together."""
        ruler = Ruler(document.text, tokenizer)
        for section in sections(whole(document)):
            yield list(self._divided(section, ruler))

    def _divided(self, section: Sequence[Block], ruler: Ruler) -> Iterator[Span]:
        first, start = 0, section[0].start
        names: dict[int, tuple[str, int]] = {}  # a table's header and its cost, by its block
        while first < len(section):
            header, cost = "", 0
            block = section[first]
            if block.start < block.header_end <= start:
                if first not in names:
                    names[first] = header_of(block, ruler, self._tokens)
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
                inside(ruler.text, block, start, limit)
                or anywhere(ruler.text, block, start, limit)
                or limit
            )
        before = section[over - 1].end
        # Headings alone say nothing: what they announce comes with them, if only a part.
        telling = any(each.kind != "heading" for each in section[first:over])
        half = 2 * (before - start) >= limit - start
        if block.start >= limit or (telling and half):
            return before
        if (telling or block.kind == "code") and fits(ruler, block.start, block.end, self._tokens):
            return before
        inner = inside(ruler.text, block, block.start, limit)
        if inner is None and not telling and not self._row_fits(ruler, block):
            inner = anywhere(ruler.text, block, block.start, limit)
        return inner or before

    def _row_fits(self, ruler: Ruler, block: Block) -> bool:
        """Return whether the block is a table whose first row, which is never cut, fits alone."""
        first = ruler.text.find("\n", block.start, block.end)
        end = first if first > 0 else block.end
        return block.kind == "table" and fits(ruler, block.start, end, self._tokens)
