"""What is drawn on a page: rulings, filled boxes and images; and which of its text is not seen?

One walk over the page's objects, in the order in which they are painted.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from vademecum.adapters.parsers.pdf.frame import Box, Frame

Colour = tuple[int, int, int]
Matrix = tuple[float, float, float, float, float, float]

_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_WHITE: Colour = (255, 255, 255)
_OPAQUE = 255
_MOST_OBJECTS = 60_000
_MOST_PATHS = 8_000  # more is a drawing or a map, not a table
_MOST_SEGMENTS = 4_000
_MOST_FILLS = 2_000
_NEAR_FILLS = 12
_MOST_COMPARED = 400_000  # pairs of a box and a text that it may cover, on one page
_DEEPEST = 8
_THIN = 3.0  # points: a box no higher or no wider is a line
_SHORTEST = 6.0
_SAME_COLOUR = 6  # of 255, in each channel
_SMALLEST_TYPE = 1.0
_OFF_PAGE = 1.0
_RECTANGLE_SEGMENTS = range(4, 7)


class Edge(NamedTuple):
    """A straight ruling: at `at`, from `start` to `end`, points."""

    at: float
    start: float
    end: float


@dataclass(slots=True, kw_only=True)
class Drawn:
    """What a page holds. `unseen` maps the address of a text object to why it is not seen:
    invisible, background, tiny, outside or covered; `grounds` are the colours of filled boxes."""

    horizontal: list[Edge] = field(default_factory=list)
    vertical: list[Edge] = field(default_factory=list)
    fills: list[tuple[Box, Colour | None]] = field(default_factory=list)
    images: list[Box] = field(default_factory=list)
    unseen: dict[int, str] = field(default_factory=dict)
    texts: list[tuple[int, Box]] = field(default_factory=list)
    grounds: set[Colour] = field(default_factory=set)
    paths: int = 0
    compared: int = 0


def drawn_on(page: pypdfium2.PdfPage, frame: Frame) -> Drawn:
    """Walk over a page's objects and those of its forms."""
    drawn = Drawn()
    pen = _Pen(frame)
    for count, (address, kind, item, matrix) in enumerate(_objects(page)):
        if count > _MOST_OBJECTS:
            break
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            pen.text(drawn, address, item, matrix)
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            pen.path(drawn, item, matrix)
        elif kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING):
            box = pen.bounds(item, matrix)
            if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                drawn.images.append(box)
            drawn.fills.append((box, None))
    return drawn


def _objects(page: pypdfium2.PdfPage) -> Iterator[tuple[int, int, object, Matrix]]:
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        item = pdfium.FPDFPage_GetObject(page, index)
        if item:
            yield from _with_inner(item, _IDENTITY, 0)


