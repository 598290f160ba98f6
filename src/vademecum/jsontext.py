"""How is a value written as JSON, whoever reads it?"""

import json
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


def _plain(value: Any) -> Any:
    match value:
        case UUID() | Path():
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case frozenset() | set():
            return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
