"""How are the documents of OpenDocument read: texts, sheets and slides?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vademecum.adapters.parsers.archive import Archive, damaged, locked
from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.office.grids import place_grid
from vademecum.adapters.parsers.office.package import shorten
from vademecum.adapters.parsers.tables import MOST_CELLS, header_rows
from vademecum.adapters.parsers.uris import name_of
from vademecum.errors import LimitExceeded
from vademecum.model.document import ParsedDocument

_MANIFEST = "META-INF/manifest.xml"
_MOST_SPAN = 1_000
_REMOVED = frozenset(("tracked-changes", "annotation", "annotation-end", "forms", "hidden-text"))
_CONTENTS = frozenset(
    (
        *(
            "table-of-content",
            "alphabetical-index",
            "illustration-index",
            "table-index",
            "user-index",
        ),
    )
)
_LIST_STYLES = "list-style"
_TOLD = (
    ("hidden", "hidden passage left out", "hidden passages left out"),
    ("annotation", "comment left out", "comments left out"),
    ("contents", "table of contents or index left out", "tables of contents or indexes left out"),
    (
        "cells",
        "cell of hidden rows and columns left out",
        "cells of hidden rows and columns left out",
    ),
)


def parse_opendocument(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read ODT, ODS or ODP. Deleted text, comments and what is hidden are left out and told."""
    archive = Archive(content, uri)
    manifest = archive.xml(_MANIFEST)
    if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
        raise locked(uri)
    root, meta = archive.xml("content.xml"), archive.xml("meta.xml")
    if root is None:
        raise damaged(uri)
    shorten(root)
    body = next(root.iter("body"), None)
    walk = _Walk(
        uri=uri, composer=Composer(), hidden=_hidden_styles(root), numbered=_numbered(root)
    )
    if body is not None:
        walk.blocks(body)
    hidden = walk.hidden_parts
    word = "part" if len(hidden) == 1 else "parts"
    return walk.composer.document(
        title=_said(meta, "title") or (name_of(uri) if walk.sheets else ""),
        name=name_of(uri),
        media_type=media_type,
        language=_language(archive, meta),
        warnings=[
            *([f"{len(hidden)} hidden {word} left out: {', '.join(hidden)}"] if hidden else []),
            *(
                f"{count} {one if count == 1 else many}"
                for name, one, many in _TOLD
                if (count := walk.left_out[name])
            ),
        ],
    )


def _said(meta: Any | None, name: str) -> str:
    node = next(meta.iter(f"{{*}}{name}"), None) if meta is not None else None
    return (node.text or "").strip() if node is not None else ""


def _language(archive: Archive, meta: Any | None) -> str:
    code = _said(meta, "language").partition("-")[0].lower()
    if not code and (styles := archive.xml("styles.xml")) is not None:
        shorten(styles)
        usual = next(styles.iter("default-style"), None)
        shape = usual.find("text-properties") if usual is not None else None
        code = (shape.get("language") or "").lower() if shape is not None else ""
    return code if len(code) in (2, 3) and code.isalpha() and code != "zxx" else ""


def _hidden_styles(root: Any) -> frozenset[str]:
    """Return the names of the document's own styles under which nothing is shown."""
    return frozenset(
        style.get("name", "")
        for style in root.iter("style")
        for shape in style
        if shape.tag.endswith("-properties")
        and (
            shape.get("display") in ("none", "false")
            or shape.get("visibility") in ("hidden", "collapse")
        )
    )


