"""How are the PDFs of the ticket seller built from the plain texts in sources/?

Each `sources/<name>.md` becomes one PDF under `documents/`. A source is a short header (title,
subject, page size, ...) followed by a small Markdown dialect: `#` to `###` headings, paragraphs,
`- ` and `1. ` lists, `|` table rows (the first row is the heading row), `===` for a page break
and `**bold**`. The same text gives the same bytes on every run: reportlab's invariant mode is
on, and page streams are left uncompressed, so the zlib of the machine does not matter.

Usage: python examples/boxoffice/make_pdfs.py [FOLDER]   (default: documents/ beside this file)
"""

# reportlab ships no types
# mypy: disable-error-code="import-untyped"

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4, A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Table,
    TableStyle,
)

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
DOCUMENTS = HERE / "documents"

INK = HexColor("#1f2430")
ACCENT = HexColor("#2f4a8a")
GREY = HexColor("#6b7080")
TINT = HexColor("#e9edf6")

FACES = {
    "Helvetica": ("Helvetica", "Helvetica-Bold"),
    "Times": ("Times-Roman", "Times-Bold"),
}
SIZES = {"a4": A4, "a5": A5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One text to be set: its header fields and its blocks in reading order.

    A block is (kind, lines); kind is one of title, heading, subheading, paragraph, item, table
    and break.
    """

    name: str
    fields: dict[str, str]
    blocks: tuple[tuple[str, tuple[str, ...]], ...]


def read_source(path: Path) -> Source:
    """Read one source file. Raises ValueError if its header is missing."""
    _, header, body = path.read_text("utf-8").split("---\n", 2)
    pairs = (line.partition(":") for line in header.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    return Source(name=path.stem, fields=fields, blocks=tuple(read_blocks(body)))


def read_blocks(body: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Split a source's body into (kind, lines), one pair a block."""
    for part in re.split(r"\n\s*\n", body.replace("===\n", "\n===\n\n").strip()):
        lines = tuple(line.strip() for line in part.strip().splitlines())
        first = lines[0]
        if first == "===":
            yield "break", ()
        elif heading := re.match(r"(#{1,3}) (.+)", first):
            kind = ("title", "heading", "subheading")[len(heading[1]) - 1]
            yield kind, (heading[2],)
        elif first.startswith("|"):
            yield "table", lines
        elif re.match(r"- |\d+\. ", first):
            for line in lines:
                yield "item", (line,)
        else:
            yield "paragraph", (" ".join(lines),)


def make_styles(face: str, size: float) -> dict[str, ParagraphStyle]:
    """Paragraph styles by block kind, for a type face and the size of its text, points."""
    regular, bold = FACES[face]
    text = ParagraphStyle(
        "paragraph", fontName=regular, fontSize=size, leading=size * 1.4, textColor=INK
    )
    text.spaceAfter = size * 0.6

    def headed(name: str, scale: float, before: float) -> ParagraphStyle:
        return ParagraphStyle(
            name,
            parent=text,
            fontName=bold,
            fontSize=size * scale,
            leading=size * scale * 1.2,
            textColor=ACCENT,
            spaceBefore=size * before,
            spaceAfter=size * 0.4,
            keepWithNext=1,
        )

    return {
        "paragraph": text,
        "title": headed("title", 1.9, 0.0),
        "heading": headed("heading", 1.35, 0.8),
        "subheading": headed("subheading", 1.12, 0.5),
        "item": ParagraphStyle(
            "item", parent=text, leftIndent=16, bulletIndent=2, spaceAfter=size * 0.3
        ),
        "cell": ParagraphStyle(
            "cell", parent=text, fontSize=size - 1.5, leading=size * 1.15, spaceAfter=0
        ),
        "cell-head": ParagraphStyle(
            "cell-head",
            parent=text,
            fontName=bold,
            fontSize=size - 1.5,
            leading=size * 1.15,
            spaceAfter=0,
        ),
    }


def markup(text: str) -> str:
    """The source's inline text as reportlab markup."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))


def make_table(lines: tuple[str, ...], styles: dict[str, ParagraphStyle], width: float) -> Table:
    """A ruled table `width` points wide; columns share the width by their longest cell."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    weights = [min(30, max(10, *map(len, column))) + 4 for column in zip(*rows, strict=True)]
    widths = [width * weight / sum(weights) for weight in weights]
    cells = [
        [Paragraph(markup(cell), styles["cell" if index else "cell-head"]) for cell in row]
        for index, row in enumerate(rows)
    ]
    table = Table(cells, colWidths=widths, repeatRows=1, spaceBefore=4, spaceAfter=10)
    table.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.6, GREY),
                ("BACKGROUND", (0, 0), (-1, 0), TINT),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("TOPPADDING", (0, 0), (-1, -1), 4),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
            ]
        )
    )
    return table


