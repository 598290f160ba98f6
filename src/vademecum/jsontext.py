"""How is a value written as JSON, whoever reads it, and how is it read?"""

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

_OBJECT, _OBJECT_OR_LIST = re.compile(r"\{"), re.compile(r"[{\[]")


def written(value: Any, *, indent: int | None = None) -> str:
    """Return one JSON document as text. Half a character of a file's name stays what it is."""
    return json.dumps(value, default=_plain, ensure_ascii=False, indent=indent)


def read(text: str) -> Any:
    """Return the value of one JSON document."""
    return json.loads(text)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield each JSON object that stands in a text, the outermost ones: what a language model
    says before and behind does no harm, nor a list around them."""
    return _values(text, _OBJECT)


def objects_and_lists(text: str) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield each JSON object or list that stands in a text, the outermost ones."""
    return _values(text, _OBJECT_OR_LIST)


def _values(text: str, opening: re.Pattern[str]) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while start := opening.search(text, at):
        try:
            value, at = decoder.raw_decode(text, start.start())
        except json.JSONDecodeError:
            at = start.end()
        except RecursionError:
            return
        else:
            yield value


def _plain(value: Any) -> Any:
    match value:
        case UUID() | Path():
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case frozenset() | set():
            return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
