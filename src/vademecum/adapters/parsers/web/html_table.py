"""Which rows and columns has a table of a page, or is it none but only puts things side by side?"""

from collections.abc import Callable, Iterator

import regex
from selectolax.lexbor import LexborNode

from vademecum.adapters.parsers.compose import one_line, superscript
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.tables import MOST_CELLS, header_rows
from vademecum.errors import LimitExceeded

_MOST_SPAN = 1_000
_BREAKS = frozenset(("p", "div", "br", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "pre"))

_PARTED_TWICE = regex.compile(r"(?:\s*[;,](?=\s|$))*\s*;(?=\s|$)(?:\s*[;,](?=\s|$))*")

_PARTING = dict.fromkeys(_BREAKS, " ") | dict.fromkeys(("li", "tr", "dt"), "; ")
_PARTING |= dict.fromkeys(("td", "th"), ", ")

Skips = Callable[[LexborNode], bool]
Leaves = Callable[[LexborNode], None]


def is_layout(node: LexborNode) -> bool:
    """Tell whether a table only arranges parts of the page."""
    if node.attributes.get("role") in ("presentation", "none"):
        return True
    rows = list(_rows(node))
    if max((len(list(_cells(row))) for row in rows), default=0) <= 1:
        return True
    if any(cell.tag == "th" for row in rows for cell in _cells(row)):
        return False
    return (
        len(rows) == 1
        or node.css_first("td table, td h1, td h2, td h3, td h4, td form") is not None
    )


def table(node: LexborNode, skips: Skips, leaves: Leaves) -> tuple[str, list[list[str]], int]:
    """Return the caption, the rows with each cell's text, and how many of them name columns.

    A cell over several rows stands in each of them; one over several columns stands in each
    where it names them, else once. `skips` tells whether a part is left out; `leaves` hears of
    each other one when it ends.
    """
    caption = next((child for child in _children(node) if child.tag == "caption"), None)
    grid: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}  # column -> (rows still to fill, text)
    named = 0
    for row in _rows(node):
        if skips(row):
            continue
        cells = [(cell, _text(cell, skips, leaves)) for cell in _cells(row) if not skips(cell)]
        leaves(row)
        names = all(cell.tag == "th" for cell, _ in cells) and (len(cells) > 1 or not grid)
        line = _line(cells, below, names=names)
        in_head = row.parent is not None and row.parent.tag == "thead"
        if (names or in_head) and named == len(grid):
            named += 1
        grid.append(line)
        if len(line) * len(grid) > MOST_CELLS:
            raise LimitExceeded(
                f"a table has over {MOST_CELLS // 1_000_000} million cells",
                hint="give its records as CSV",
            )
    seen = caption is not None and not skips(caption)
    text = _text(caption, skips, leaves) if caption is not None and seen else ""
    return text, grid, named if 0 < named < len(grid) else header_rows(grid)


def _line(
    cells: list[tuple[LexborNode, str]], below: dict[int, tuple[int, str]], *, names: bool
) -> list[str]:
    line: list[str] = []

    def fill() -> None:
        while len(line) in below:
            column = len(line)
            left, text = below[column]
            line.append(text)
            if left > 1:
                below[column] = (left - 1, text)
            else:
                del below[column]

    for cell, text in cells:
        fill()
        height = _span(cell, "rowspan")
        for place in range(_span(cell, "colspan")):
            shown = text if names or place == 0 else ""
            if height > 1:
                below[len(line)] = (height - 1, shown)
            line.append(shown)
    fill()
    return line


def _span(cell: LexborNode, name: str) -> int:
    return min(_MOST_SPAN, max(1, integer(cell.attributes.get(name), 1)))


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _rows(node: LexborNode) -> Iterator[LexborNode]:
    for child in _children(node):
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in _children(child) if row.tag == "tr")


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (cell for cell in _children(row) if cell.tag in ("td", "th"))


def _text(root: LexborNode, skips: Skips, leaves: Leaves) -> str:
    """Return all that a cell says in one line; items and inner rows are parted by semicolons."""
    parts: list[str] = []
    node: LexborNode | None = root.child
    while node is not None:
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.is_element_node and not skips(node):
            if node.tag == "sup":
                parts.append(superscript(node.text(deep=True)))
            elif node.child is not None:
                parts.append(_PARTING.get(node.tag or "", ""))
                node = node.child
                continue
            else:
                parts.append(_PARTING.get(node.tag or "", ""))
            leaves(node)
        while node is not None and node.mem_id != root.mem_id and node.next is None:
            node = node.parent
            if node is not None:
                parts.append(" " if node.tag in _BREAKS else "")
                leaves(node)
        node = None if node is None or node.mem_id == root.mem_id else node.next
    leaves(root)
    return joined(parts)


def joined(parts: list[str]) -> str:
    """Return pieces as one line, in which no parting sign stands at an end or beside another."""
    text = one_line("".join(parts))
    if ";" not in text and "," not in text:
        return text
    text = _PARTED_TWICE.sub(";", text)
    return text.strip(" ;,")
