"""In which order does a reader take the lines of a page, where the file's own order is wrong?

The order of the file is kept unless it leaps between columns, or up the page, again and again.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from vademecum.adapters.parsers.pdf.frame import Box, union
from vademecum.adapters.parsers.pdf.lines import Line
from vademecum.adapters.parsers.pdf.tables import Table

Item = Line | Table

_FEWEST_LINES = 3  # on each side of a gutter
_GUTTER = 7.0  # points
_MOST_CROSSING = 0.35
_BESIDE = 0.3  # of the lower side's height
_PROSE_LETTERS = 18  # a line of a column holds that many, a cell of a table fewer
_PROSE_SHARE = 0.6
_LEAPS_UP = 0.3
_MOST_ITEMS = 3_000
_NO_BLANK = 0.1  # of the type size


def in_reading_order(items: Sequence[Item]) -> list[Item]:
    """Return a page's lines and tables in reading order, parts of one line joined again where
    they do not belong to columns."""
    if len(items) > _MOST_ITEMS or not _is_doubtful(items):
        return _rejoined(items)
    gutter = _gutter([item.box for item in items if isinstance(item, Line) and not item.turned])
    if gutter is not None:
        ordered: list[Item] = []
        for band, parted in _bands(items, gutter):
            if parted and _leaps(band, gutter) and _is_prose(band, gutter):
                left = [item for item in band if item.box.x0 < gutter]
                right = [item for item in band if item.box.x0 >= gutter]
                # Parts beside each other are of two columns now, not of one line.
                ordered += _rejoined(left)
                ordered += in_reading_order([_unlinked(item) for item in right])
            else:
                ordered += _rejoined(band)
        return ordered
    return _rejoined(_downwards(items))


def _is_doubtful(items: Sequence[Item]) -> bool:
    """Tell whether the file's order goes sidewards or upwards more than once."""
    leaps = 0
    for before, after in pairwise(items):
        last, box = before.box, after.box
        if box.bottom < last.top or (box.x0 > last.x1 and box.top < last.bottom):
            leaps += 1
    return leaps > 1


def _unlinked(item: Item) -> Item:
    return replace(item, row=-1 - item.row) if isinstance(item, Line) else item


def _gutter(boxes: list[Box]) -> float | None:
    """Return the middle of a blank stripe that most lines do not cross, with lines on both
    sides beside each other."""
    if len(boxes) < 2 * _FEWEST_LINES:
        return None
    whole = union(boxes)
    best: tuple[float, float] | None = None
    ends = sorted({round(box.x1, 1) for box in boxes})
    if len(ends) > 200:  # ragged lines: near ends stand for each other
        ends = ends[:: len(ends) // 200 + 1]
    for end in ends:
        if not whole.x0 + 0.15 * whole.width < end < whole.x0 + 0.85 * whole.width:
            continue
        middle = end + _GUTTER / 2
        crossing = [box for box in boxes if box.x0 < end + _GUTTER and box.x1 > end]
        left = [box for box in boxes if box.x1 <= end]
        right = [box for box in boxes if box.x0 >= end + _GUTTER]
        if min(len(left), len(right)) < _FEWEST_LINES:
            continue
        share = len(crossing) / len(boxes)
        if share > _MOST_CROSSING or not _beside(left, right):
            continue
        if best is None or share < best[0]:
            best = share, middle
    return best[1] if best else None


def _beside(left: list[Box], right: list[Box]) -> bool:
    tops = min(box.top for box in left), min(box.top for box in right)
    bottoms = max(box.bottom for box in left), max(box.bottom for box in right)
    lower = min(bottoms[0] - tops[0], bottoms[1] - tops[1])
    return min(bottoms) - max(tops) > _BESIDE * lower


def _bands(items: Sequence[Item], gutter: float) -> list[tuple[list[Item], bool]]:
    """Part the page at what crosses the gutter: stretches of columns, and what stands between."""
    crossing = sorted(
        (item for item in items if item.box.x0 < gutter - _GUTTER / 2 and item.box.x1 > gutter),
        key=lambda item: item.box.top,
    )
    columns = [item for item in items if not any(item is other for other in crossing)]
    if not _leaps(columns, gutter):
        return [(list(items), False)]
    bands: list[tuple[list[Item], bool]] = []
    rest = columns
    for item in crossing:
        middle = (item.box.top + item.box.bottom) / 2
        above = [other for other in rest if (other.box.top + other.box.bottom) / 2 < middle]
        if above:
            bands.append((above, True))
            rest = [other for other in rest if not any(other is known for known in above)]
        bands.append(([item], False))
    if rest:
        bands.append((rest, True))
    return bands


def _leaps(items: Sequence[Item], gutter: float) -> bool:
    """Tell whether the file's order goes back to the left column again and again."""
    sides = [item.box.x0 >= gutter for item in items]
    back = sum(before and not after for before, after in pairwise(sides))
    return back >= 2 and back > 0.2 * min(sides.count(True), sides.count(False))


def _is_prose(items: Sequence[Item], gutter: float) -> bool:
    """Tell whether both sides hold running text. Short texts beside each other are rows."""
    for side in (True, False):
        lines = [
            item for item in items if isinstance(item, Line) and (item.box.x0 >= gutter) is side
        ]
        long = sum(len(line.text) >= _PROSE_LETTERS for line in lines)
        if not lines or long < _PROSE_SHARE * len(lines):
            return False
    return True


def _downwards(items: Sequence[Item]) -> Sequence[Item]:
    """Sort a page of one column from its top where the file's order leaps about."""
    upright = [item for item in items if isinstance(item, Table) or not item.turned]
    ups = sum(
        after.box.bottom < before.box.top
        and after.box.x0 < before.box.x1
        and before.box.x0 < after.box.x1
        for before, after in pairwise(upright)
    )
    if len(upright) < 2 * _FEWEST_LINES or ups <= _LEAPS_UP * len(upright):
        return items
    rows: dict[int, list[Item]] = {}
    for item in items:
        rows.setdefault(item.row if isinstance(item, Line) else -1 - item.index, []).append(item)
    return [
        item
        for row in sorted(rows.values(), key=lambda row: min(item.box.top for item in row))
        for item in row
    ]


def _rejoined(items: Sequence[Item]) -> list[Item]:
    """Join parts of one printed line that follow each other."""
    joined: list[Item] = []
    for item in items:
        last = joined[-1] if joined else None
        if (
            isinstance(item, Line)
            and isinstance(last, Line)
            and item.row == last.row
            and abs(item.baseline - last.baseline) < 0.5 * max(item.size, 1.0)
            and item.box.x0 >= last.box.x0
        ):
            blank = " " if item.box.x0 - last.box.x1 > _NO_BLANK * item.size else ""
            joined[-1] = replace(
                last,
                text=f"{last.text}{blank}{item.text}",
                box=union([last.box, item.box]),
                bold=last.bold and item.bold,
                parts=last.parts + item.parts,
            )
        else:
            joined.append(item)
    return joined
