"""Which tables stand on a page, with which text in which cell?"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from vademecum.adapters.parsers.pdf.frame import Box
from vademecum.adapters.parsers.pdf.grid import Cell, Grid
from vademecum.adapters.parsers.pdf.lines import Glyph, cell_lines
from vademecum.adapters.parsers.pdf.words import joined, tidy

_FEWEST_ROWS = 2
_FEWEST_COLUMNS = 2
_MOST_HEADER_ROWS = 4
# A field with more than that is a part of the page, not a cell; so is a table that holds few.
_LONGEST_CELL = 1_500
_FILLED_SHARE = 0.3
_NUMBER = regex.compile(r"[^\p{L}]*\d[^\p{L}]*(?:%|\p{Sc}|\p{L}{1,3})?")
_FEWEST_STACKS = 3
_SAME_LINE = 3.0  # points between baselines


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; `index` is the place of its first character in the file's order."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    header_rows: int
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    cell: Cell
    lines: tuple[tuple[float, str], ...]  # each with its middle, from the top of the page

    @property
    def text(self) -> str:
        whole = ""
        for _, line in self.lines:
            whole = joined(whole, line) if whole else line
        return whole


def table_in(grid: Grid, glyphs: Sequence[Glyph], text: str) -> Table | None:
    """Return the table that a grid holds, or None where it is but a box around text."""
    filled = _fill(grid, glyphs, text)
    if not filled or not _is_table(filled):
        return None
    width = len(grid.xs) - 1
    rows: list[tuple[str, ...]] = []
    header_rows = 0
    heads = _header_height(filled, width, len(grid.ys) - 1)
    for row in range(len(grid.ys) - 1):
        in_row = [item for item in filled if item.cell.row == row]
        if not in_row:
            continue
        if row < heads:
            header_rows += 1
            rows.append(_header_row(in_row, width))
        else:
            rows += _body_rows(in_row, width)
    bounds = grid.box
    inside = [glyph for glyph in glyphs if bounds.holds(*_middle(glyph))]
    return Table(
        box=bounds,
        rows=tuple(rows),
        header_rows=header_rows,
        index=min(glyph.place for glyph in inside),
    )


def _middle(glyph: Glyph) -> tuple[float, float]:
    box = glyph.box
    return (box.x0 + box.x1) / 2, (box.top + box.bottom) / 2


def _fill(grid: Grid, glyphs: Sequence[Glyph], text: str) -> list[_Filled]:
    """Put every character into the field around its middle."""
    owner: dict[tuple[int, int], int] = {}
    order = sorted(range(len(grid.cells)), key=lambda number: -grid.cells[number].box.area)
    for number in order:
        cell = grid.cells[number]
        for row in range(cell.row, cell.row_end):
            for column in range(cell.column, cell.column_end):
                owner[row, column] = number
    held: dict[int, list[Glyph]] = {}
    bounds = grid.box
    for glyph in glyphs:
        x, y = _middle(glyph)
        if bounds.holds(x, y):
            row = min(bisect_right(grid.ys, y), len(grid.ys) - 1) - 1
            column = min(bisect_right(grid.xs, x), len(grid.xs) - 1) - 1
            held.setdefault(owner[row, column], []).append(glyph)
    found = []
    for number in sorted(held):
        lines = []
        for middle, line in cell_lines(held[number], text):
            name = tidy(line)
            if name:
                lines.append((middle, name))
        if lines:
            found.append(_Filled(cell=grid.cells[number], lines=tuple(lines)))
    return found


def _is_table(filled: Sequence[_Filled]) -> bool:
    rows = {item.cell.row for item in filled}
    columns = {item.cell.column for item in filled}
    lines = max(len(item.lines) for item in filled)
    if len(columns) < _FEWEST_COLUMNS or (len(rows) < _FEWEST_ROWS and lines < _FEWEST_ROWS):
        return False
    if max(len(item.text) for item in filled) > _LONGEST_CELL:
        return False
    beside = [row for row in rows if sum(item.cell.row == row for item in filled) > 1]
    if len(rows) == 1:  # one row of fields: a table only if it holds rows of numbers
        return bool(_inner_rows(filled))
    return len(beside) >= max(1, _FILLED_SHARE * len(rows))


def _header_height(filled: Sequence[_Filled], width: int, height: int) -> int:
    """Return how many rows at the top name the columns: those that share a field with the first
    one, and those under fields that span columns."""
    end = 1
    row = 0
    while row < end < min(_MOST_HEADER_ROWS, height - 1):
        for item in filled:
            cell = item.cell
            if cell.row == row and (cell.column_end - cell.column) < width:
                end = max(end, cell.row_end)
                if cell.column_end - cell.column > 1:
                    end = max(end, row + 2)
            elif cell.row == row and row == 0:
                end = max(end, cell.row_end + 1)  # a title over the whole table
        row += 1
    return min(end, _MOST_HEADER_ROWS, max(1, height - 1))


def _header_row(filled: Sequence[_Filled], width: int) -> tuple[str, ...]:
    """A name that spans columns stands over each of them."""
    row = [""] * width
    for item in filled:
        cell = item.cell
        span = cell.column_end - cell.column
        for column in range(cell.column, cell.column_end if span < width else cell.column + 1):
            row[column] = item.text
    return tuple(row)


def _body_rows(filled: Sequence[_Filled], width: int) -> list[tuple[str, ...]]:
    inner = _inner_rows(filled)
    if not inner:
        row = [""] * width
        for item in filled:
            row[item.cell.column] = item.text
        return [tuple(row)]
    rows = [[""] * width for _ in inner]
    for item in filled:
        for middle, line in item.lines:
            nearest = min(range(len(inner)), key=lambda number: abs(inner[number] - middle))
            column = item.cell.column
            known = rows[nearest][column]
            rows[nearest][column] = joined(known, line) if known else line
    return [tuple(row) for row in rows]


def _inner_rows(filled: Sequence[_Filled]) -> list[float]:
    """Return where rows stand that no ruling parts: as many lines in every column, or numbers
    under each other, beside others."""
    stacked = [item.lines for item in filled]
    if len(stacked) >= _FEWEST_STACKS and len({len(lines) for lines in stacked}) == 1:
        places = [[middle for middle, _ in lines] for lines in stacked]
        if len(places[0]) >= _FEWEST_STACKS and all(
            abs(place - first) <= _SAME_LINE
            for column in places
            for place, first in zip(column, places[0], strict=True)
        ):
            return places[0]
    numbers = [
        item.lines
        for item in filled
        if len(item.lines) > 1
        and sum(bool(_NUMBER.fullmatch(line)) for _, line in item.lines) >= 0.7 * len(item.lines)
    ]
    if not numbers or len([item for item in filled if len(item.lines) > 1]) < _FEWEST_COLUMNS:
        return []
    longest = [middle for middle, _ in max(numbers, key=len)]
    for item in filled:
        near = sum(
            any(abs(middle - other) <= _SAME_LINE for other in longest) for middle, _ in item.lines
        )
        if near < 0.5 * min(len(item.lines), len(longest)):
            return []
    return longest
