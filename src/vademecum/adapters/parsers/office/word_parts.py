"""How are the parts of a DOCX document walked through, whatever is wrapped around them?"""

from collections.abc import Iterator
from typing import Any

from vademecum.adapters.parsers.integers import integer

_MOST_SPAN = 100
THROUGH = frozenset(
    (
        *(
            "ins",
            "moveTo",
            "smartTag",
            "customXml",
            "sdtContent",
            "hyperlink",
            "fldSimple",
            "bdo",
            "dir",
        ),
    )
)


def chosen(alternate: Any) -> Any:
    """Return one of the forms of a part that is there in several, so that it is read once."""
    choice = alternate.find("Choice")
    return choice if choice is not None else next(iter(alternate), alternate)


def inside(parent: Any, name: str) -> Iterator[Any]:
    """Yield the elements of a table's part, through the wrappers that may stand around them."""
    for child in parent:
        if child.tag == name:
            yield child
        elif child.tag in THROUGH or child.tag == "sdt":
            yield from inside(child, name)
        elif child.tag == "AlternateContent":
            yield from inside(chosen(child), name)


def ancestors(node: Any, top: Any) -> Iterator[Any]:
    for above in node.iterancestors():
        if above is top:
            return
        yield above


def times(node: Any | None, default: int) -> int:
    value = integer(node.get("val") if node is not None else None, default)
    return max(0, min(_MOST_SPAN, value))


def says(root: Any) -> bool:
    return any((node.text or "").strip() for node in root.iter("t"))
