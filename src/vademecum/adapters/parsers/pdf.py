"""How is a PDF read? Lines with their place and type size, put together to headings, paragraphs
and lists; what stands at the same edge of most pages is left out."""

import ctypes
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import pypdfium2
import pypdfium2.raw as pdfium
import regex

from vademecum.errors import DocumentUnreadable, LimitExceeded, PasswordRequired
from vademecum.model.document import Block, BlockKind, ParsedDocument
from vademecum.text.normalise import clean

MOST_PAGES = 2_000
_EDGE_LINES = 2
_EDGE_SHARE = 0.08  # of the page's height, at its top and bottom
_REPEATED_SHARE = 0.6
_REPEATED_PAGES = 2
_HEADING_LETTERS = 120
_LINE_PITCH = 1.75  # of the type size: more from baseline to baseline is a new paragraph
_BULLET = regex.compile(r"\s*(?:[•·▪◦–—*-]|\d{1,2}[.)]|[a-z]\))\s+")
_DIGITS = regex.compile(r"\d+")
_END_HYPHEN = regex.compile(r"(?<=\p{Ll})[-\u00ad\ufffe\x02]$")
# What the library puts for a hyphen at a line's end; between small letters it parts one word.
_MENDED = regex.compile(r"(?<=\p{Ll})[\ufffe\x02](?=\p{Ll})")
_JOINED = regex.compile(r"[\ufffe\x02](?!$)")
# What programs write where nobody gave a title.
_NO_TITLE = regex.compile(r"untitled\b.*|\(anonymous\)|unspecified|microsoft \w+ - .*", regex.I)
_FONT_NAME_BYTES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A printed line. `size` and baselines (from the page's top) are in points; `edge` tells
    whether it stands at the very top or bottom of its page.

    The library joins a line that ends in a hyphen with the next one, so a line may end lower
    than it begins.
    """

    text: str
    size: float
    bold: bool
    baseline: float
    last_baseline: float
    edge: bool


def parse_pdf(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a PDF. A document that opens with an empty password is read."""
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise PasswordRequired(
                f"{uri} is locked", hint="remove its password and ingest it again"
            ) from error
        raise DocumentUnreadable(f"{uri} is a damaged PDF", hint="export it again") from error
    try:
        if len(pdf) > MOST_PAGES:
            raise LimitExceeded(f"{uri} has over {MOST_PAGES} pages", hint="split the document")
        title = clean(pdf.get_metadata_value("Title") or "").strip()
        if _NO_TITLE.fullmatch(title):
            title = ""
        pages = [list(_lines(pdf, number)) for number in range(len(pdf))]
    finally:
        pdf.close()
    kept, dropped = _without_repeated(pages)
    text, blocks, page_starts = _compose(kept)
    warnings = (f"{dropped} repeated header and footer lines left out",) if dropped else ()
    return ParsedDocument(
        text=text,
        blocks=blocks,
        page_starts=page_starts,
        title=title or _first_heading(text, blocks) or PurePosixPath(uri).stem,
        media_type=media_type,
        warnings=warnings,
    )


def _lines(pdf: pypdfium2.PdfDocument, number: int) -> Iterator[Line]:
    try:
        page = pdf[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return  # one broken page costs that page only
    height = page.get_height() or 1.0
    position = 0
    for raw in text_page.get_text_range().split("\n"):
        text = clean(_JOINED.sub("-", _MENDED.sub("", raw))).strip()
        if text:
            first = position + len(raw) - len(raw.lstrip())
            last = position + len(raw.rstrip()) - 1
            baseline = height - _origin(text_page, first)
            yield Line(
                text=text,
                # A bullet at the line's start is often of another size than its words.
                size=round(pdfium.FPDFText_GetFontSize(text_page, last), 1),
                bold=_is_bold(text_page, first) and _is_bold(text_page, last),
                baseline=baseline,
                last_baseline=height - _origin(text_page, last),
                edge=not _EDGE_SHARE < baseline / height < 1 - _EDGE_SHARE,
            )
        position += len(raw) + 1
    text_page.close()
    page.close()


def _origin(text_page: pypdfium2.PdfTextPage, index: int) -> float:
    """Return the height of a character's baseline over the page's bottom, in points."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    return y.value


def _is_bold(text_page: pypdfium2.PdfTextPage, index: int) -> bool:
    if pdfium.FPDFText_GetFontWeight(text_page, index) >= 600:
        return True
    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, index, name, _FONT_NAME_BYTES, flags)
    return b"bold" in name.value.lower()


def _without_repeated(pages: list[list[Line]]) -> tuple[list[list[Line]], int]:
    """Leave out lines that stand, but for their numbers, at the edge of most pages."""
    if len(pages) < _REPEATED_PAGES:
        return pages, 0

    def key(line: Line) -> str:
        return _DIGITS.sub("0", line.text)

    edges = Counter(text for page in pages for text in {key(line) for line in page if line.edge})
    repeated = {
        text
        for text, count in edges.items()
        if count >= max(_REPEATED_PAGES, _REPEATED_SHARE * len(pages))
    }
    kept = [[line for line in page if not (line.edge and key(line) in repeated)] for page in pages]
    return kept, sum(map(len, pages)) - sum(map(len, kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    kind: BlockKind
    text: str
    size: float


def _compose(pages: list[list[Line]]) -> tuple[str, tuple[Block, ...], tuple[int, ...]]:
    """Put pieces together to the one text, with blank lines between blocks and pages."""
    letters: Counter[float] = Counter()
    for page in pages:
        for line in page:
            letters[line.size] += len(line.text)
    body = letters.most_common(1)[0][0] if letters else 0.0
    pieces = [list(_pieces(page, body)) for page in pages]
    sizes = sorted({p.size for page in pieces for p in page if p.kind == "heading"}, reverse=True)
    text = ""
    blocks: list[Block] = []
    starts: list[int] = []
    path: list[tuple[int, str]] = []
    for page_pieces in pieces:
        text += "\n\n" if text and not text.endswith("\n\n") else ""
        starts.append(len(text))
        for piece in page_pieces:
            level = 0
            if piece.kind == "heading":
                level = min(6, sizes.index(piece.size) + 1)
                path = [
                    *((above, name) for above, name in path if above < level),
                    (level, piece.text),
                ]
            if blocks and blocks[-1].start >= starts[-1]:
                text += "\n" if piece.kind == "list" == blocks[-1].kind else "\n\n"
            start = len(text)
            text += piece.text
            blocks.append(
                Block(
                    kind=piece.kind,
                    start=start,
                    end=len(text),
                    level=level,
                    heading_path=tuple(name for _, name in path),
                )
            )
    return text, tuple(blocks), tuple(starts)


def _pieces(lines: list[Line], body: float) -> Iterator[_Piece]:
    """Yield headings, list items and paragraphs of one page, their lines joined."""
    held: list[Line] = []
    for line in lines:
        if held and not _continues(held, line, body):
            yield _piece(held, body)
            held = []
        held.append(line)
    if held:
        yield _piece(held, body)


def _continues(held: list[Line], line: Line, body: float) -> bool:
    last = held[-1]
    if abs(last.size - line.size) > 0.5 or (last.bold != line.bold and _is_heading(held, body)):
        return False
    if _BULLET.match(line.text):
        return False
    step = line.baseline - last.last_baseline
    if step < 0:  # the next column
        return not last.text.endswith((".", ":", "!", "?"))
    return step <= _LINE_PITCH * max(line.size, 1.0)


def _is_heading(held: list[Line], body: float) -> bool:
    letters = sum(len(line.text) for line in held)
    larger = held[0].size > body * 1.12
    return letters <= _HEADING_LETTERS and (
        larger or (all(line.bold for line in held) and not held[-1].text.endswith((".", ":", ",")))
    )


def _piece(held: list[Line], body: float) -> _Piece:
    text = held[0].text
    for line in held[1:]:
        mended = _END_HYPHEN.sub("", text)
        if mended != text and line.text[:1].islower():
            text = mended + line.text
        else:
            text = f"{text} {line.text}"
    kind: BlockKind = "paragraph"
    if _is_heading(held, body):
        kind = "heading"
    elif _BULLET.match(held[0].text):
        kind = "list"
    return _Piece(kind=kind, text=clean(text), size=held[0].size)


def _first_heading(text: str, blocks: tuple[Block, ...]) -> str:
    return next((text[b.start : b.end] for b in blocks if b.kind == "heading"), "")
