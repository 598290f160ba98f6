"""Where on the page, as a reader holds it, does something stand?"""

import ctypes
from dataclasses import dataclass
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium


class Box(NamedTuple):
    """A rectangle in points; `top` and `bottom` count downwards from the page's upper edge."""

    x0: float
    top: float
    x1: float
    bottom: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def holds(self, x: float, y: float) -> bool:
        return self.x0 <= x <= self.x1 and self.top <= y <= self.bottom

    def around(self, other: "Box", slack: float = 1.0) -> bool:
        """Tell whether the other box lies inside this one."""
        return (
            self.x0 - slack <= other.x0
            and other.x1 <= self.x1 + slack
            and self.top - slack <= other.top
            and other.bottom <= self.bottom + slack
        )

    def meets(self, other: "Box") -> bool:
        return (
            self.x0 < other.x1
            and other.x0 < self.x1
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def cut(self, other: "Box") -> "Box":
        return Box(
            max(self.x0, other.x0),
            max(self.top, other.top),
            min(self.x1, other.x1),
            min(self.bottom, other.bottom),
        )


def union(boxes: list[Box]) -> Box:
    return Box(
        min(box.x0 for box in boxes),
        min(box.top for box in boxes),
        max(box.x1 for box in boxes),
        max(box.bottom for box in boxes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The visible part of a page in the file's own coordinates, and by how many quarters of a
    circle it has to be turned, clockwise, so that its text stands upright."""

    left: float
    bottom: float
    right: float
    top: float
    quarters: int

    @property
    def width(self) -> float:
        return self.top - self.bottom if self.quarters % 2 else self.right - self.left

    @property
    def height(self) -> float:
        return self.right - self.left if self.quarters % 2 else self.top - self.bottom

    def point(self, x: float, y: float) -> tuple[float, float]:
        if self.quarters == 0:
            return x - self.left, self.top - y
        if self.quarters == 1:
            return y - self.bottom, x - self.left
        if self.quarters == 2:  # upside down
            return self.right - x, y - self.bottom
        return self.top - y, self.right - x

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        if self.quarters == 0:
            return Box(left - self.left, self.top - top, right - self.left, self.top - bottom)
        x0, y0 = self.point(left, bottom)
        x1, y1 = self.point(right, top)
        return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def frame_of(page: pypdfium2.PdfPage, quarters: int | None = None) -> Frame:
    """Return the frame of a page, turned as the page says or by the given quarters."""
    bounds = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, ctypes.byref(bounds))
    if quarters is None:
        quarters = max(0, pdfium.FPDFPage_GetRotation(page))
    return Frame(
        left=bounds.left,
        bottom=bounds.bottom,
        right=bounds.right,
        top=bounds.top,
        quarters=quarters % 4,
    )
