"""Which styles and lists has a DOCX document, and what number has an item?"""

from dataclasses import dataclass, field
from typing import Any

import regex

from vademecum.adapters.parsers.integers import integer

_HEADING = regex.compile(r"(?:heading|überschrift|título|titre|titolo|encabezado)\s*(\d)", regex.I)
_OFF = frozenset(("0", "false", "off", "none"))
_MOST_DEPTH = 20  # of styles that rest on each other
_MOST_LEVEL = 6
_MOST_LISTS = 8  # lists in each other, counted from 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A paragraph or character style with all that it takes from others.

    `level` is 1..6 for headings, else 0; `list_id` is empty where it makes no list.
    """

    name: str = ""
    level: int = 0
    list_id: str = ""
    list_level: int = 0
    hidden: bool = False


def is_on(node: Any) -> bool:
    """Tell whether a switch such as `<w:vanish/>` is there and not turned off."""
    return node is not None and (node.get("val") or "1").lower() not in _OFF


def read_styles(root: Any | None) -> dict[str, Style]:
    """Return the styles by their id."""
    if root is None:
        return {}
    nodes = {node.get("styleId", ""): node for node in root.iter("style")}
    return {key: _style(key, nodes, 0) for key in nodes}


def _style(key: str, nodes: dict[str, Any], depth: int) -> Style:
    node = nodes.get(key)
    if node is None or depth > _MOST_DEPTH:
        return Style()
    below = node.find("basedOn")
    base = _style(below.get("val", ""), nodes, depth + 1) if below is not None else Style()
    named = node.find("name")
    name = (named.get("val", "") if named is not None else key).strip().lower()
    heading = _HEADING.fullmatch(name)
    level = int(heading[1]) if heading else outline_level(node) or base.level
    if name in ("title", "titel", "título"):
        level = 1
    list_id, list_level = list_place(node)
    return Style(
        name=name,
        level=min(_MOST_LEVEL, level),
        list_id=list_id or base.list_id,
        list_level=list_level if list_id else max(base.list_level, list_level),
        hidden=is_on(node.find("rPr/vanish")) or base.hidden,
    )


def outline_level(node: Any) -> int:
    """Return the level 1..9 that an outline gives to a style or paragraph, or 0."""
    outline = node.find("pPr/outlineLvl")
    level = integer(outline.get("val"), -1) + 1 if outline is not None else 0
    return level if 0 < level <= _MOST_LEVEL else 0


def list_place(node: Any) -> tuple[str, int]:
    """Return the list and the level (from 0) that a style or paragraph names; "" is no list and
    "0" takes a paragraph out of its style's list."""
    place = node.find("pPr/numPr")
    if place is None:
        return "", 0
    name, level = place.find("numId"), place.find("ilvl")
    depth = integer(level.get("val")) if level is not None else 0
    return (name.get("val", "") if name is not None else ""), max(0, min(_MOST_LISTS, depth))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How one level of a list is numbered: its kind of number and its text with `%1`."""

    kind: str
    text: str
    start: int


@dataclass(slots=True, kw_only=True)
class Numbering:
    """The lists of a document, and how far each has been counted."""

    levels: dict[str, dict[int, Level]]
    family: dict[str, str]  # lists of one family go on counting together
    restarts: dict[str, set[int]]
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    def marker(self, list_id: str, depth: int) -> str:
        """Count an item and return what stands before it: `2.1`, `a)`, or `-` for a bullet."""
        levels = self.levels.get(list_id, {})
        level = levels.get(depth)
        if level is None:
            return "-"
        counts = self._counts.setdefault(self.family.get(list_id, list_id), {})
        if list_id not in self._begun:
            self._begun.add(list_id)
            for place in self.restarts.get(list_id, ()):
                counts.pop(place, None)
        counts[depth] = counts[depth] + 1 if depth in counts else level.start
        for deeper in [place for place in counts if place > depth]:
            del counts[deeper]
        if level.kind in ("bullet", "none") and "%" not in level.text:
            return "-" if level.kind == "bullet" else ""

        def number(match: regex.Match[str]) -> str:
            place = int(match[1]) - 1
            known = levels.get(place)
            begun = counts.get(place, known.start if known else 1)
            return _number(begun, known.kind if known else "decimal")

        return regex.sub(r"%(\d)", number, level.text).strip()


def read_numbering(root: Any | None) -> Numbering:
    """Return the lists that a document defines."""
    numbering = Numbering(levels={}, family={}, restarts={})
    if root is None:
        return numbering
    kinds = {node.get("abstractNumId", ""): _levels(node) for node in root.iter("abstractNum")}
    for node in root.iter("num"):
        name = node.get("numId", "")
        kind = node.find("abstractNumId")
        family = kind.get("val", "") if kind is not None else ""
        levels = dict(kinds.get(family, {}))
        for override in node.iter("lvlOverride"):
            place = integer(override.get("ilvl"))
            levels.update(_levels(override))
            start = override.find("startOverride")
            if start is not None and place in levels:
                numbering.restarts.setdefault(name, set()).add(place)
                old = levels[place]
                levels[place] = Level(kind=old.kind, text=old.text, start=_integer(start))
        numbering.levels[name] = levels
        numbering.family[name] = family
    return numbering


def _levels(node: Any) -> dict[int, Level]:
    found = {}
    for level in node.iter("lvl"):
        kind, text, start = level.find("numFmt"), level.find("lvlText"), level.find("start")
        place = integer(level.get("ilvl"), -1)
        if place >= 0:
            found[place] = Level(
                kind=kind.get("val", "decimal") if kind is not None else "decimal",
                text=text.get("val", "") if text is not None else "",
                start=_integer(start) if start is not None else 1,
            )
    return found


def _integer(node: Any) -> int:
    return integer(node.get("val"), 1)


def _number(value: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter") and value > 0:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in ("lowerRoman", "upperRoman") and 0 < value < 4_000:
        return _roman(value).lower() if kind == "lowerRoman" else _roman(value)
    if kind == "decimalZero":
        return f"{value:02d}"
    return str(value)


def _roman(value: int) -> str:
    signs = (
        *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L")),
        *((40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
    )
    text = ""
    for worth, sign in signs:
        times, value = divmod(value, worth)
        text += sign * times
    return text
