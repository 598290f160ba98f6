"""How are values of JSON read? As they are written, whatever their size, with every member."""

import json
from dataclasses import dataclass
from typing import Any

from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.uris import name_of
from vademecum.errors import DocumentUnreadable, LimitExceeded
from vademecum.model.document import ParsedDocument

_TITLES = ("title", "name")


@dataclass(frozen=True, slots=True)
class Members:
    """The members of an object in their order; a name that stands twice is kept twice."""

    pairs: tuple[tuple[str, Any], ...]

    def get(self, *names: str) -> str:
        """Return the first of these members that is a text or a number, or an empty string."""
        found = dict(self.pairs)
        values = (found.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value.strip()), "")


def loads(text: str) -> Any:
    """Return Members, lists and texts: numbers and constants stay as they are written.

    Raises ValueError where it is no JSON, RecursionError where it is too deep.
    """
    return json.loads(
        text.lstrip("\ufeff"),
        object_pairs_hook=lambda pairs: Members(tuple(pairs)),
        parse_int=str,
        parse_float=str,
        parse_constant=str,
    )


def is_json(text: str) -> bool:
    """Tell whether a text is one object or array."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") and _loads(text)


def is_json_lines(text: str) -> bool:
    """Tell whether a text is at least two objects or arrays, one on each line."""
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and all(map(is_json, lines))


def _loads(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def parse_json(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read JSON as `key: value` lines, so that each value stands beside its name; an object in a
    list is one block."""
    value = _value(decode(content), uri)
    composer = Composer()
    for line in _lines(value, ""):
        composer.paragraph(line)
    title = value.get(*_TITLES) if isinstance(value, Members) else ""
    return composer.document(title=title or name_of(uri), media_type=media_type)


def parse_json_lines(content: bytes, uri: str, media_type: str) -> ParsedDocument:
    """Read JSON lines: each is a block of its own."""
    composer = Composer()
    for line in decode(content).split("\n"):
        if line.strip():
            composer.item("; ".join(_lines(_value(line, uri), "")), marker="")
    return composer.document(title=name_of(uri), media_type=media_type)


def _value(text: str, uri: str) -> Any:
    try:
        return loads(text)
    except ValueError as error:
        raise DocumentUnreadable(
            f"{uri} is not valid JSON", hint="check the file with a JSON tool"
        ) from error
    except RecursionError as error:
        raise LimitExceeded(
            f"{uri} nests its values too deep", hint="split or flatten the document"
        ) from error


def _lines(root: Any, path: str) -> list[str]:
    """Return the lines of a value: one for each single value with the names that lead to it, and
    one for each object in a list."""
    lines: list[str] = []
    waiting = [(root, path)]
    while waiting:
        value, name = waiting.pop()
        if isinstance(value, Members):
            if name and all(_is_plain(item) for _, item in value.pairs):
                lines.append(_labelled(name, _record(value)))
            else:
                inner = [(item, f"{name} {_name(key)}".strip()) for key, item in value.pairs]
                waiting.extend(reversed(inner))
        elif isinstance(value, list) and not all(map(_is_plain, value)):
            lines.extend(_labelled(name, "; ".join(_lines(item, ""))) for item in value)
        elif isinstance(value, list):
            lines.append(_labelled(name, ", ".join(map(_shown, value))))
        else:
            lines.append(_labelled(name, _shown(value)))
    return [line for line in lines if line.strip()]


def _record(value: Members) -> str:
    return "; ".join(f"{_name(key)}: {_shown(item)}" for key, item in value.pairs)


def _labelled(name: str, text: str) -> str:
    return f"{name}: {text}" if name else text


def _name(key: str) -> str:
    return key.replace("_", " ")


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Members | list)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
