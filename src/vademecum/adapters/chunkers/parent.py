"""Small chunks to find, each with the section that answers in its place."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vademecum.adapters.chunkers.blocks import fits
from vademecum.adapters.chunkers.cut import Ruler
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.ports.embedder import Tokenizer

DEFAULT_TOKENS = 100
# A section has so many times the tokens of a chunk, where nobody says how many.
DEFAULT_CHUNKS_A_SECTION = 4


class ParentChunker:
    """Chunks of at most `tokens` tokens as the StructureChunker makes them, each with its section:
    all that stands below the same headings where that has at most `section` tokens, else one of
    the runs of neighbouring chunks, of about one size, that it falls into.

    Sections do not overlap, and all chunks of one are neighbours.
    """

    def __init__(
        self, tokens: int = DEFAULT_TOKENS, section: int = 0, *, notes: tuple[str, ...] = ()
    ) -> None:
        """`section` of 0 means `DEFAULT_CHUNKS_A_SECTION` times `tokens`."""
        self._chunks = StructureChunker(tokens)
        self._tokens = tokens
        self._section = section or DEFAULT_CHUNKS_A_SECTION * tokens
        if self._section < tokens:
            raise ValueError(f"a section of {section} tokens holds no chunk of {tokens}")
        self._notes = notes

    @property
    def fingerprint(self) -> str:
        return f"parent-1/{self._tokens}/{self._section}/{self._chunks.fingerprint}"

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def split(self, document: ParsedDocument, tokenizer: Tokenizer) -> list[Span]:
        """See `Chunker.split`; each span names its section."""
        ruler = Ruler(document.text, tokenizer)
        return [
            replace(span, section=(run[0].start, run[-1].end))
            for spans in self._chunks.by_section(document, tokenizer)
            for run in self._runs(spans, ruler)
            for span in run
        ]

    def _runs(self, spans: Sequence[Span], ruler: Ruler) -> Iterator[Sequence[Span]]:
        """Yield the chunks below the same headings, section by section."""
        if self._holds(spans, ruler):
            yield spans
            return
        sizes = [ruler.count(ruler.text[span.start : span.end]) for span in spans]
        left = sum(sizes)
        first, filled = 0, 0
        for at, size in enumerate(sizes):
            aim = left / max(1, -(-left // self._section))
            # As near to the aim as a run comes: with this chunk, or without it.
            if at > first and (filled + size > self._section or filled + size - aim > aim - filled):
                yield from self._fitting(spans[first:at], ruler)
                left -= filled
                first, filled = at, 0
            filled += size
        yield from self._fitting(spans[first:], ruler)

    def _fitting(self, run: Sequence[Span], ruler: Ruler) -> Iterator[Sequence[Span]]:
        """Yield the run, in halves where the blanks between its chunks, or tokens that they do not
        have apart, make it too large."""
        if len(run) < 2 or self._holds(run, ruler):
            yield run
            return
        middle = len(run) // 2
        yield from self._fitting(run[:middle], ruler)
        yield from self._fitting(run[middle:], ruler)

    def _holds(self, run: Sequence[Span], ruler: Ruler) -> bool:
        return fits(ruler, run[0].start, run[-1].end, self._section)
