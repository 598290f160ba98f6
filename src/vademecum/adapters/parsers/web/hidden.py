"""Which parts of a page does nobody see?"""

import itertools
from collections.abc import Mapping

import regex
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

_CLASSES = frozenset(
    (
        *("hidden", "d-none", "sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text"),
        *("screen-reader-only", "invisible", "is-hidden", "u-hidden", "element-invisible", "hide"),
        *("offscreen", "display-none", "a11y-hidden", "visually-hidden-focusable"),
    )
)
# With one of these beside it, a part is hidden on small screens only.
_SHOWN_WIDER = regex.compile(
    r"(?:d-)?(?:sm|md|lg|xl|xxl)[-:](?:block|flex|inline|grid|table)\S*|d-\w+-\w+"
)
_MOST_RULES = 500
_COMMENT = regex.compile(r"/\*.*?(?:\*/|\Z)", regex.S)
# Only what names elements plainly: a state such as `:hover` hides nothing as the page opens.
_PLAIN_SELECTOR = regex.compile(r"[\w-]*(?:[.#][\w-]+)*")
_WHOLE_PAGE = frozenset(("html", "body", "*", ""))
_NUMBER = regex.compile(r"-?\d*\.?\d+")
_FAR = 500.0
_POSITIONED = frozenset(("absolute", "fixed"))
_SIDES = ("left", "right", "top", "bottom", "margin-left", "margin-top", "inset-inline-start")
_NOTHING_CLIPPED = regex.compile(
    r"rect\(\s*[01](?:px)?(?:[\s,]+[01](?:px)?){3}\s*\)|inset\(\s*(?:50|100)%.*\)|circle\(0.*\)"
)
_NAMED_COLOURS = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "blue": "#0000ff"}
_SHORT_COLOUR = regex.compile(r"#[0-9a-f]{3}")
_LONG_COLOUR = regex.compile(r"#[0-9a-f]{6}")
_RGB = regex.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+([\d.]+%?))?\s*\)")


def declarations(style: str) -> dict[str, str]:
    """Return the properties that a style sets, in small letters."""
    found = {}
    for part in _COMMENT.sub("", style).lower().split(";"):
        name, parted, value = part.partition(":")
        if parted:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def hides(style: Mapping[str, str]) -> bool:
    """Tell whether an element with this style is not seen."""
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("content-visibility") == "hidden"
        or _is_nothing(style.get("opacity"))
        or _is_nothing(style.get("font-size"))
        or style.get("color") == "transparent"
        or _is_away(style)
        or _is_cut(style)
        or (style.get("transform") or "").replace(" ", "").startswith("scale(0)")
    )


def _is_nothing(value: str | None) -> bool:
    number = _number(value)
    return number is not None and abs(number) < 0.01


def _number(value: str | None) -> float | None:
    match = _NUMBER.match(value or "")
    return float(match.group()) if match else None


def _is_away(style: Mapping[str, str]) -> bool:
    """Tell whether it stands outside of every screen."""
    indent = _number(style.get("text-indent"))
    if indent is not None and indent <= -_FAR:
        return True
    if style.get("position") not in _POSITIONED:
        return False
    return any((_number(style.get(side)) or 0.0) <= -_FAR for side in _SIDES)


def _is_cut(style: Mapping[str, str]) -> bool:
    if _NOTHING_CLIPPED.fullmatch(style.get("clip", "") or style.get("clip-path", "")):
        return True
    if style.get("overflow") not in ("hidden", "clip"):
        return False
    sizes = (_number(style.get(side)) for side in ("width", "height", "max-height", "max-width"))
    return any(size is not None and size <= 1 for size in sizes)


def hidden_by_rules(page: LexborHTMLParser) -> frozenset[int]:
    """Return the identities (`mem_id`) of the elements that the page's own style sheets hide."""
    styles = "\n".join(node.text(deep=True) for node in page.css("style"))
    hidden: set[int] = set()
    selectors = (
        selector
        for names, style in _rules(styles)
        if hides(declarations(style))
        for selector in names.split(",")
    )
    for name in itertools.islice(map(str.strip, selectors), _MOST_RULES):
        if not _PLAIN_SELECTOR.fullmatch(name) or name.lower() in _WHOLE_PAGE:
            continue
        try:
            hidden.update(node.mem_id for node in page.css(name))
        except SelectolaxError:
            continue  # no selector after all
    return frozenset(hidden)


def _rules(styles: str) -> list[tuple[str, str]]:
    """Return (selectors, declarations) of the rules that hold without a condition."""
    rules = []
    depth, start, names = 0, 0, ""
    conditional = False
    for match in regex.finditer(r"[{}]", styles := _COMMENT.sub("", styles)):
        if match.group() == "{":
            if depth == 0:
                names = styles[start : match.start()].strip().rsplit(";", 1)[-1].strip()
                conditional = names.startswith("@")
            depth += 1
            start = match.end()
        else:
            if depth == 1 and not conditional:
                rules.append((names, styles[start : match.start()]))
            depth = max(0, depth - 1)
            start = match.end()
    return rules


def colour(value: str | None) -> str | None:
    """Return a colour as `#rrggbb`, or None where it is none that is known here."""
    value = (value or "").strip().lower().split(" no-repeat")[0]
    if value in _NAMED_COLOURS:
        return _NAMED_COLOURS[value]
    if _SHORT_COLOUR.fullmatch(value):
        return "#" + "".join(2 * digit for digit in value[1:])
    if _LONG_COLOUR.fullmatch(value):
        return value
    if match := _RGB.fullmatch(value):
        return "#" + "".join(f"{min(255, int(part)):02x}" for part in match.groups()[:3])
    return None


def is_hidden(node: LexborNode, style: Mapping[str, str], rules: frozenset[int]) -> bool:
    """Tell whether an element itself, whatever stands around it, is not seen."""
    attributes = node.attributes
    if "hidden" in attributes or (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    if node.tag == "dialog" and "open" not in attributes:
        return True
    names = (attributes.get("class") or "").lower().split()
    if not _CLASSES.isdisjoint(names) and not any(map(_SHOWN_WIDER.fullmatch, names)):
        return True
    return hides(style) or node.mem_id in rules