def _with_inner(
    item: object, matrix: Matrix, depth: int
) -> Iterator[tuple[int, int, object, Matrix]]:
    kind = pdfium.FPDFPageObj_GetType(item)
    if kind != pdfium.FPDF_PAGEOBJ_FORM:
        yield ctypes.addressof(item.contents), kind, item, matrix  # type: ignore[attr-defined]
        return
    if depth >= _DEEPEST:
        return
    own = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(item, own)
    inner = _product((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
    for index in range(max(0, pdfium.FPDFFormObj_CountObjects(item))):
        part = pdfium.FPDFFormObj_GetObject(item, index)
        if part:
            yield from _with_inner(part, inner, depth + 1)


def _product(first: Matrix, then: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return (
        a * p + b * r, a * q + b * s,
        c * p + d * r, c * q + d * s,
        e * p + f * r + t, e * q + f * s + u,
    )  # fmt: skip


def _apply(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


class _Pen:
    """Reads single objects into C values that are made once, because there are many objects."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._page = Box(0.0, 0.0, frame.width, frame.height)
        self._corners = tuple(ctypes.c_float() for _ in range(4))
        self._channels = tuple(ctypes.c_uint() for _ in range(4))
        self._mode, self._stroke = ctypes.c_int(), ctypes.c_int()

    def bounds(self, item: object, matrix: Matrix) -> Box:
        left, bottom, right, top = self._corners
        if not pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
            return Box(0.0, 0.0, 0.0, 0.0)
        if matrix is _IDENTITY:
            return self._frame.box(left.value, bottom.value, right.value, top.value)
        corners = [
            self._frame.point(*_apply(matrix, x, y))
            for x in (left.value, right.value)
            for y in (bottom.value, top.value)
        ]
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        return Box(min(xs), min(ys), max(xs), max(ys))

    def colour(self, item: object, *, stroke: bool) -> tuple[Colour, int] | None:
        """Return the colour and its opacity (0..255), or None where a pattern stands for it."""
        read = pdfium.FPDFPageObj_GetStrokeColor if stroke else pdfium.FPDFPageObj_GetFillColor
        red, green, blue, alpha = self._channels
        if not read(item, red, green, blue, alpha):
            return None
        return (red.value, green.value, blue.value), alpha.value

    def text(self, drawn: Drawn, address: int, item: object, matrix: Matrix) -> None:
        box = self.bounds(item, matrix)
        drawn.texts.append((address, box))
        mode = pdfium.FPDFTextObj_GetTextRenderMode(item)
        if mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE:
            drawn.unseen[address] = "invisible"
        elif box.area > 0 and not self._on_page(box):
            drawn.unseen[address] = "outside"
        elif box.height < 1.5 * _SMALLEST_TYPE and self._type_size(item, matrix) < _SMALLEST_TYPE:
            drawn.unseen[address] = "tiny"
        elif mode in (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_STROKE):
            painted = self.colour(item, stroke=mode == pdfium.FPDF_TEXTRENDERMODE_STROKE)
            if painted is not None and (painted[1] == 0 or _is_lost(drawn, painted[0], box)):
                drawn.unseen[address] = "background"

    def _on_page(self, box: Box) -> bool:
        page = self._page
        return (
            box.x1 > page.x0 + _OFF_PAGE
            and box.x0 < page.x1 - _OFF_PAGE
            and box.bottom > page.top + _OFF_PAGE
            and box.top < page.bottom - _OFF_PAGE
        )

    def _type_size(self, item: object, matrix: Matrix) -> float:
        size, own = ctypes.c_float(), pdfium.FS_MATRIX()
        pdfium.FPDFTextObj_GetFontSize(item, size)
        pdfium.FPDFPageObj_GetMatrix(item, own)
        whole = _product((own.a, own.b, own.c, own.d, 0.0, 0.0), matrix)
        height: float = abs(size.value) * (whole[2] ** 2 + whole[3] ** 2) ** 0.5
        return height

    def path(self, drawn: Drawn, item: object, matrix: Matrix) -> None:
        drawn.paths += 1
        if drawn.paths > _MOST_PATHS:
            return
        box = self.bounds(item, matrix)
        pdfium.FPDFPath_GetDrawMode(item, self._mode, self._stroke)
        filled, stroked = self._mode.value != pdfium.FPDF_FILLMODE_NONE, bool(self._stroke.value)
        if not (filled or stroked) or not self._on_page(box):
            return
        segments = pdfium.FPDFPath_CountSegments(item)
        fill = self.colour(item, stroke=False) if filled else None
        # A box in the colour of the one around it shows no edges.
        nested = not stroked and fill is not None and _is_nested(drawn, box, fill[0])
        if filled and segments in _RECTANGLE_SEGMENTS:
            self._fill(drawn, item, box, fill)
        else:
            self._other_ground(drawn, item, box)
        if not nested and self._seen(item, box, fill, stroked=stroked):
            self._rulings(drawn, item, matrix, box, segments)

    def _seen(
        self, item: object, box: Box, fill: tuple[Colour, int] | None, *, stroked: bool
    ) -> bool:
        if stroked:
            stroke = self.colour(item, stroke=True)
            if stroke is None or (stroke[1] > 0 and not _alike(stroke[0], _WHITE)):
                return True
        if box.area > 0.6 * self._page.area:
            return False  # the page's own background
        return fill is not None and fill[1] > 0 and not _alike(fill[0], _WHITE)

    def _fill(self, drawn: Drawn, item: object, box: Box, fill: tuple[Colour, int] | None) -> None:
        """Note a filled rectangle, and which texts it covers."""
        if min(box.width, box.height) <= _THIN:
            return
        if fill is None or fill[1] < _OPAQUE or pdfium.FPDFPageObj_HasTransparency(item):
            drawn.fills.append((box, None))
            return
        drawn.fills.append((box, fill[0]))
        drawn.grounds.add(fill[0])
        clip = pdfium.FPDFPageObj_GetClipPath(item)
        if clip and pdfium.FPDFClipPath_CountPaths(clip) > 0:
            return  # what is seen of it may be less than its box
        drawn.compared += len(drawn.texts)
        if drawn.compared > _MOST_COMPARED:
            return
        for address, text in drawn.texts:
            if text.area > 0 and box.around(text):
                drawn.unseen.setdefault(address, "covered")

    def _other_ground(self, drawn: Drawn, item: object, box: Box) -> None:
        """Note what is of another form, or a thick line: text may stand on it in any colour."""
        width = ctypes.c_float()
        if min(box.width, box.height) <= _THIN:
            pdfium.FPDFPageObj_GetStrokeWidth(item, width)
            if width.value <= _THIN:
                return
        half = width.value / 2
        drawn.fills.append(
            (Box(box.x0 - half, box.top - half, box.x1 + half, box.bottom + half), None)
        )

    def _rulings(self, drawn: Drawn, item: object, matrix: Matrix, box: Box, segments: int) -> None:
        if box.height <= _THIN or box.width <= _THIN:
            _add_edge(drawn, box)
        elif segments in _RECTANGLE_SEGMENTS and self._is_rectangle(item, segments):
            for side in (
                Box(box.x0, box.top, box.x1, box.top),
                Box(box.x0, box.bottom, box.x1, box.bottom),
                Box(box.x0, box.top, box.x0, box.bottom),
                Box(box.x1, box.top, box.x1, box.bottom),
            ):
                _add_edge(drawn, side)
        elif segments <= _MOST_SEGMENTS:
            for start, end in self._strokes(item, matrix, segments):
                _add_edge(
                    drawn,
                    Box(
                        min(start[0], end[0]), min(start[1], end[1]),
                        max(start[0], end[0]), max(start[1], end[1]),
                    ),
                )  # fmt: skip

    def _is_rectangle(self, item: object, segments: int) -> bool:
        kinds = {
            pdfium.FPDFPathSegment_GetType(pdfium.FPDFPath_GetPathSegment(item, index))
            for index in range(1, segments)
        }
        return kinds == {pdfium.FPDF_SEGMENT_LINETO}

    def _strokes(
        self, item: object, matrix: Matrix, segments: int
    ) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
        own = pdfium.FS_MATRIX()
        pdfium.FPDFPageObj_GetMatrix(item, own)
        whole = _product((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        x, y = self._corners[0], self._corners[1]
        last = begun = (0.0, 0.0)
        for index in range(segments):
            segment = pdfium.FPDFPath_GetPathSegment(item, index)
            pdfium.FPDFPathSegment_GetPoint(segment, x, y)
            point = self._frame.point(*_apply(whole, x.value, y.value))
            kind = pdfium.FPDFPathSegment_GetType(segment)
            if kind == pdfium.FPDF_SEGMENT_MOVETO:
                begun = point
            elif kind == pdfium.FPDF_SEGMENT_BEZIERTO:
                return  # a drawing
            else:
                yield last, point
                if pdfium.FPDFPathSegment_GetClose(segment):
                    yield point, begun
            last = point


def _add_edge(drawn: Drawn, box: Box) -> None:
    if box.height <= _THIN and box.width >= max(_SHORTEST, box.height):
        drawn.horizontal.append(Edge((box.top + box.bottom) / 2, box.x0, box.x1))
    elif box.width <= _THIN and box.height >= _SHORTEST:
        drawn.vertical.append(Edge((box.x0 + box.x1) / 2, box.top, box.bottom))


def _alike(colour: Colour, other: Colour | None) -> bool:
    return other is not None and all(
        abs(mine - theirs) <= _SAME_COLOUR for mine, theirs in zip(colour, other, strict=True)
    )


def _is_nested(drawn: Drawn, box: Box, fill: Colour) -> bool:
    return any(
        under.around(box) and under.area > box.area and _alike(fill, colour)
        for under, colour in reversed(drawn.fills[-_NEAR_FILLS:])
    )


def _is_lost(drawn: Drawn, colour: Colour, box: Box) -> bool:
    """Tell whether a text has the colour of its ground. Few colours are those of a ground."""
    if not _alike(colour, _WHITE) and not any(_alike(colour, ground) for ground in drawn.grounds):
        return False
    return _alike(colour, _background(drawn, box))


def _background(drawn: Drawn, box: Box) -> Colour | None:
    """Return the colour of what was painted last under a text; None where it is not plain."""
    if len(drawn.fills) > _MOST_FILLS:
        return None
    x, y = (box.x0 + box.x1) / 2, (box.top + box.bottom) / 2
    return next((fill for under, fill in reversed(drawn.fills) if under.holds(x, y)), _WHITE)


def image_covers(drawn: Drawn, frame: Frame, share: float) -> bool:
    """Tell whether images take that share of the page, as those of a scan do."""
    page = Box(0.0, 0.0, frame.width, frame.height)
    return sum(image.cut(page).area for image in drawn.images) >= share * page.area
