"""What stands on one page: its lines and tables in reading order, and what is left out of it?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pypdfium2
import pypdfium2.raw as pdfium

from vademecum.adapters.parsers.pdf.columns import Item, in_reading_order
from vademecum.adapters.parsers.pdf.drawn import Drawn, drawn_on, image_covers
from vademecum.adapters.parsers.pdf.frame import Box, Frame, frame_of
from vademecum.adapters.parsers.pdf.grid import grids_of
from vademecum.adapters.parsers.pdf.lines import (
    Glyph,
    Line,
    Reader,
    TextPage,
    lines_of,
    quarters_of,
    text_page_of,
)
from vademecum.adapters.parsers.pdf.loose import loose_tables
from vademecum.adapters.parsers.pdf.ocr import NotRecognised, paragraphs_on
from vademecum.adapters.parsers.pdf.tables import Table, table_in
from vademecum.adapters.parsers.pdf.words import has_bad_blanks, is_unmapped, tidy

_SCAN_SHARE = 0.6  # of the page: text that is not seen over such an image is the image's
_PICTURE_SHARE = 0.02
_MOST_ANNOTATIONS = 2_000
_FEWEST_RULINGS = 3
_MANY_PATHS = 300  # letters that are drawn, or a drawing
_UNKNOWN_SIZE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A page's height in points, its items, how many characters of it are hidden, and what else
    is to be told about it; `note` says why it was not recognised."""

    height: float = 0.0
    items: tuple[Item, ...] = ()
    hidden: int = 0
    only_picture: bool = False
    recognised: bool = False
    broken: bool = False
    unmapped: bool = False
    bad_blanks: bool = False
    note: str = ""


def read_page(pdf: pypdfium2.PdfDocument, number: int, ocr: str) -> PageRead:
    """Read one page. A broken one costs that page only."""
    try:
        page = _opened(pdf, number)
        text = text_page_of(page)
    except pypdfium2.PdfiumError:
        return PageRead(broken=True)
    try:
        plain = frame_of(page)
        if plain.width <= 0 or plain.height <= 0:
            return PageRead()
        frame = frame_of(page, quarters_of(text, plain))
        drawn = drawn_on(page, frame)
        read = _read(text, frame, drawn)
        if not read.items and (read.unmapped or _has_picture(drawn, frame)):
            return _recognised(page, read, ocr)
        return read
    finally:
        text.raw.close()
        page.close()


def _opened(pdf: pypdfium2.PdfDocument, number: int) -> pypdfium2.PdfPage:
    """Open a page; the values of its form's fields become a part of what is drawn on it."""
    page = pdf[number]
    count = min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)
    if any(_is_filled_in(page, index) for index in range(count)) and (
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS
    ):
        page.close()
        page = pdf[number]
    return page


def _is_filled_in(page: pypdfium2.PdfPage, index: int) -> bool:
    annotation = pdfium.FPDFPage_GetAnnot(page, index)
    if not annotation:
        return False
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    pdfium.FPDFPage_CloseAnnot(annotation)
    return kind in (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT)


def _read(chars: TextPage, frame: Frame, drawn: Drawn) -> PageRead:
    covered = bool(drawn.unseen) and image_covers(drawn, frame, _SCAN_SHARE)
    reader = Reader(
        chars,
        frame,
        {
            address: box
            for address, box in drawn.texts
            if address in drawn.unseen and not (covered and drawn.unseen[address] == "invisible")
        },
    )
    grids = []
    if len(drawn.horizontal) + len(drawn.vertical) >= _FEWEST_RULINGS:
        grids = grids_of(drawn.horizontal, drawn.vertical)
    glyphs: list[Glyph] | None = None
    tables: list[Table] = []
    if grids:
        glyphs = reader.glyphs(0, len(chars.text))
        for grid in grids:
            table = table_in(grid, glyphs, chars.text)
            if table is not None:
                tables.append(table)
                bounds = table.box
                glyphs = [glyph for glyph in glyphs if not _inside(glyph, bounds)]
    lines = lines_of(reader, glyphs)
    hidden = reader.hidden
    whole = "\n".join(line.text for line in lines)
    if not tables and is_unmapped(whole):
        return PageRead(height=frame.height, hidden=hidden, unmapped=bool(whole))
    bad = has_bad_blanks(whole)
    if bad:
        again = lines_of(reader, glyphs or reader.glyphs(0, len(chars.text)), anew=True)
        bad = has_bad_blanks("\n".join(line.text for line in again))
        lines = lines if bad else again
    for loose in loose_tables(reader, lines, drawn.horizontal, [table.box for table in tables]):
        tables.append(loose.table)
        lines = [line for line in lines if line.index not in loose.lines]
    tidied = (
        line if (text := tidy(line.text)) == line.text else replace(line, text=text)
        for line in lines
    )
    return PageRead(
        height=frame.height,
        items=tuple(_ordered([line for line in tidied if line.text], tables)),
        hidden=hidden,
        bad_blanks=bad,
    )


def _inside(glyph: Glyph, box: Box) -> bool:
    return box.holds((glyph.box.x0 + glyph.box.x1) / 2, (glyph.box.top + glyph.box.bottom) / 2)


def _ordered(lines: Sequence[Line], tables: Sequence[Table]) -> list[Item]:
    """Put tables where the file's order has their first character, then see to the order."""
    items: list[Item] = [*lines, *tables]
    return in_reading_order(sorted(items, key=lambda item: item.index))


def _has_picture(drawn: Drawn, frame: Frame) -> bool:
    return drawn.paths > _MANY_PATHS or image_covers(drawn, frame, _PICTURE_SHARE)


def _recognised(page: pypdfium2.PdfPage, read: PageRead, ocr: str) -> PageRead:
    """Read a picture of the page, if that is wanted and can be done."""
    unread = replace(read, only_picture=not read.unmapped)
    if not ocr:
        return unread
    try:
        paragraphs = paragraphs_on(page, ocr)
    except NotRecognised as error:
        return replace(unread, note=str(error))
    if not paragraphs:
        return unread
    height = read.height
    lines = [
        Line(
            text=tidy(paragraph),
            # No more is known than the order: each stands for itself, and none at the edge.
            box=Box(0.0, height / 2, 1.0, height / 2),
            size=_UNKNOWN_SIZE,
            bold=False,
            baseline=height * number,
            index=number,
            row=number,
        )
        for number, paragraph in enumerate(paragraphs)
    ]
    return PageRead(height=height, hidden=read.hidden, recognised=True, items=tuple(lines))
