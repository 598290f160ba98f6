"""How is a DOCX document read? As it would be printed with its changes accepted, from its body."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vademecum.adapters.parsers.compose import Composer, superscript
from vademecum.adapters.parsers.dispatch import parse_part
from vademecum.adapters.parsers.office.drawings import formula, read_drawing
from vademecum.adapters.parsers.office.package import Package
from vademecum.adapters.parsers.office.symbols import symbol
from vademecum.adapters.parsers.office.word_parts import (
    THROUGH,
    ancestors,
    chosen,
    inside,
    says,
    times,
)
from vademecum.adapters.parsers.office.word_styles import (
    Numbering,
    Style,
    is_on,
    list_place,
    outline_level,
    read_numbering,
    read_styles,
)
from vademecum.adapters.parsers.tables import header_rows
from vademecum.adapters.parsers.uris import name_of
from vademecum.errors import DocumentUnreadable
from vademecum.model.document import ParsedDocument

_HEADING_LETTERS = 400  # a longer paragraph in a heading's style is none
_REMOVED = frozenset(("del", "moveFrom"))
_CODE_STYLES = ("code", "preformatted", "source code", "verbatim")
_QUOTE_STYLES = ("quote", "intense quote", "block text")
_TOLD = (
    ("removed", "deleted passage left out", "deleted passages left out"),
    ("hidden", "hidden passage left out", "hidden passages left out"),
    ("comments", "comment left out", "comments left out"),
    ("contents", "line of a table of contents left out", "lines of a table of contents left out"),
    ("edges", "page header or footer left out", "page headers and footers left out"),
)


def parse_docx(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a DOCX document: headings, lists with their numbers, tables, text boxes, notes."""
    package = Package(content, uri)
    related = {kind: list(package.related(package.main, kind)) for kind in _PARTS}
    part = {
        kind: root
        for kind, names in related.items()
        if names and (root := package.xml(names[0])) is not None
    }
    walk = _Walk(
        package=package,
        composer=Composer(),
        styles=read_styles(part.get("styles")),
        numbering=read_numbering(part.get("numbering")),
        notes={
            (kind, note.get("id", "")): note
            for kind, name in (("footnoteReference", "footnote"), ("endnoteReference", "endnote"))
            if f"{name}s" in part
            for note in part[f"{name}s"].iter(name)
        },
    )
    root = package.xml(package.main)
    body = root.find("body") if root is not None else None
    if root is not None and body is not None:
        walk.paper = root.find("background") is None
        walk.blocks(body)
    walk.left_out["comments"] = len(part["comments"]) if "comments" in part else 0
    edges = [package.xml(name) for kind in ("header", "footer") for name in related[kind]]
    walk.left_out["edges"] = sum(edge is not None and says(edge) for edge in edges)
    return walk.composer.document(
        title=package.title() or walk.title,
        name=name_of(uri),
        media_type=media_type,
        language=walk.language(part.get("styles")),
        warnings=[
            f"{count} {one if count == 1 else many}"
            for name, one, many in _TOLD
            if (count := walk.left_out[name])
        ],
        unread=walk.unread,
    )


