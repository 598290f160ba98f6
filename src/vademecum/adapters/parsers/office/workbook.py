"""How is an XLSX workbook read? Each visible sheet as tables of the values that it shows."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import regex
from lxml import etree

from vademecum.adapters.parsers.archive import damaged
from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.office.drawings import drawn_text, read_drawing
from vademecum.adapters.parsers.office.grids import place_grid
from vademecum.adapters.parsers.office.number_formats import GENERAL, Format, read_format, shown
from vademecum.adapters.parsers.office.package import Package
from vademecum.adapters.parsers.tables import MOST_CELLS
from vademecum.adapters.parsers.uris import name_of
from vademecum.errors import LimitExceeded
from vademecum.model.document import ParsedDocument

_REFERENCE = regex.compile(r"([A-Z]{1,3})(\d{1,7})")
_MOST_COLUMNS = 16_384
_ESCAPED = regex.compile(r"_x([0-9A-Fa-f]{4})_")  # how a sheet writes signs that XML forbids
_DIGITS = regex.compile(r"-?\d{1,40}")


@dataclass(slots=True, kw_only=True)
class _Book:
    """What all sheets share, and what was left out of them."""

    uri: str
    strings: list[str]
    formats: list[Format]
    from_1904: bool
    cells: int = 0
    hidden: int = 0
    unsolved: int = 0


@dataclass(slots=True, kw_only=True)
class _Sheet:
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden_columns: list[range] = field(default_factory=list)


def parse_xlsx(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a workbook: stored results of formulas, dates as ISO, a merged label in each row and
    column that it covers. Hidden sheets, rows and columns are left out and told."""
    package = Package(content, uri)
    root = package.xml(package.main)
    settings = root.find("workbookPr") if root is not None else None
    styles = next(package.related(package.main, "styles"), "")
    book = _Book(
        uri=uri,
        strings=list(_strings(package)),
        formats=_formats(package.xml(styles)),
        from_1904=settings is not None and settings.get("date1904") in ("1", "true"),
    )
    relations = package.relations(package.main)
    composer = Composer()
    hidden: list[str] = []
    for node in root.iter("sheet") if root is not None else ():
        relation = relations.get(node.get("id", ""))
        if relation is None or relation.kind != "worksheet":
            continue
        if node.get("state", "visible") != "visible":
            hidden.append(node.get("name", ""))
            continue
        sheet = Composer()
        _read_sheet(package, relation.target, book, sheet)
        if sheet.text:
            composer.heading(node.get("name", ""), 1)
            composer.part(sheet.document(title="", media_type=media_type))
    return composer.document(
        title=package.title() or name_of(uri),
        media_type=media_type,
        warnings=_warnings(book, hidden, package),
    )


def _warnings(book: _Book, hidden: list[str], package: Package) -> list[str]:
    told = []
    if hidden:
        word = "sheet" if len(hidden) == 1 else "sheets"
        told.append(f"{len(hidden)} hidden {word} left out: {', '.join(hidden)}")
    if book.hidden:
        told.append(f"{book.hidden} cells of hidden rows and columns left out")
    if book.unsolved:
        told.append(f"{book.unsolved} formulas without a stored result left out")
    if any(name.startswith("xl/comments") for name in package.archive.names):
        told.append("the comments on cells left out")
    return told


def _strings(package: Package) -> Iterator[str]:
    name = next(package.related(package.main, "sharedStrings"), "")
    content = package.archive.read(name)
    if content is not None:
        for item in _elements(content, package.uri, "si"):
            yield _rich(item)


def _rich(item: Any) -> str:
    """Return a text of several runs; how a word is spoken is left out."""
    parts = [
        node.text or ""
        for node in item.iter("{*}t")
        if not (node.getparent() is not None and node.getparent().tag.endswith("}rPh"))
    ]
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), "".join(parts))


def _formats(styles: Any | None) -> list[Format]:
    if styles is None:
        return []
    codes = {node.get("numFmtId"): node.get("formatCode") for node in styles.iter("numFmt")}
    cells = styles.find("cellXfs")
    numbers = [node.get("numFmtId", "0") for node in cells] if cells is not None else []
    known = {number: read_format(integer(number), codes.get(number)) for number in set(numbers)}
    return [known[number] for number in numbers]