def _numbered(root: Any) -> frozenset[str]:
    """Return the names of the list styles whose items have numbers."""
    return frozenset(
        style.get("name", "")
        for style in root.iter(_LIST_STYLES)
        if style.find("list-level-style-number") is not None
        and (style.find("list-level-style-number").get("num-format") or "")
    )


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Go through the body and hand its parts to the composer."""

    uri: str
    composer: Composer
    hidden: frozenset[str]
    numbered: frozenset[str]
    hidden_parts: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    sheets: int = 0
    _notes: int = 0
    _later: list[Any] = field(default_factory=list)
    _cells: int = 0

    def blocks(self, parent: Any) -> None:
        """Read what stands in a part, in its order."""
        for child in parent:
            tag = child.tag
            if self._leaves_out(child):
                continue
            if tag == "h":
                self.composer.heading(self.inline(child), integer(child.get("outline-level"), 1))
                self._follow()
            elif tag == "p":
                self.composer.paragraph(self.inline(child))
                self._follow()
            elif tag == "list":
                self._list(child, 0, "")
            elif tag == "table":
                self._table(child)
            elif tag == "page":
                self._slide(child)
            elif tag == "notes":
                self.composer.paragraph(f"Notes: {text}" if (text := self._whole(child)) else "")
            else:
                self.blocks(child)

    def _leaves_out(self, node: Any) -> bool:
        """Tell whether nothing of a part is read, and count it."""
        if node.tag in _REMOVED:
            self.left_out[node.tag] += 1
        elif node.tag in _CONTENTS:
            self.left_out["contents"] += 1
        elif node.get("style-name") in self.hidden and node.tag not in ("table", "page"):
            self.left_out["hidden"] += bool("".join(node.itertext()).strip())
        else:
            return False
        return True

    def _slide(self, page: Any) -> None:
        if page.get("style-name") in self.hidden:
            self.hidden_parts.append(page.get("name", ""))
            return
        self.composer.page()
        for frame in page:
            if frame.get("class") == "title":
                self.composer.heading(self._whole(frame), 1)
        for frame in page:
            if frame.get("class") in ("footer", "page-number", "date-time", "header", "title"):
                continue
            self.blocks([frame])

    def _whole(self, node: Any) -> str:
        lines = (self.inline(line).strip() for line in node.iter("p", "h"))
        return "\n".join(line for line in lines if line and not line.startswith("<number>"))

    def _list(self, node: Any, depth: int, style: str) -> None:
        style = node.get("style-name") or style
        number = 0
        for item in node:
            if item.tag not in ("list-item", "list-header"):
                continue
            number += item.tag == "list-item"
            marker = f"{number}." if style in self.numbered else "-"
            for child in item:
                if child.tag == "list":
                    self._list(child, depth + 1, style)
                elif child.tag in ("p", "h"):
                    below = depth if marker else depth + 1
                    self.composer.item(self.inline(child), marker=marker, depth=below)
                    self._follow()
                    marker = ""
                else:
                    self.blocks([child])

    def inline(self, node: Any) -> str:
        """Return the text of a paragraph, and remember its notes and frames for after it."""
        parts = [node.text or ""]
        for child in node:
            tag = child.tag
            if tag == "s":
                parts.append(" " * min(_MOST_SPAN, _count(child, "c")))
            elif tag in ("tab", "line-break"):
                parts.append(" " if tag == "tab" else "\n")
            elif tag == "note":
                self._notes += 1
                parts.append(f"[{self._notes}]")
                self._later.append((self._notes, child))
            elif tag in ("frame", "custom-shape", "text-box", "rect", "g"):
                self._later.append((0, child))
            elif tag not in ("ruby-text", "note-citation") and not self._leaves_out(child):
                parts.append(self.inline(child))
            parts.append(child.tail or "")
        return "".join(parts)

    def _follow(self) -> None:
        later, self._later = self._later, []
        for number, node in later:
            if number:
                note = node.find("note-body")
                text = self._whole(note) if note is not None else ""
                self.composer.paragraph(f"[{number}] {text}")
            else:
                self.blocks([node] if node.tag == "g" else node)

    def _table(self, table: Any) -> None:
        """Read a table of a text, or a sheet with its name as heading."""
        on_sheet = table.getparent() is not None and table.getparent().tag == "spreadsheet"
        if table.get("style-name") in self.hidden:
            self.hidden_parts.append(table.get("name", ""))
            return
        if not on_sheet and all(len(row.findall("table-cell")) <= 1 for row in _inside(table)):
            for row in _inside(table):
                for cell in row.iterfind("table-cell"):
                    self.blocks(cell)
            return
        rows = list(self._rows(table))
        if on_sheet:
            self.sheets += 1
            if rows:
                self.composer.heading(table.get("name", ""), 1)
            place_grid(rows, self.composer)
        elif rows:
            width = max(column for _, row in rows for column in row)
            grid = [[row.get(column, "") for column in range(1, width + 1)] for _, row in rows]
            named = len(list(table.iterfind("table-header-rows/table-row")))
            self.composer.table(grid, header_rows=named or header_rows(grid))
        self._follow()

    def _rows(self, table: Any) -> Iterator[tuple[int, dict[int, str]]]:
        """Yield the rows that say something, each with its number and its cells by column."""
        below: dict[int, tuple[int, str]] = {}
        hidden = _hidden_columns(table)
        number = 0
        for row in _inside(table):
            times = _count(row, "number-rows-repeated")
            cells = self._row(row, below, hidden)
            if row.get("visibility") in ("collapse", "filter"):
                self.left_out["cells"] += len(cells)
                cells = {}
            for _ in range(min(times, _MOST_SPAN) if cells else 0):
                number += 1
                yield number, cells
            number += times - (min(times, _MOST_SPAN) if cells else 0)

    def _row(
        self, row: Any, below: dict[int, tuple[int, str]], hidden: frozenset[int]
    ) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if cell.tag not in ("table-cell", "covered-table-cell"):
                continue
            text = "" if cell.tag.startswith("covered") else self._cell(cell)
            times = _count(cell, "number-columns-repeated")
            if cell.tag.startswith("covered") and column + 1 in below:
                left, text = below.pop(column + 1)
                if left > 1:
                    below[column + 1] = (left - 1, text)
            if (tall := _count(cell, "number-rows-spanned")) > 1 and text:
                below[column + 1] = (tall - 1, text)
            for place in range(column + 1, column + 1 + (min(times, _MOST_SPAN) if text else 0)):
                if place in hidden:
                    self.left_out["cells"] += 1
                else:
                    cells[place] = text
            column += times
        self._cells += len(cells)
        if self._cells > MOST_CELLS:
            raise LimitExceeded(
                f"{self.uri} has over {MOST_CELLS // 1_000_000} million cells",
                hint="split the document, or give its records as CSV",
            )
        return cells

    def _cell(self, cell: Any) -> str:
        """Return what a cell shows; a date as it is stored, which is ISO."""
        date = cell.get("date-value")
        if cell.get("value-type") == "date" and date:
            return str(date).replace("T00:00:00", "").replace("T", " ")
        parts = []
        for child in cell:
            if child.tag in ("p", "h"):
                parts.append(self.inline(child))
            elif child.tag == "list":
                items = (self._whole(item) for item in child.iter("list-item"))
                parts.append("; ".join(filter(None, items)))
            elif child.tag == "table":
                lines = (", ".join(row.values()) for _, row in self._rows(child))
                parts.append("; ".join(lines))
            elif child.tag == "annotation":
                self.left_out["annotation"] += 1
        return "\n".join(filter(None, map(str.strip, parts)))


def _inside(table: Any) -> Iterator[Any]:
    for child in table:
        if child.tag == "table-row":
            yield child
        elif child.tag in ("table-rows", "table-header-rows", "table-row-group"):
            yield from _inside(child)


def _hidden_columns(table: Any) -> frozenset[int]:
    hidden: set[int] = set()
    column = 0
    for node in table.iter("table-column"):
        times = _count(node, "number-columns-repeated")
        if node.get("visibility") in ("collapse", "filter"):
            hidden.update(range(column + 1, column + 1 + min(times, _MOST_SPAN)))
        column += times
    return frozenset(hidden)


def _count(node: Any, name: str) -> int:
    return max(1, integer(node.get(name), 1))
