"""Which printed lines does a page have, where does each stand, and in which type?"""

import ctypes
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from vademecum.adapters.parsers.pdf.frame import Box, Frame, union
from vademecum.adapters.parsers.pdf.ligatures import marked
from vademecum.adapters.parsers.pdf.words import LINE_HYPHENS

_FONT_NAME_BYTES = 128
_BOLD = 600
# Of the type size: a blank wider than that parts what stands beside each other.
_WIDE_GAP = 1.6
_RISE = 0.25
_LEAP_BACK = 2.5
_SMALLEST = 4.0
_FEWEST_STACKED = 4
_NONE: Mapping[int, Box] = {}
_WORD_GAP = 0.22


class Glyph(NamedTuple):
    """A character with its place in the text of its page, and on the page."""

    place: int
    char: str
    box: Box


class Word(NamedTuple):
    """Characters without a blank between them, with the place of the first."""

    place: int
    text: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A printed line, or the part of one that stands for itself beside others.

    `size` and `baseline` (from the page's top) are in points; `index` is its place in the order
    of the file, `row` the same for all parts of one line. `turned` lines run in another
    direction than the page's text; `parts` are what wide blanks part in it.
    """

    text: str
    box: Box
    size: float
    bold: bool
    baseline: float
    index: int
    row: int
    turned: bool = False
    parts: int = 1


class Type(NamedTuple):
    """How a character is set: size in points, weight, and the quarter to which it runs."""

    size: float
    bold: bool
    quarters: int


@dataclass(frozen=True, slots=True)
class TextPage:
    """The characters of a page as the library gives them. `text` may be shorter than their
    number; then `numbers` leads from a place in it to the character's number."""

    raw: pypdfium2.PdfTextPage
    text: str
    numbers: Sequence[int]
    raw_lines: tuple[tuple[int, int], ...]


def text_page_of(page: pypdfium2.PdfPage) -> TextPage:
    raw = page.get_textpage()
    text = raw.get_text_range()
    count = raw.count_chars()
    numbers: Sequence[int] = range(len(text))
    if len(text) != count:
        numbers = _numbers(raw, text, count)
    text = marked(text, lambda at: pdfium.FPDFText_HasUnicodeMapError(raw, numbers[at]) == 1)
    ranges = []
    position = 0
    for line in text.split("\n"):
        inner = line.strip()
        if inner:
            first = position + len(line) - len(line.lstrip())
            ranges.append((first, first + len(inner)))
        position += len(line) + 1
    return TextPage(raw, text, numbers, tuple(ranges))


def _numbers(raw: pypdfium2.PdfTextPage, text: str, count: int) -> list[int]:
    """The library counts UTF-16 units, and leaves characters out that have no Unicode."""
    numbers = []
    unit = 0
    for char in text:
        number = pdfium.FPDFText_GetCharIndexFromTextIndex(raw, unit)
        numbers.append(min(max(0, number), max(0, count - 1)))
        unit += 2 if ord(char) > 0xFFFF else 1  # the last of one unit
    return numbers


class Reader:
    """Reads places and types of characters into C values that are made once. `unseen` are the
    text objects that are left out, by address, with their places; `hidden` counts their letters.
    """

    def __init__(self, page: TextPage, frame: Frame, unseen: Mapping[int, Box] = _NONE) -> None:
        self.page = page
        self.frame = frame
        self.hidden = 0
        self._unseen = unseen
        self._everywhere = any(box.area <= 0 for box in unseen.values())
        self._corners = tuple(ctypes.c_double() for _ in range(4))
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
        self._flags = ctypes.c_int()

    def type_at(self, place: int) -> Type:
        raw, number = self.page.raw, self.page.numbers[place]
        matrix = self._matrix
        scale, quarters = 1.0, 0
        if pdfium.FPDFText_GetMatrix(raw, number, matrix):
            scale = math.hypot(matrix.c, matrix.d) or 1.0
            quarters = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
        size = abs(pdfium.FPDFText_GetFontSize(raw, number)) * scale
        return Type(round(size, 1), self._is_bold(number), quarters)

    def _is_bold(self, number: int) -> bool:
        raw = self.page.raw
        if pdfium.FPDFText_GetFontWeight(raw, number) >= _BOLD:
            return True
        pdfium.FPDFText_GetFontInfo(raw, number, self._name, _FONT_NAME_BYTES, self._flags)
        name = self._name.value.lower()
        return b"bold" in name or b"black" in name or b"heavy" in name

    def baseline_at(self, place: int) -> float:
        x, y = self._corners[0], self._corners[1]
        pdfium.FPDFText_GetCharOrigin(self.page.raw, self.page.numbers[place], x, y)
        return self.frame.point(x.value, y.value)[1]

    def rectangles(self, start: int, end: int) -> list[Box]:
        """Return the boxes of the stretches of which a line is made."""
        left, top, right, bottom = self._corners
        numbers = self.page.numbers
        raw, first = self.page.raw, numbers[start]
        boxes = []
        for index in range(pdfium.FPDFText_CountRects(raw, first, numbers[end - 1] + 1 - first)):
            pdfium.FPDFText_GetRect(raw, index, left, top, right, bottom)
            boxes.append(self.frame.box(left.value, bottom.value, right.value, top.value))
        return boxes

    def glyphs(self, start: int, end: int) -> list[Glyph]:
        """Return the seen characters of a stretch of the page's text, but for blanks."""
        left, top, right, bottom = self._corners
        raw, numbers, text = self.page.raw, self.page.numbers, self.page.text
        found = []
        for place in range(start, end):
            char = text[place]
            if char.isspace() or char == "\x00":
                continue
            if self._unseen and self._object_at(place) in self._unseen:
                self.hidden += 1
                continue
            pdfium.FPDFText_GetCharBox(raw, numbers[place], left, right, bottom, top)
            box = self.frame.box(left.value, bottom.value, right.value, top.value)
            found.append(Glyph(place, char, box))
        return found

    def may_hide(self, box: Box) -> bool:
        """Tell whether something that is left out stands there."""
        return self._everywhere or any(box.meets(other) for other in self._unseen.values())

    def _object_at(self, place: int) -> int:
        """Return the address of the text object that a character belongs to, or 0."""
        item = pdfium.FPDFText_GetTextObject(self.page.raw, self.page.numbers[place])
        return ctypes.addressof(item.contents) if item else 0


def quarters_of(page: TextPage, frame: Frame) -> int:
    """Return by how many quarters the page is to be turned for most of its text to be upright."""
    reader = Reader(page, frame)
    letters: Counter[int] = Counter()
    # A few lines tell: pages on which directions mix have one that is far more frequent.
    step = max(1, len(page.raw_lines) // 12)
    for start, end in page.raw_lines[::step]:
        letters[reader.type_at(start).quarters] += end - start
    return letters.most_common(1)[0][0] if letters else frame.quarters


def lines_of(
    reader: Reader, glyphs: Sequence[Glyph] | None = None, *, anew: bool = False
) -> list[Line]:
    """Return the lines of a page in the file's order. With `glyphs`, only these characters of the
    page are read; `anew` sets the blanks by the places of the letters."""
    lines: list[Line] = []
    first = 0
    for row, (start, end) in enumerate(reader.page.raw_lines):
        if glyphs is None:
            line = _plain_line(reader, start, end, row)
            if line is not None:
                lines.append(line)
            else:
                lines += _parts(reader, reader.glyphs(start, end), row, anew=anew)
            continue
        while first < len(glyphs) and glyphs[first].place < start:
            first += 1
        last = first
        while last < len(glyphs) and glyphs[last].place < end:
            last += 1
        lines += _parts(reader, glyphs[first:last], row, anew=anew)
        first = last
    return lines


def _plain_line(reader: Reader, start: int, end: int, row: int) -> Line | None:
    """Return a line of which no part stands for itself, else None."""
    if LINE_HYPHENS.search(reader.page.text, start, end):
        return None
    boxes = reader.rectangles(start, end)
    if not boxes:
        return None
    box = boxes[0] if len(boxes) == 1 else union(boxes)
    if reader.may_hide(box):
        return None
    first = reader.type_at(start)
    last = first if len(boxes) == 1 else reader.type_at(end - 1)
    turned = first.quarters != reader.frame.quarters
    gap = _WIDE_GAP * max(last.size, 1.0)
    for before, after in pairwise(boxes):
        if after.x0 - before.x1 > gap and not turned:
            return None
    if not turned and box.height > 2 * max(first.size, last.size, 4.0):
        return None
    return Line(
        text=reader.page.text[start:end],
        box=box,
        size=_size(reader, first, last, (start + end) // 2),
        bold=first.bold and last.bold,
        baseline=reader.baseline_at(start),
        index=start,
        row=row,
        turned=turned,
    )


def _size(reader: Reader, first: Type, last: Type, middle: int) -> float:
    """A bullet at a line's start and a note's number at its end are of another size."""
    return first.size if first.size == last.size else reader.type_at(middle).size


def _parts(reader: Reader, glyphs: Sequence[Glyph], row: int, *, anew: bool) -> Iterator[Line]:
    """Part a line at wide blanks, and where it goes on in the next one."""
    if not glyphs:
        return
    size = max(reader.type_at(glyphs[0].place).size, _SMALLEST)
    held: list[Glyph] = []
    top, bottom = glyphs[0].box.top, glyphs[0].box.bottom
    for glyph in glyphs:
        box = glyph.box
        if held and (
            box.top > bottom + _RISE * size
            or box.bottom < top - _RISE * size
            or _parted(held[-1], glyph, size)
        ):
            yield _line(reader, held, row, anew=anew)
            held = []
        if not held:
            top, bottom = box.top, box.bottom
        elif box.top < top or box.bottom > bottom:
            top, bottom = min(top, box.top), max(bottom, box.bottom)
        held.append(glyph)
    yield _line(reader, held, row, anew=anew)


def _parted(last: Glyph, glyph: Glyph, size: float) -> bool:
    """Tell whether a character stands far to the right of the one before, or back to its left."""
    between = glyph.box.x0 - last.box.x1
    return (
        between > _WIDE_GAP * size
        or between < -_LEAP_BACK * size
        or (between < 0 and LINE_HYPHENS.match(last.char) is not None)
    )


def _line(reader: Reader, glyphs: Sequence[Glyph], row: int, *, anew: bool) -> Line:
    first, last = glyphs[0], glyphs[-1]
    opening, closing = reader.type_at(first.place), reader.type_at(last.place)
    boxes = [glyph.box for glyph in glyphs if glyph.box.width or glyph.box.height]
    return Line(
        text=_spaced_anew(glyphs, opening.size) if anew else _text(glyphs, reader.page.text),
        box=union(boxes or [first.box]),
        size=_size(reader, opening, closing, glyphs[len(glyphs) // 2].place),
        bold=opening.bold and closing.bold,
        baseline=reader.baseline_at(first.place),
        index=first.place,
        row=row,
        turned=opening.quarters != reader.frame.quarters,
    )


def _text(glyphs: Sequence[Glyph], text: str) -> str:
    """Return the text of characters, with blanks where the page's text has them."""
    parts = [glyphs[0].char]
    for before, glyph in pairwise(glyphs):
        between = text[before.place + 1 : glyph.place]
        # A blank, or something that stands elsewhere or is not seen.
        parts.append(f" {glyph.char}" if between.strip("\x00") else glyph.char)
    return "".join(parts)


def cell_lines(glyphs: Sequence[Glyph], text: str) -> list[tuple[float, str]]:
    """Return the lines of a cell's characters from its top downwards, each with its middle."""
    lines: list[list[Glyph]] = []
    top = bottom = 0.0
    for glyph in glyphs:
        box = glyph.box
        slack = 0.35 * max(bottom - top, _SMALLEST)
        if lines and top - slack <= (box.top + box.bottom) / 2 <= bottom + slack:
            lines[-1].append(glyph)
            top, bottom = min(top, box.top), max(bottom, box.bottom)
        else:
            lines.append([glyph])
            top, bottom = box.top, box.bottom
    if len(lines) >= _FEWEST_STACKED and len(glyphs) <= 2 * len(lines):
        # Letters that stand on top of each other are of a text that is turned.
        middle = sum(g.box.top + g.box.bottom for g in glyphs) / (2 * len(glyphs))
        return [(middle, _text(glyphs, text))]
    placed = [
        (sum(g.box.top + g.box.bottom for g in line) / (2 * len(line)), _text(line, text))
        for line in lines
    ]
    return sorted(placed, key=lambda line: line[0])


def words_of(glyphs: Sequence[Glyph], text: str, size: float) -> list[Word]:
    """Return the words of a line from its left."""
    groups: list[list[Glyph]] = []
    for glyph in glyphs:
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and not text[last.place + 1 : glyph.place].strip("\x00")
            and -size < glyph.box.x0 - last.box.x1 < _WIDE_GAP * size
        ):
            groups[-1].append(glyph)
        else:
            groups.append([glyph])
    words = [
        Word(
            group[0].place,
            "".join(glyph.char for glyph in group),
            union([glyph.box for glyph in group]),
        )
        for group in groups
    ]
    return sorted(words, key=lambda word: word.box.x0)


def _spaced_anew(glyphs: Sequence[Glyph], size: float) -> str:
    """Return a line's text with its blanks where the places of the letters show them."""
    parts = [glyphs[0].char]
    for before, glyph in pairwise(glyphs):
        wide = glyph.box.x0 - before.box.x1 > _WORD_GAP * size
        parts.append(f" {glyph.char}" if wide else glyph.char)
    return "".join(parts)
