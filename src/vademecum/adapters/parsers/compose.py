"""How do pieces that a reader found become the one text with its blocks?"""

from collections.abc import Mapping, Sequence

import regex

from vademecum.model.document import Block, BlockKind, MetadataValue, ParsedDocument
from vademecum.text.normalise import clean

_EXPONENT = regex.compile(r"[-+\u2212]?\d{1,3}")
_SUPERSCRIPT = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


class Composer:
    """Put pieces one after the other; each becomes a block with its exact span.

    Blank pieces are left out. List items stand a line each, all else is parted by a blank line.
    A table is written as Markdown rows, a cell's line breaks as spaces, so that rows and columns
    can be told apart in the text that is quoted.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._page_starts: list[int] = []
        self._path: list[tuple[int, str]] = []
        self._names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What was put together so far."""
        return "".join(self._parts)

    def page(self) -> None:
        """Begin the next page."""
        if self._length:
            self._append("\n\n")
        self._page_starts.append(self._length)

    def heading(self, text: str, level: int) -> None:
        """Add a heading; `level` counts from 1, deeper ones than 6 count as 6."""
        name = one_line(clean(text))
        if not name:
            return
        level = max(1, min(6, level))
        self._path = [*((above, known) for above, known in self._path if above < level)]
        self._path.append((level, name))
        self._names = tuple(known for _, known in self._path)
        self._add("heading", name, level=level)

    def paragraph(self, text: str) -> None:
        self._add("paragraph", text)

    def paragraph_over_pages(self, parts: Sequence[str]) -> None:
        """Add one paragraph; every part but the first begins the next page. Parts are put one
        after the other as they are, so that each but the last brings the blank at its end."""
        cleaned = [_without_ends(clean(f"{part}|"))[:-1] for part in parts]
        self._add("paragraph", "".join(cleaned))
        start = self._blocks[-1].start
        for part in cleaned[:-1]:
            start += len(part)
            self._page_starts.append(start)

    def item(self, text: str, *, marker: str = "-", depth: int = 0) -> None:
        """Add a list item, or with an empty `marker` what follows inside of one or a record;
        `depth` counts the lists around its own."""
        text = clean(text).strip()
        if text:
            self._add("list", f"{'  ' * depth}{marker} {text}" if marker else "  " * depth + text)

    def code(self, text: str) -> None:
        self._add("code", text)

    def quote(self, text: str) -> None:
        self._add("quote", text)

    def table(self, rows: Sequence[Sequence[str]], *, header_rows: int = 1) -> None:
        """Add a table; the first `header_rows` rows name the columns. Short rows are filled up,
        rows and columns without any text are left out."""
        grid = [[_cell(cell) for cell in row] for row in rows]
        filled = [position for position, row in enumerate(grid) if any(row)]
        header_rows = sum(position < header_rows for position in filled)
        width = max((len(row) for row in grid), default=0)
        grid = [grid[position] + [""] * (width - len(grid[position])) for position in filled]
        columns = [column for column in range(width) if any(row[column] for row in grid)]
        if not columns:
            return
        lines = [f"| {' | '.join(row[column] for column in columns)} |" for row in grid]
        header = lines[:header_rows]
        if header:
            header.append(f"|{' --- |' * len(columns)}")
        text = "\n".join([*header, *lines[header_rows:]])
        self._add("table", text, header=len("\n".join(header)))

    def part(self, parsed: ParsedDocument, *, below: int = 0) -> None:
        """Add the blocks of a document that stands inside of this one; its headings go `below`
        levels deeper."""
        for block in parsed.blocks:
            text = parsed.text[block.start : block.end]
            if block.kind == "heading":
                self.heading(text, block.level + below)
            else:
                header = parsed.text[block.start : block.header_end] if block.header_end else ""
                self._add(block.kind, text, header=len(header))

    def document(
        self,
        *,
        title: str,
        media_type: str,
        name: str = "",
        language: str = "",
        metadata: Mapping[str, MetadataValue] | None = None,
        warnings: Sequence[str] = (),
        unread: Sequence[str] = (),
    ) -> ParsedDocument:
        """Return what was put together; without a title the first heading is the title, and
        `name` where there is none."""
        text = self.text
        headings = (block for block in self._blocks if block.kind == "heading")
        first = next((text[block.start : block.end] for block in headings), "")
        return ParsedDocument(
            text=text,
            blocks=tuple(self._blocks),
            page_starts=tuple(self._page_starts),
            title=one_line(clean(title)) or first or name,
            media_type=media_type,
            language=language,
            metadata=dict(metadata or {}),
            warnings=tuple(warnings),
            unread=tuple(unread),
        )

    def _add(self, kind: BlockKind, text: str, *, level: int = 0, header: int = 0) -> None:
        text = _without_ends(clean(text)).strip("\n")
        if not text.strip():
            return
        if self._blocks and self._blocks[-1].end == self._length:
            self._append("\n" if kind == "list" == self._blocks[-1].kind else "\n\n")
        start = self._length
        self._append(text)
        self._blocks.append(
            Block(
                kind=kind,
                start=start,
                end=self._length,
                level=level,
                heading_path=self._names,
                header_end=start + header if header else 0,
            )
        )

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def one_line(text: str) -> str:
    """Return a text with one blank for each stretch of blanks and line breaks, none at its ends."""
    return " ".join(text.split())


def _without_ends(text: str) -> str:
    """Return a text without blanks at the ends of its lines."""
    return "\n".join(map(str.rstrip, text.split("\n")))


def superscript(text: str) -> str:
    """Return digits as superscript ones, so that ten to the sixth does not become 106."""
    return text.translate(_SUPERSCRIPT) if _EXPONENT.fullmatch(text.strip()) else text


def _cell(text: str) -> str:
    return one_line(clean(text)).replace("|", "\\|")