_PARTS = ("styles", "numbering", "footnotes", "endnotes", "comments", "header", "footer")


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Go through the parts of the body and hand them to the composer."""

    package: Package
    composer: Composer
    styles: dict[str, Style]
    numbering: Numbering
    notes: dict[tuple[str, str], Any]
    left_out: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)
    title: str = ""
    paper: bool = True  # what is white here cannot be seen
    _fields: list[bool] = field(default_factory=list)  # open fields: whether the result has begun
    _carried: str = ""  # of a paragraph whose end was deleted
    _later: list[tuple[str, Any]] = field(default_factory=list)  # what follows the paragraph
    _told_notes: dict[tuple[str, str], int] = field(default_factory=dict)

    def blocks(self, parent: Any) -> None:
        """Read paragraphs and tables, in their order."""
        for child in parent:
            tag = child.tag
            if tag == "p":
                self._paragraph(child)
            elif tag == "tbl":
                self._table(child)
            elif tag == "sdt":
                self._controlled(child)
            elif tag in THROUGH:
                self.blocks(child)
            elif tag in _REMOVED:
                self.left_out["removed"] += 1
            elif tag == "AlternateContent":
                self.blocks(chosen(child))
            elif tag == "altChunk":
                self._embedded(child.get("id", ""))

    def _controlled(self, control: Any) -> None:
        gallery = control.find("sdtPr/docPartObj/docPartGallery")
        content = control.find("sdtContent")
        if content is None:
            return
        if gallery is not None and gallery.get("val") == "Table of Contents":
            self.left_out["contents"] += sum(map(says, content.iter("p")))
        else:
            self.blocks(content)

    def _embedded(self, relation_id: str) -> None:
        """Read a document that the body takes in as it is, such as a page of HTML."""
        relation = self.package.relations(self.package.main).get(relation_id)
        content = self.package.archive.read(relation.target) if relation else None
        if relation is None or content is None:
            self.unread.append("an embedded document is not in the file")
            return
        try:
            self.composer.part(parse_part(content, relation.target))
        except DocumentUnreadable as error:
            self.unread.append(error.message)

    def _style(self, node: Any, path: str) -> Style:
        named = node.find(path)
        return self.styles.get(named.get("val", "") if named is not None else "", Style())

    def _paragraph(self, node: Any) -> None:
        style = self._style(node, "pPr/pStyle")
        if style.name.startswith(("toc ", "table of figures")):
            self.left_out["contents"] += says(node)
            return
        text = self._carried + self.inline(node, style)
        self._carried = ""
        if node.find("pPr/rPr/del") is not None:
            self._carried = text
            return
        if text.strip():
            self._place(node, style, text)
        self._follow()

    def _place(self, node: Any, style: Style, text: str) -> None:
        level = outline_level(node) or style.level
        list_id, depth = list_place(node)
        if not list_id:
            list_id, depth = style.list_id, depth or style.list_level
        numbered = list_id not in ("", "0")
        marker = self.numbering.marker(list_id, depth) if numbered else ""
        if level and len(text) <= _HEADING_LETTERS:
            if style.name == "title" and not self.title:
                self.title = text.strip()
            self.composer.heading(text if marker in ("", "-") else f"{marker} {text}", level)
        elif numbered:
            self.composer.item(text, marker=marker, depth=depth)
        elif style.name.startswith("list bullet"):
            self.composer.item(text)
        elif any(name in style.name for name in _CODE_STYLES):
            self.composer.code(text)
        elif style.name in _QUOTE_STYLES:
            self.composer.quote(text)
        else:
            self.composer.paragraph(text)

    def _follow(self) -> None:
        """Read what the paragraph just placed refers to: its notes, text boxes and charts."""
        later, self._later = self._later, []
        for kind, node in later:
            if kind == "drawing":
                self._drawing(node)
            else:
                lines = [self.inline(line, Style()) for line in node.iter("p")]
                self.composer.paragraph(f"[{kind}] {' '.join(filter(None, map(str.strip, lines)))}")

    def _drawing(self, node: Any) -> None:
        paper, self.paper = self.paper, False
        for box in node.iter("txbxContent"):
            if not any(above.tag == "txbxContent" for above in ancestors(box, node)):
                self.blocks(box)
        self.paper = paper
        read_drawing(self.package, self.package.main, node, self.composer)

    def inline(self, parent: Any, style: Style) -> str:
        """Return the text of a paragraph, and remember what it refers to."""
        parts: list[str] = []
        for child in parent:
            tag = child.tag
            if tag == "r":
                parts.append(self._run(child, style))
            elif tag in THROUGH:
                parts.append(self.inline(child, style))
            elif tag == "sdt":
                content = child.find("sdtContent")
                parts.append(self.inline(content, style) if content is not None else "")
            elif tag in _REMOVED:
                self.left_out["removed"] += any(
                    (text.text or "").strip() for text in child.iter("delText", "t")
                )
            elif tag in ("oMath", "oMathPara"):
                parts.append(formula(child))
            elif tag == "AlternateContent":
                parts.append(self.inline(chosen(child), style))
        return "".join(parts)

    def _run(self, run: Any, style: Style) -> str:
        text = "".join(self._run_parts(run))
        if text.strip() and self._is_hidden(run, style):
            self.left_out["hidden"] += 1
            return ""
        raised = run.find("rPr/vertAlign")
        if raised is not None and raised.get("val") == "superscript":
            text = superscript(text)
        named = run.find("rPr/lang")
        self.languages[named.get("val") or "" if named is not None else ""] += len(text)
        return text

    def _run_parts(self, run: Any) -> Iterator[str]:
        for child in run:
            tag = child.tag
            if tag == "fldChar":
                self._field(child.get("fldCharType"))
            elif not all(self._fields):
                continue  # the instruction of a field, whose result comes later
            elif tag == "t":
                yield child.text or ""
            elif tag in _SIGNS:
                yield _SIGNS[tag]
            elif tag == "sym":
                yield symbol(child.get("font", ""), child.get("char", ""))
            elif tag in ("footnoteReference", "endnoteReference"):
                yield self._note(tag, child.get("id", ""))
            else:
                yield from self._nested(child)

    def _nested(self, node: Any) -> Iterator[str]:
        if node.tag in ("drawing", "pict", "object"):
            self._later.append(("drawing", node))
        elif node.tag == "AlternateContent":
            yield from self._run_parts(chosen(node))
        elif node.tag == "ruby" and (written := node.find("rubyBase")) is not None:
            yield self.inline(written, Style())

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif self._fields and kind == "separate":
            self._fields[-1] = True
        elif self._fields and kind == "end":
            self._fields.pop()

    def _note(self, kind: str, name: str) -> str:
        note = self.notes.get((kind, name))
        if note is None:
            return ""
        number = self._told_notes.setdefault((kind, name), len(self._told_notes) + 1)
        self._later.append((str(number), note))
        return f"[{number}]"

    def _is_hidden(self, run: Any, style: Style) -> bool:
        shape = run.find("rPr")
        if shape is None:
            return style.hidden
        vanish = shape.find("vanish")
        if vanish is not None:
            return is_on(vanish)
        size, ink = shape.find("sz"), shape.find("color")
        if size is not None and size.get("val") in ("0", "1", "2"):
            return True
        if self._style(run, "rPr/rStyle").hidden or style.hidden:
            return True
        white = ink is not None and (ink.get("val") or "").upper() == "FFFFFF"
        lit = any(shape.find(name) is not None for name in ("shd", "highlight"))
        behind = next((above.find("pPr/shd") for above in run.iterancestors("p")), None)
        return white and self.paper and not lit and behind is None

    def _table(self, table: Any) -> None:
        rows = list(self._rows(table))
        if max((len(list(inside(row, "tc"))) for row in rows), default=0) <= 1:
            for row in rows:
                for cell in inside(row, "tc"):
                    self.blocks(cell)
            return
        grid, named = self._grid(rows)
        self.composer.table(grid, header_rows=named or header_rows(grid))
        self._follow()

    def _rows(self, table: Any) -> Iterator[Any]:
        for row in inside(table, "tr"):
            if row.find("trPr/del") is not None:
                self.left_out["removed"] += 1
            elif is_on(row.find("trPr/hidden")):
                self.left_out["hidden"] += 1
            else:
                yield row

    def _grid(self, rows: list[Any]) -> tuple[list[list[str]], int]:
        """Return the cells' texts and how many rows name columns. What goes over several rows
        stands in each of them."""
        paper, self.paper = self.paper, False
        grid: list[list[str]] = []
        named = 0
        for row in rows:
            names = is_on(row.find("trPr/tblHeader"))
            named += names and named == len(grid)
            line: list[str] = [""] * times(row.find("trPr/gridBefore"), 0)
            for cell in inside(row, "tc"):
                merged = cell.find("tcPr/vMerge")
                if merged is not None and merged.get("val", "continue") == "continue":
                    above = grid[-1] if grid else []
                    text = above[len(line)] if len(line) < len(above) else ""
                else:
                    text = self._cell(cell)
                line.append(text)
                wide = times(cell.find("tcPr/gridSpan"), 1) - 1
                line.extend([text if names else ""] * wide)
            grid.append(line)
        self.paper = paper
        return grid, named if named < len(grid) else 0

    def _cell(self, cell: Any) -> str:
        parts: list[str] = []
        for child in cell:
            if child.tag == "p":
                style = self._style(child, "pPr/pStyle")
                text = self.inline(child, style).strip()
                listed = (list_place(child)[0] or style.list_id) not in ("", "0")
                parts.append(f"{text};" if text and listed else text)
            elif child.tag == "tbl":
                inner = [
                    [self._cell(part) for part in inside(row, "tc")] for row in self._rows(child)
                ]
                lines = (", ".join(filter(None, line)) for line in inner)
                parts.append("; ".join(filter(None, lines)))
            elif child.tag == "sdt" or child.tag in THROUGH:
                content = child.find("sdtContent") if child.tag == "sdt" else child
                parts.append(self._cell(content) if content is not None else "")
        return "\n".join(part for part in map(str.strip, parts) if part).rstrip(";")

    def language(self, styles: Any | None) -> str:
        """Return the language in which most of the text is marked."""
        default = styles.find("docDefaults/rPrDefault/rPr/lang") if styles is not None else None
        usual = (default.get("val") or "") if default is not None else ""
        counted: Counter[str] = Counter()
        for name, letters in self.languages.items():
            code = (name or usual).partition("-")[0].lower()
            counted[code] += letters
        code = counted.most_common(1)[0][0] if counted else ""
        return code if len(code) in (2, 3) and code.isalpha() else ""


_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
