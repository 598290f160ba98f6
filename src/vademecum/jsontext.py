"""How is a value written as JSON, whoever reads it, and how is it read?"""

import json
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID


def written(value: Any, *, indent: int | None = None) -> str:
    """Return one JSON document as text. Half a character of a file's name stays what it is."""
    return json.dumps(value, default=_plain, ensure_ascii=False, indent=indent)


def read(text: str) -> Any:
    """Return the value of one JSON document."""
    return json.loads(text)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield each JSON object that stands in a text, the outermost ones: what a language model
    says before and behind does no harm."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            at = start + 1
        except RecursionError:
            return
        else:
            if isinstance(value, dict):
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
