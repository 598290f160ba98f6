"""PDFs made for tests: text and boxes at places, in points from the top left."""

import io

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from vademecum.adapters.parsers.pdf import parse_pdf
from vademecum.model.document import ParsedDocument

WIDTH, HEIGHT = A4


class Paper:
    """A PDF under construction: lines at places, in points from the top left."""

    def __init__(self, **options: object) -> None:
        self._bytes = io.BytesIO()
        self.canvas = Canvas(self._bytes, pagesize=A4, invariant=1, **options)

    def lines(
        self,
        lines: list[str],
        *,
        top: float,
        left: float = 72,
        size: float = 11,
        bold: bool = False,
    ) -> float:
        """Set lines one under the other; return where the next would stand."""
        self.canvas.setFont("Helvetica-Bold" if bold else "Helvetica", size)
        for line in lines:
            self.canvas.drawString(left, HEIGHT - top, line)
            top += 1.3 * size
        return top

    def page(self) -> None:
        self.canvas.showPage()

    def read(self) -> ParsedDocument:
        return parse_pdf(self.content(), "rules/my-rules.pdf", "application/pdf")

    def content(self) -> bytes:
        self.canvas.save()
        return self._bytes.getvalue()

    def grid(
        self, rows: list[list[str]], *, top: float, left: float = 72, size: float = 9
    ) -> float:
        """Set a ruled table of equal columns 100 points wide; return where it ends."""
        step = 18.0
        self.canvas.setFont("Helvetica", size)
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                x, y = left + 100 * column, HEIGHT - top - step * (number + 1)
                self.canvas.rect(x, y, 100, step)
                self.canvas.drawString(x + 4, y + 5, text)
        return top + step * len(rows)


def texts(document: ParsedDocument, kind: str | None = None) -> list[str]:
    """Return the texts of a document's blocks, or of those of one kind."""
    found = [document.text[b.start : b.end] for b in document.blocks if kind in (None, b.kind)]
    assert all(found)
    return found
