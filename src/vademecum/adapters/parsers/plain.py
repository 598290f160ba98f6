"""How is plain text read?"""

from collections.abc import Iterator

import regex

from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.uris import name_of
from vademecum.model.document import Block, ParsedDocument
from vademecum.text.normalise import clean

_BLANK_LINES = regex.compile(r"\n\s*\n")


def parse_text(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read text: paragraphs stand apart by blank lines; a short first line is the title."""
    text = clean(decode(content))
    blocks = tuple(
        Block(kind="paragraph", start=start, end=end, level=0, heading_path=())
        for start, end in _paragraphs(text)
    )
    first = text.strip().split("\n", 1)[0].strip()
    title = first if 0 < len(first) <= 80 and not first.endswith(".") else name_of(uri)
    return ParsedDocument(
        text=text, blocks=blocks, page_starts=(), title=title, media_type=media_type, warnings=()
    )


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of what stands between blank lines, blanks at both ends left out."""
    start = 0
    for gap_start, gap_end in [
        *(match.span() for match in _BLANK_LINES.finditer(text)),
        (len(text), len(text)),
    ]:
        piece = text[start:gap_start]
        if stripped := piece.strip():
            begin = start + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped)
        start = gap_end
