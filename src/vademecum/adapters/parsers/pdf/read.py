"""How is a PDF read? Page by page, then what stands at the edge of most pages is left out and the
rest is put together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from time import monotonic

import pypdfium2
import pypdfium2.raw as pdfium
import regex

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.pdf.blocks import body_size, compose
from vademecum.adapters.parsers.pdf.columns import Item
from vademecum.adapters.parsers.pdf.furniture import Sheet, without_furniture
from vademecum.adapters.parsers.pdf.ligatures import MARKED, meanings, named
from vademecum.adapters.parsers.pdf.lines import Line
from vademecum.adapters.parsers.pdf.outline import outline_of
from vademecum.adapters.parsers.pdf.page import PageRead, read_page
from vademecum.errors import DocumentUnreadable, LimitExceeded, PasswordRequired
from vademecum.model.document import ParsedDocument
from vademecum.text.normalise import clean

MOST_PAGES = 2_000
_UNKNOWN = "\ufffd"
_OCR_SECONDS = 75.0  # the reader's own limit comes later
# What programs write where nobody gave a title.
_NO_TITLE = regex.compile(
    r"untitled\b.*|\(anonymous\)|unspecified|microsoft \w+ - .*|\S+\.(?:pdf|docx?|indd|tex|rtf)",
    regex.I,
)


def parse_pdf(content: bytes, uri: str, media_type: str, *, ocr: str = "") -> ParsedDocument:
    """Read a PDF. A document that opens with an empty password is read.

    `ocr` names the languages in which the machine's tesseract reads pages that are only
    pictures, such as `por+eng`; without it they stay unread.
    """
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
        title = _title(pdf)
        outline = outline_of(pdf)
        pages = _pages(pdf, ocr)
    finally:
        pdf.close()
    pages, unknown = _with_names(pages)
    sheets = [
        Sheet(number=number, height=page.height, items=page.items)
        for number, page in enumerate(pages)
    ]
    kept, dropped = without_furniture(sheets, body_size([page.items for page in pages]))
    composer = Composer()
    compose(composer, kept, outline)
    document = composer.document(
        title=title,
        media_type=media_type,
        warnings=[*_warnings(pages, dropped), *unknown],
        unread=_unread(pages),
    )
    return document if document.title else replace(document, title=PurePosixPath(uri).stem)


def _pages(pdf: pypdfium2.PdfDocument, ocr: str) -> list[PageRead]:
    """Read all pages. Pictures are recognised as long as there is time for it."""
    latest = monotonic() + _OCR_SECONDS
    pages = []
    for number in range(len(pdf)):
        in_time = monotonic() < latest
        page = read_page(pdf, number, ocr if in_time else "")
        if ocr and not in_time and page.only_picture:
            page = replace(page, note=f"there was time for {_OCR_SECONDS:.0f} s of it")
        pages.append(page)
    return pages


def _with_names(pages: list[PageRead]) -> tuple[list[PageRead], list[str]]:
    """Give letters without a name their meaning, and tell where that is not known."""
    every = {number: list(_texts(page)) for number, page in enumerate(pages)}
    marks = {number: texts for number, texts in every.items() if any(map(MARKED.search, texts))}
    if not marks:
        return pages, []
    known = meanings(text for texts in marks.values() for text in texts)
    named_pages = [
        replace(page, items=tuple(_named_items(page.items, known))) if number in marks else page
        for number, page in enumerate(pages)
    ]
    left = [number for number in marks if any(_UNKNOWN in t for t in _texts(named_pages[number]))]
    warning = f"letters without a known meaning stand on {_named(left)}"
    return named_pages, [warning] if left else []


def _texts(page: PageRead) -> Iterator[str]:
    for item in page.items:
        if isinstance(item, Line):
            yield item.text
        else:
            yield from (cell for row in item.rows for cell in row)


def _named_items(items: Iterable[Item], known: Mapping[str, str]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Line):
            text = named(item.text, known).strip()
            if text:
                yield replace(item, text=text)
        else:
            rows = tuple(tuple(named(cell, known) for cell in row) for row in item.rows)
            yield replace(item, rows=rows)


def _title(pdf: pypdfium2.PdfDocument) -> str:
    try:
        title = clean(pdf.get_metadata_value("Title") or "").strip()
    except UnicodeDecodeError:
        return ""
    return "" if _NO_TITLE.fullmatch(title) else title


def _warnings(pages: Sequence[PageRead], dropped: int) -> list[str]:
    warnings = []
    if dropped:
        warnings.append(f"{dropped} repeated header and footer lines left out")
    hidden = sum(page.hidden for page in pages)
    if hidden:
        named = _named(number for number, page in enumerate(pages) if page.hidden)
        warnings.append(f"hidden text left out: {hidden} characters on {named}")
    for what, chosen in (
        ("words may run together or have inner blanks", [page.bad_blanks for page in pages]),
        ("text was recognised from the picture", [page.recognised for page in pages]),
    ):
        if any(chosen):
            named = _named(number for number, page in enumerate(chosen) if page)
            warnings.append(f"{what} on {named}")
    notes = dict.fromkeys(page.note for page in pages if page.note)
    warnings += [f"pages were not recognised: {note}" for note in notes]
    return warnings


def _unread(pages: Sequence[PageRead]) -> list[str]:
    """Name the pages that a reader sees something on and that gave no text."""
    unread = []
    if any(page.items for page in pages):
        pictures = [number for number, page in enumerate(pages) if page.only_picture]
        if pictures:
            unread.append(f"no text was found on {_named(pictures)}")
    for what, chosen in (
        ("could not be read", [page.broken for page in pages]),
        ("uses letters without a known meaning", [page.unmapped for page in pages]),
    ):
        numbers = [number for number, page in enumerate(chosen) if page]
        if numbers:
            unread.append(f"{_named(numbers)} {what}")
    return unread


def _named(numbers: Iterable[int]) -> str:
    """Name pages, counted from 1; many that follow each other as a stretch."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    names = []
    for stretch in stretches:
        if len(stretch) > 2:
            names.append(f"{stretch[0] + 1}-{stretch[-1] + 1}")
        else:
            names += [str(number + 1) for number in stretch]
    one = len(stretches) == 1 and len(stretches[0]) == 1
    return f"{'page' if one else 'pages'} {', '.join(names)}"