def _elements(content: bytes, uri: str, *names: str) -> Iterator[Any]:
    """Yield elements as they end, and forget each after its use: a sheet may be large."""
    events = etree.iterparse(
        io.BytesIO(content),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        for _, node in events:
            yield node
            node.clear()
            while node.getprevious() is not None:
                del node.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise damaged(uri) from error


def _read_sheet(package: Package, name: str, book: _Book, composer: Composer) -> None:
    content = package.archive.read(name)
    if content is None:
        return
    sheet = _Sheet()
    number = 0
    for node in _elements(content, book.uri, "row", "col", "mergeCell"):
        kind = etree.QName(node).localname
        if kind == "row":
            number = integer(node.get("r"), number + 1)
            _read_row(node, number, sheet, book)
        elif kind == "col" and node.get("hidden") in ("1", "true"):
            first, last = integer(node.get("min")), integer(node.get("max"))
            sheet.hidden_columns.append(range(first, min(last, _MOST_COLUMNS) + 1))
        elif kind == "mergeCell" and (area := _area(node.get("ref", ""))):
            sheet.merged.append(area)
    _fill_merged(sheet, book)
    place_grid(sorted(sheet.rows.items()), composer)
    for drawing in package.related(name, "drawing"):
        root = package.xml(drawing)
        if root is not None:
            for box in root.iter("txBody"):
                composer.paragraph(drawn_text(box))
            read_drawing(package, drawing, root, composer, values=False)


def _read_row(node: Any, number: int, sheet: _Sheet, book: _Book) -> None:
    row: dict[int, str] = {}
    column = 0
    for cell in node.iterfind("{*}c"):
        match = _REFERENCE.fullmatch(cell.get("r", ""))
        column = _column(match[1]) if match else column + 1
        text = _value(cell, book).strip()
        if not text:
            continue
        if node.get("hidden") in ("1", "true") or any(
            column in part for part in sheet.hidden_columns
        ):
            book.hidden += 1
            continue
        row[column] = text
    if row:
        _count(book, len(row))
        sheet.rows[number] = row


def _count(book: _Book, cells: int) -> None:
    book.cells += cells
    if book.cells > MOST_CELLS:
        raise LimitExceeded(
            f"{book.uri} has over {MOST_CELLS // 1_000_000} million cells",
            hint="split the workbook, or give its records as CSV",
        )


def _value(cell: Any, book: _Book) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inline = cell.find("{*}is")
        return _rich(inline) if inline is not None else ""
    stored = cell.find("{*}v")
    value = (stored.text or "") if stored is not None else ""
    if not value:
        book.unsolved += cell.find("{*}f") is not None
        return ""
    if kind == "s":
        place = integer(value, -1)
        return book.strings[place] if 0 <= place < len(book.strings) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind in ("str", "e", "d"):
        return value.removesuffix("T00:00:00") if kind == "d" else value
    return _number(value, cell.get("s", ""), book)


def _number(value: str, style: str, book: _Book) -> str:
    place = integer(style, -1)
    how = book.formats[place] if 0 <= place < len(book.formats) else GENERAL
    if how is GENERAL and _DIGITS.fullmatch(value):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return shown(number, how, from_1904=book.from_1904) if abs(number) < 1e300 else value


def _fill_merged(sheet: _Sheet, book: _Book) -> None:
    """Repeat a merged label in each row that it covers and that has something else, and in each
    column where it stands above several."""
    for top, left, bottom, right in sheet.merged:
        text = sheet.rows.get(top, {}).get(left)
        if text is None:
            continue
        rows = (
            [sheet.rows[row] for row in range(top, bottom + 1) if row in sheet.rows]
            if bottom - top < len(sheet.rows)
            else [cells for row, cells in sheet.rows.items() if top <= row <= bottom]
        )
        for row in rows:
            if any(not left <= column <= right for column in row):
                below = sheet.rows.get(bottom + 1, {})
                last = right if sum(left <= column <= right for column in below) > 1 else left
                missing = [column for column in range(left, last + 1) if column not in row]
                _count(book, len(missing))
                row.update(dict.fromkeys(missing, text))


def _area(reference: str) -> tuple[int, int, int, int] | None:
    first, _, last = reference.partition(":")
    start, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last)
    if start is None or end is None:
        return None
    return int(start[2]), _column(start[1]), int(end[2]), min(_MOST_COLUMNS, _column(end[1]))


def _column(letters: str) -> int:
    """Return the number of a column, A being 1."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