def make_flowables(source: Source, width: float) -> Iterator[Flowable]:
    """The source's blocks as flowables, in reading order."""
    size = float(source.fields.get("size", 11))
    styles = make_styles(source.fields.get("font", "Helvetica"), size)
    two_columns = source.fields.get("columns") == "2"
    yield NextPageTemplate("later")
    for kind, lines in source.blocks:
        if kind == "break":
            yield PageBreak()
        elif kind == "table":
            yield make_table(lines, styles, width)
        elif kind == "item":
            mark, _, text = lines[0].partition(" ")
            bullet = "•" if mark == "-" else mark
            yield Paragraph(markup(text), styles["item"], bulletText=bullet)
        else:
            yield Paragraph(markup(lines[0]), styles[kind])
        if kind == "title" and two_columns:
            yield FrameBreak()


class VenuePages(BaseDocTemplate):  # type: ignore[misc]
    """Pages with a running header and footer and one outline entry a heading."""

    def __init__(self, target: io.BytesIO, source: Source, total: int) -> None:
        """Lay out for `source`; `total` is the number printed in "Página 1 de total"."""
        super().__init__(
            target,
            pagesize=SIZES[source.fields["page"]],
            title=source.fields["title"],
            subject=source.fields["subject"],
            author="Catraca Azul",
            creator="examples/boxoffice/make_pdfs.py",
            lang="pt-BR",
            invariant=1,
            pageCompression=0,
        )
        self.source = source
        self.total = total
        self.margin = 44 if source.fields["page"] == "a5" else 54
        frames = self._frames()
        self.addPageTemplates(
            [
                PageTemplate("first", frames["first"], onPage=self._head, onPageEnd=self._foot),
                PageTemplate("later", frames["later"], onPage=self._head, onPageEnd=self._foot),
            ]
        )
        self.headings = 0

    @property
    def text_width(self) -> float:
        """Width of the text area, points."""
        return float(self.pagesize[0]) - 2 * self.margin

    def _frames(self) -> dict[str, list[Frame]]:
        left, bottom, width = self.margin, self.margin, self.text_width
        height = float(self.pagesize[1]) - 2 * self.margin
        tight = {"leftPadding": 0, "rightPadding": 0, "topPadding": 0, "bottomPadding": 0}
        if self.source.fields.get("columns") != "2":
            return {
                name: [Frame(left, bottom, width, height, id=name, **tight)]
                for name in ("first", "later")
            }
        gap, title_height = 22.0, 44.0
        column = (width - gap) / 2

        def columns(name: str, high: float) -> list[Frame]:
            return [
                Frame(left, bottom, column, high, id=f"{name}-left", **tight),
                Frame(left + column + gap, bottom, column, high, id=f"{name}-right", **tight),
            ]

        top = Frame(left, bottom + height - title_height, width, title_height, id="top", **tight)
        return {
            "first": [top, *columns("first", height - title_height)],
            "later": columns("later", height),
        }

    def _head(self, canvas: Any, _document: object) -> None:
        width, height = self.pagesize
        canvas.saveState()
        canvas.setFillColor(ACCENT)
        canvas.rect(0, height - 10, width, 10, stroke=0, fill=1)
        if header := self.source.fields.get("header"):
            self._small_print(canvas)
            canvas.drawString(self.margin, height - 30, header)
        canvas.restoreState()

    def _foot(self, canvas: Any, _document: object) -> None:
        right = float(self.pagesize[0]) - self.margin
        canvas.saveState()
        self._small_print(canvas)
        canvas.line(self.margin, 36, right, 36)
        canvas.drawString(self.margin, 24, self.source.fields["footer"])
        canvas.drawRightString(right, 24, f"Página {canvas.getPageNumber()} de {self.total}")
        canvas.restoreState()

    def _small_print(self, canvas: Any) -> None:
        regular, _ = FACES[self.source.fields.get("font", "Helvetica")]
        canvas.setFont(regular, 8.5)
        canvas.setFillColor(GREY)
        canvas.setStrokeColor(GREY)
        canvas.setLineWidth(0.4)

    def afterFlowable(self, flowable: Flowable) -> None:
        """Add an outline entry for each heading that was just set."""
        style = getattr(flowable, "style", None)
        levels = {"title": 0, "heading": 1, "subheading": 2}
        if not isinstance(flowable, Paragraph) or style is None or style.name not in levels:
            return
        self.headings += 1
        key = f"heading-{self.headings}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(flowable.getPlainText(), key, levels[style.name], False)


def render(source: Source, total: int) -> tuple[bytes, int]:
    """The PDF of `source` and its number of pages; `total` is the number printed in the footer."""
    target = io.BytesIO()
    pages = VenuePages(target, source, total)
    pages.build(list(make_flowables(source, pages.text_width)))
    return target.getvalue(), int(pages.page)


def make_pdf(source: Source) -> bytes:
    """The PDF of `source`, set twice: once to count the pages, once to print the count."""
    _, total = render(source, 0)
    return render(source, total)[0]


def target_of(source: Source) -> str:
    """Where the PDF of `source` lies inside the documents folder."""
    folder = "guides" if source.name.startswith("guia-") else "venues"
    return f"{folder}/{source.name}.pdf"


def make_all() -> dict[str, bytes]:
    """Every PDF by its path inside the documents folder."""
    sources = [read_source(path) for path in sorted(SOURCES.glob("*.md"))]
    return {target_of(source): make_pdf(source) for source in sources}


def main(folder: Path) -> None:
    """Write every PDF under `folder`."""
    for name, content in make_all().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        print(f"{name}  {len(content):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS)
