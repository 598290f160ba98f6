"""Which cells do the rulings of a page enclose?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vademecum.adapters.parsers.pdf.drawn import Edge
from vademecum.adapters.parsers.pdf.frame import Box

_SNAP = 3.0  # points: rulings nearer than that are one
_REACH = 4.0  # how far a ruling may end before the one that it meets
_MOST_EDGES = 1_000  # more are a drawing
_MOST_FIELDS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An enclosed field: the rows `row` to `row_end` and columns `column` to `column_end` of its
    grid, the ends left out."""

    row: int
    row_end: int
    column: int
    column_end: int
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Cells that hang together, in the order of rows. `xs` and `ys` are the places of the
    rulings."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[Cell, ...]

    @property
    def box(self) -> Box:
        return Box(self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])


def grids_of(horizontal: Sequence[Edge], vertical: Sequence[Edge]) -> list[Grid]:
    """Return the grids that rulings make, from the top of the page downwards."""
    across, down = _merged(horizontal), _merged(vertical)
    if not 2 <= len(across) + len(down) <= _MOST_EDGES:
        return []
    grids = []
    for rows, columns in _components(across, down):
        if len(rows) + len(columns) >= 4 and columns:  # two rows or columns
            grid = _grid(rows, columns)
            if grid is not None:
                grids.append(grid)
    return sorted(grids, key=lambda grid: grid.ys[0])


def _merged(edges: Iterable[Edge]) -> list[Edge]:
    """Snap rulings that are nearly at one place, and join those that go on in each other."""
    lines: list[list[Edge]] = []
    for edge in sorted(edges):
        if lines and edge.at - lines[-1][-1].at <= _SNAP and edge.at - lines[-1][0].at <= 2 * _SNAP:
            lines[-1].append(edge)
        else:
            lines.append([edge])
    merged = []
    for line in lines:
        at = sum(edge.at for edge in line) / len(line)
        start, end = float("inf"), float("-inf")
        for edge in sorted(line, key=lambda edge: edge.start):
            if edge.start > end + _SNAP:
                if end > start:
                    merged.append(Edge(at, start, end))
                start, end = edge.start, edge.end
            else:
                end = max(end, edge.end)
        if end > start:
            merged.append(Edge(at, start, end))
    return merged


def _components(
    across: Sequence[Edge], down: Sequence[Edge]
) -> list[tuple[list[Edge], list[Edge]]]:
    """Group rulings that touch each other, straight or over others."""
    leader = list(range(len(across) + len(down)))
    for row, level in enumerate(across):
        for column, pillar in enumerate(down):
            if (
                level.start - _REACH <= pillar.at <= level.end + _REACH
                and pillar.start - _REACH <= level.at <= pillar.end + _REACH
            ):
                leader[_leader(leader, row)] = _leader(leader, len(across) + column)
    groups: dict[int, tuple[list[Edge], list[Edge]]] = {}
    for item in range(len(leader)):
        group = groups.setdefault(_leader(leader, item), ([], []))
        if item < len(across):
            group[0].append(across[item])
        else:
            group[1].append(down[item - len(across)])
    return list(groups.values())


def _leader(leader: list[int], item: int) -> int:
    """Return who stands for an item's group, shortening the way to it."""
    while leader[item] != item:
        leader[item] = leader[leader[item]]
        item = leader[item]
    return item


def _grid(rows: list[Edge], columns: list[Edge]) -> Grid | None:
    """Divide the rulings' bounds into fields, and join those with no ruling between them."""
    xs = _places([c.at for c in columns], [r.start for r in rows], [r.end for r in rows])
    ys = _places([r.at for r in rows], [c.start for c in columns], [c.end for c in columns])
    width, height = len(xs) - 1, len(ys) - 1
    if width < 1 or height < 1 or width * height > _MOST_FIELDS:
        return None
    leader = list(range(width * height))
    for column in range(1, width):
        pillars = [edge for edge in columns if abs(edge.at - xs[column]) <= _SNAP]
        for row in range(height):
            if not _covers(pillars, ys[row], ys[row + 1]):
                field = row * width + column
                leader[_leader(leader, field - 1)] = _leader(leader, field)
    for row in range(1, height):
        levels = [edge for edge in rows if abs(edge.at - ys[row]) <= _SNAP]
        for column in range(width):
            if not _covers(levels, xs[column], xs[column + 1]):
                field = row * width + column
                leader[_leader(leader, field - width)] = _leader(leader, field)
    fields: dict[int, list[tuple[int, int]]] = {}
    for field in range(width * height):
        fields.setdefault(_leader(leader, field), []).append(divmod(field, width))
    cells = [_cell(group, xs, ys) for group in fields.values()]
    cells.sort(key=lambda cell: (cell.row, cell.column))
    return Grid(xs=tuple(xs), ys=tuple(ys), cells=tuple(cells))


def _cell(fields: list[tuple[int, int]], xs: list[float], ys: list[float]) -> Cell:
    row, row_end = min(row for row, _ in fields), max(row for row, _ in fields) + 1
    column, column_end = min(c for _, c in fields), max(c for _, c in fields) + 1
    return Cell(
        row=row,
        row_end=row_end,
        column=column,
        column_end=column_end,
        box=Box(xs[column], ys[row], xs[column_end], ys[row_end]),
    )


def _places(rulings: list[float], starts: list[float], ends: list[float]) -> list[float]:
    """Return where the grid's lines stand; its outer ones may be only the ends of others."""
    found = sorted(rulings)
    low, high = min(starts, default=0.0), max(ends, default=0.0)
    if not found or low < found[0] - 2 * _REACH:
        found.insert(0, low)
    if high > found[-1] + 2 * _REACH:
        found.append(high)
    places = [found[0]]
    for place in found[1:]:
        if place - places[-1] > _SNAP:
            places.append(place)
    return places


def _covers(edges: list[Edge], start: float, end: float) -> bool:
    slack = min(_REACH, 0.3 * (end - start))
    return any(edge.start - slack <= start and end <= edge.end + slack for edge in edges)
