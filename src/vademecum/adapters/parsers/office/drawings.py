"""What do charts, diagrams and formulas say?"""

from collections.abc import Iterator
from typing import Any

import regex

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.integers import integer
from vademecum.adapters.parsers.office.number_formats import general
from vademecum.adapters.parsers.office.package import Package

_NUMBER = regex.compile(r"-?\d{1,18}\.\d+")
_MOST_POINTS = 10_000
_SCRIPTS = {"sup": "^", "sub": "_"}


def read_drawing(
    package: Package, part: str, drawing: Any, composer: Composer, *, values: bool = True
) -> None:
    """Put the charts and diagrams that a drawing of `part` refers to into the composer; of the
    charts only their titles where their `values` stand elsewhere."""
    relations = package.relations(part)
    for node in drawing.iter("chart", "relIds"):
        relation = relations.get(node.get("id" if node.tag == "chart" else "dm", ""))
        root = package.xml(relation.target) if relation and relation.target else None
        if root is None:
            continue
        if node.tag == "chart":
            read_chart(root, composer, values=values)
        else:
            for point in root.iter("pt"):
                composer.item(drawn_text(point))


def read_chart(root: Any, composer: Composer, *, values: bool) -> None:
    """Put a chart's title and its values into the composer, a row for each category."""
    title = next(root.iter("title"), None)
    composer.paragraph(drawn_text(title) if title is not None else "")
    if not values:
        return
    names: list[str] = [""]
    columns: list[dict[int, str]] = []
    categories: dict[int, str] = {}
    for series in root.iter("ser"):
        names.append(" ".join(_points(series.find("tx")).values()))
        categories = categories or _points(_first(series, "cat", "xVal"))
        columns.append(_points(_first(series, "val", "yVal")))
    places = sorted({place for column in [categories, *columns] for place in column})
    rows = [
        [categories.get(place, ""), *(column.get(place, "") for column in columns)]
        for place in places[:_MOST_POINTS]
    ]
    composer.table([names, *rows] if rows else [], header_rows=1)


def _first(series: Any, *names: str) -> Any:
    return next((node for name in names if (node := series.find(name)) is not None), None)


def _points(node: Any) -> dict[int, str]:
    """Return the values that the program stored, by their place."""
    if node is None:
        return {}
    found = {}
    for point in node.iter("pt"):
        value = point.find("v")
        place = integer(point.get("idx"), -1)
        if value is not None and value.text and place >= 0:
            found[place] = _tidy(value.text.strip())
    if not found and (value := node.find("v")) is not None and value.text:
        found[0] = value.text.strip()
    return found


def _tidy(value: str) -> str:
    return general(float(value)) if _NUMBER.fullmatch(value) else value


def drawn_text(node: Any) -> str:
    """Return the text of drawn paragraphs, a line each."""
    return "\n".join(
        line for paragraph in node.iter("p") if (line := drawn_line(paragraph).strip())
    )


def drawn_line(paragraph: Any) -> str:
    """Return the text of one drawn paragraph (`a:p`)."""
    parts = []
    for node in paragraph.iter("t", "br", "tab", "oMath"):
        if node.tag == "t" and not _within(node, "oMath"):
            parts.append(node.text or "")
        elif node.tag == "oMath":
            parts.append(formula(node))
        elif node.tag == "br":
            parts.append("\n")
    return "".join(parts)


def _within(node: Any, name: str) -> bool:
    return next(node.iterancestors(name), None) is not None


def formula(node: Any) -> str:
    """Return a formula (`m:oMath`) in one line: `x^2`, `(a+b)/(2)`, `√(x)`."""
    return "".join(_formula_parts(node)).strip()


def _formula_parts(node: Any) -> Iterator[str]:
    for child in node:
        tag = child.tag
        if tag == "t":
            yield child.text or ""
        elif tag == "f":
            yield f"{_grouped(child.find('num'))}/{_grouped(child.find('den'))}"
        elif tag in ("sup", "sub") and len(text := formula(child)):
            yield f"{_SCRIPTS[tag]}{text if len(text) == 1 else f'({text})'}"
        elif tag == "rad":
            yield f"{formula(child.find('deg')) if child.find('deg') is not None else ''}√"
            yield f"({formula(child.find('e'))})" if child.find("e") is not None else ""
        elif tag == "nary":
            sign = child.find("naryPr/chr")
            yield (sign.get("val") or "∫") if sign is not None else "∫"
            yield from _formula_parts(child)
        elif tag == "d":
            yield f"({formula(child)})"
        elif tag == "mr":
            yield "; ".join(formula(cell) for cell in child) + " | "
        elif tag not in ("rPr", "ctrlPr"):
            yield from _formula_parts(child)


def _grouped(node: Any) -> str:
    text = formula(node) if node is not None else ""
    return text if len(text) <= 1 or text.isalnum() else f"({text})"
