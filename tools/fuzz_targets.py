"""Which code of ours does a fuzzer drive, and what must hold whatever it makes up?"""

from collections.abc import Callable, Iterator

from vademecum.adapters.chunkers.fixed import FixedChunker
from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.recursive import RecursiveChunker
from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.json_values import parse_json
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.errors import DocumentUnreadable
from vademecum.model.document import ParsedDocument
from vademecum.ports.chunker import Chunker
from vademecum.testing import conformance_chunker, conformance_parser
from vademecum.testing.embedders import HashEmbedder

Reader = Callable[[bytes, str, str], ParsedDocument]
_TOKENIZER = HashEmbedder()


def markdown(data: bytes) -> None:
    _check(data, lambda rest: parse_markdown(rest, "a.md", "text/markdown"))


def text(data: bytes) -> None:
    _check(data, lambda rest: parse_text(rest, "a.txt", "text/plain"))


def json(data: bytes) -> None:
    _check(data, lambda rest: parse_json(rest, "a.json", "application/json"))


def compose(data: bytes) -> None:
    _check(data, _composed)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (markdown, text, json, compose)
}


def _check(data: bytes, read: Callable[[bytes], ParsedDocument]) -> None:
    """Read what follows the first two bytes, and cut it by the chunker that these choose."""
    first, second = (*data[:2], 0, 0)[:2]
    try:
        document = read(data[2:])
    except DocumentUnreadable:
        return
    found = conformance_parser.faults(document)
    tokens = 8 + second % 60
    chunkers: tuple[Chunker, ...] = (
        StructureChunker(tokens),
        RecursiveChunker(tokens),
        FixedChunker(tokens, 0),
        FixedChunker(tokens, tokens * (first // 6) // 43),
        SemanticChunker(tokens),
        ParentChunker(tokens),
    )
    way = first % len(chunkers)
    chunker = chunkers[way]
    spans = conformance_chunker.divided(chunker, document, _TOKENIZER, HashEmbedder())
    found += conformance_chunker.faults(
        document, spans, _TOKENIZER, tokens=tokens, overlaps=way == 3
    )
    if way in (0, 4, 5):
        found += conformance_chunker.table_faults(document, spans, _TOKENIZER, tokens=tokens)
    if found:
        raise AssertionError(f"{found[0]} by {chunker.fingerprint} in {document.text!r}")


def _composed(data: bytes) -> ParsedDocument:
    """Put a document together: pieces stand between bytes 0xff, their first byte says what."""
    document = Composer()
    for kind, piece in _pieces(data):
        if kind % 8 == 0:
            document.heading(piece, kind // 8)
        elif kind % 8 == 1:
            document.item(piece, depth=kind // 64)
        elif kind % 8 == 2:
            rows = [line.split("\t") for line in piece.split("\n")]
            document.table(rows, header_rows=kind // 64)
        elif kind % 8 == 3:
            document.page()
        elif kind % 8 == 4:
            document.code(piece)
        elif kind % 8 == 5:
            document.quote(piece)
        else:
            document.paragraph(piece)
    return document.document(title="", media_type="text/html")


def _pieces(data: bytes) -> Iterator[tuple[int, str]]:
    for piece in data.split(b"\xff"):
        if piece:
            yield piece[0], piece[1:].decode("utf-8", "replace")
