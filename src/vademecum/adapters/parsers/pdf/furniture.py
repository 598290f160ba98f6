"""Which lines stand at the edge of page after page, and are none of the text?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from vademecum.adapters.parsers.pdf.columns import Item
from vademecum.adapters.parsers.pdf.lines import Line

_EDGE_SHARE = 0.08  # of the page's height, at its top and bottom
# Lines that are equal to the letter and the point may stand further in.
_WIDE_EDGE_SHARE = 0.16
_REPEATED_SHARE = 0.6
_FEWEST_PAGES = 2
_FEWEST_OF_ONE_SIDE = 3  # of the even or the odd pages
_LARGER = 1.12
_DIGITS = regex.compile(r"\d+")
_WORD = regex.compile(r"\p{L}{3}")
_ROMAN = regex.compile(r"\W*[ivxlc]{1,7}\W*", regex.I)
_ROW_STEP = 2.4  # of the type size: a row of a table is no further from the one above


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What stands on one page, which has a number counted from 0 and a height in points."""

    number: int
    height: float
    items: tuple[Item, ...]


def without_furniture(sheets: Sequence[Sheet], body: float) -> tuple[list[list[Item]], int]:
    """Return what is left of each page, and how many lines repeated at the edges were left out.

    Of a line in type larger than the body's the one on the first page stays: it may be the title.
    """
    marks = [_marks(sheet) for sheet in sheets]
    repeated = _repeated(sheets, marks)
    kept: list[list[Item]] = []
    dropped = 0
    seen: set[str] = set()
    for sheet, names in zip(sheets, marks, strict=True):
        stays = []
        for item in sheet.items:
            name = next((n for n in names.get(id(item), ()) if n in repeated), None)
            if name is None:
                stays.append(item)
            elif (
                sheet.number == 0
                and isinstance(item, Line)
                and item.size > _LARGER * body
                and _WORD.search(item.text)
                and name not in seen
            ):
                stays.append(item)
                seen.add(name)
            else:
                dropped += 1
        kept.append(stays)
    return kept, dropped


def _marks(sheet: Sheet) -> dict[int, tuple[str, ...]]:
    """Return what a line at the edge is known by: its words without numbers, or words and place."""
    marks: dict[int, tuple[str, ...]] = {}
    lines = [item for item in sheet.items if isinstance(item, Line)]
    for line in lines:
        place = (line.box.top + line.box.bottom) / 2 / (sheet.height or 1.0)
        inner = min(place, 1 - place)
        if inner > _WIDE_EDGE_SHARE or _is_row(line, lines):
            continue
        side = "top" if place < 1 / 2 else "bottom"
        exact = f"{side} {line.text} {line.box.x0:.0f} {line.box.top:.0f}"
        if inner <= _EDGE_SHARE:
            loose = "0" if _ROMAN.fullmatch(line.text) else _DIGITS.sub("0", line.text)
            marks[id(line)] = (f"{side} {loose}", exact)
        else:
            marks[id(line)] = (exact,)
    return marks


def _is_row(line: Line, lines: Sequence[Line]) -> bool:
    """Tell whether a line goes on with a table's rows: as many numbers as the line above it."""
    numbers = len(_DIGITS.findall(line.text))
    if numbers < 2:
        return False
    for other in lines:
        step = line.baseline - other.baseline
        if (
            0 < step <= _ROW_STEP * max(line.size, 1.0)
            and len(_DIGITS.findall(other.text)) >= numbers - 1
            and abs(line.size - other.size) < 0.5
        ):
            return True
    return False


def _repeated(sheets: Sequence[Sheet], marks: Sequence[dict[int, tuple[str, ...]]]) -> set[str]:
    if len(sheets) < _FEWEST_PAGES:
        return set()
    found: set[str] = set()
    every = list(zip(sheets, marks, strict=True))
    for fewest, chosen in (
        (_FEWEST_PAGES, every),
        (_FEWEST_OF_ONE_SIDE, [pair for pair in every if pair[0].number % 2 == 0]),
        (_FEWEST_OF_ONE_SIDE, [pair for pair in every if pair[0].number % 2 == 1]),
    ):
        pages = sum(bool(sheet.items) for sheet, _ in chosen)
        counted = Counter(
            name for _, names in chosen for name in {n for known in names.values() for n in known}
        )
        found |= {
            name for name, count in counted.items() if count >= max(fewest, _REPEATED_SHARE * pages)
        }
    return found
