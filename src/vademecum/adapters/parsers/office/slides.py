"""How is PPTX read? A page a slide: its title, then its frames from top to bottom."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.office.drawings import drawn_line, drawn_text, read_drawing
from vademecum.adapters.parsers.office.package import Package
from vademecum.adapters.parsers.tables import header_rows
from vademecum.adapters.parsers.uris import name_of
from vademecum.model.document import ParsedDocument

_TITLES = frozenset(("title", "ctrTitle"))
_EDGES = frozenset(("dt", "ftr", "sldNum", "hdr"))
_BODIES = frozenset(("body", "obj", "subTitle", "half", "tbl"))
_BANDS = 20  # of the slide's height: frames in one band stand side by side
_HIGH = 6_858_000  # the usual height of a slide, in the units of its places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A frame of a slide: what it holds and where (from the top and the left, in the slide's
    units; None where nothing says)."""

    node: Any
    role: str
    top: int | None
    left: int


def parse_pptx(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read a presentation: slides as pages with their frames, tables, charts and notes. Hidden
    slides are left out and told."""
    package = Package(content, uri)
    root = package.xml(package.main)
    relations = package.relations(package.main)
    composer = Composer()
    hidden: list[str] = []
    size = root.find("sldSz") if root is not None else None
    high = _integer(size, "cy") or _HIGH
    for number, node in enumerate(root.iterfind("sldIdLst/sldId") if root is not None else (), 1):
        relation = relations.get(node.get("r-id") or node.get("id", ""))
        slide = package.xml(relation.target) if relation and relation.target else None
        if relation is None or slide is None:
            continue
        if slide.get("show") in ("0", "false"):
            hidden.append(str(number))
            continue
        composer.page()
        _read_slide(package, relation.target, slide, high, composer)
    word = "slide" if len(hidden) == 1 else "slides"
    comments = any(name.startswith("ppt/comments/") for name in package.archive.names)
    return composer.document(
        title=package.title(),
        name=name_of(uri),
        media_type=media_type,
        language=_language(package),
        warnings=[
            *([f"{len(hidden)} hidden {word} left out: {', '.join(hidden)}"] if hidden else []),
            *(["the comments on slides left out"] if comments else []),
        ],
    )


def _language(package: Package) -> str:
    """Return the language of the first text that names one."""
    for name in package.archive.names:
        if name.startswith("ppt/slides/slide") and (root := package.xml(name)) is not None:
            for run in root.iter("rPr", "endParaRPr"):
                code: str = run.get("lang", "").partition("-")[0].lower()
                if len(code) in (2, 3) and code.isalpha():
                    return code
    return ""


def _read_slide(package: Package, name: str, slide: Any, high: int, composer: Composer) -> None:
    tree = slide.find("cSld/spTree")
    places = _layout_places(package, name)
    frames = [] if tree is None else list(_frames(tree, places))
    titles = [frame for frame in frames if frame.role in _TITLES]
    for frame in titles:
        composer.heading(drawn_text(frame.node), 1)
    for frame in sorted(
        (frame for frame in frames if frame.role not in _TITLES),
        key=lambda frame: (
            _BANDS if frame.top is None else frame.top * _BANDS // high,
            frame.left,
        ),
    ):
        _read_frame(package, name, frame, composer)
    for part in package.related(name, "notesSlide"):
        notes = package.xml(part)
        lines = [
            text
            for shape in (notes.iter("sp") if notes is not None else ())
            if _role(shape) == "body" and (text := drawn_text(shape))
        ]
        if lines:
            composer.paragraph(f"Notes: {chr(10).join(lines)}")


def _frames(tree: Any, places: dict[str, tuple[int, int]]) -> Iterator[_Frame]:
    """Yield the frames of a slide or group, in the order in which they were drawn."""
    for node in tree:
        if node.tag == "AlternateContent":
            choice = node.find("Choice")
            yield from _frames(choice if choice is not None else node, places)
        elif node.tag == "grpSp":
            inner = list(_frames(node, places))
            place = _place(node.find("grpSpPr/xfrm"))
            for frame in inner:
                top, left = place or (frame.top, frame.left)
                yield _Frame(node=frame.node, role=frame.role, top=top, left=left)
        elif node.tag in ("sp", "graphicFrame") and not _is_hidden(node):
            role = _role(node)
            if role in _EDGES:
                continue
            place = _place(next(node.iter("xfrm"), None)) or places.get(_holder(node))
            yield _Frame(
                node=node,
                role=role,
                top=place[0] if place else None,
                left=place[1] if place else 0,
            )


def _layout_places(package: Package, name: str) -> dict[str, tuple[int, int]]:
    """Return where the slide's layout puts what has no place of its own."""
    found = {}
    for part in package.related(name, "slideLayout"):
        layout = package.xml(part)
        for shape in layout.iter("sp") if layout is not None else ():
            if place := _place(next(shape.iter("xfrm"), None)):
                found[_holder(shape)] = place
    return found


def _place(transform: Any | None) -> tuple[int, int] | None:
    offset = transform.find("off") if transform is not None else None
    return None if offset is None else (_integer(offset, "y"), _integer(offset, "x"))


def _placeholder(node: Any) -> Any | None:
    return node.find("nvSpPr/nvPr/ph") if node.tag == "sp" else node.find(".//nvPr/ph")


def _role(node: Any) -> str:
    """Return what a frame is for: `title`, `body`, …; empty for one that somebody drew."""
    holder = _placeholder(node)
    return "" if holder is None else str(holder.get("type", "obj"))


def _holder(node: Any) -> str:
    holder = _placeholder(node)
    return "" if holder is None else str(holder.get("idx") or holder.get("type", ""))


def _is_hidden(node: Any) -> bool:
    return any(part.get("hidden") in ("1", "true") for part in node.iter("cNvPr"))


def _read_frame(package: Package, name: str, frame: _Frame, composer: Composer) -> None:
    if frame.node.tag == "graphicFrame":
        for table in frame.node.iter("tbl"):
            grid = _grid(table)
            shape = table.find("tblPr")
            told = shape is not None and shape.get("firstRow") in ("1", "true")
            named = max(header_rows(grid), int(told and len(grid) > 1))
            composer.table(grid, header_rows=named)
        read_drawing(package, name, frame.node, composer)
        return
    for paragraph in frame.node.iterfind("txBody/p"):
        text = drawn_line(paragraph).strip()
        shape = paragraph.find("pPr")
        level = _integer(shape, "lvl")
        if _is_item(shape, frame):
            composer.item(text, depth=min(level, 8))
        else:
            composer.paragraph(text)


def _is_item(shape: Any | None, frame: _Frame) -> bool:
    if shape is not None and shape.find("buNone") is not None:
        return False
    if shape is not None and (
        shape.find("buChar") is not None or shape.find("buAutoNum") is not None
    ):
        return True
    return frame.role in _BODIES and frame.role != "subTitle" and _several(frame.node)


def _several(node: Any) -> bool:
    return sum(bool(drawn_line(line).strip()) for line in node.iterfind("txBody/p")) > 1


def _grid(table: Any) -> list[list[str]]:
    """Return the cells' texts. One over several rows stands in each of them, one over several
    columns in each only where it names them."""
    grid: list[list[str]] = []
    for row in table.iterfind("tr"):
        line: list[str] = []
        for cell in row.iterfind("tc"):
            above = grid[-1][len(line)] if grid and len(line) < len(grid[-1]) else ""
            if cell.get("vMerge") in ("1", "true"):
                line.append(above)
            elif cell.get("hMerge") in ("1", "true"):
                line.append(line[-1] if line and not grid else "")
            else:
                line.append(drawn_text(cell))
        grid.append(line)
    return grid


def _integer(node: Any | None, name: str) -> int:
    return integer(node.get(name)) if node is not None else 0
