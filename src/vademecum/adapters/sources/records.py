"""Which records does a file hold, where each of them is to be a document of its own?"""

import json
from collections.abc import Iterator
from typing import Any

from vademecum.adapters.parsers.decode import decode
from vademecum.adapters.parsers.delimited import table_of
from vademecum.adapters.parsers.media_type import CSV, JSON, JSON_LINES, TSV, media_type
from vademecum.errors import DocumentUnreadable
from vademecum.text.normalise import clean

_NAMES = ("id", "_id", "uri")


def records(content: bytes, uri: str) -> Iterator[tuple[str, bytes]]:
    """Yield (uri of the record, its JSON in UTF-8) for each item of a JSON array, each line of
    JSON lines, or each row of CSV.

    The record's member `id`, `_id` or `uri` names it behind a `#`, else its number from 1; where
    two have one name, the later ones have their number as well. Raises DocumentUnreadable
    and its kinds.
    """
    seen: set[str] = set()
    for number, record in enumerate(_records(content, uri), start=1):
        name = _name(record) or str(number)
        if name in seen:
            name = f"{name}.{number}"
        seen.add(name)
        text = json.dumps(record, ensure_ascii=False)
        yield f"{uri}#{name}", text.encode("utf-8", errors="ignore")


def _records(content: bytes, uri: str) -> Iterator[Any]:
    kind = media_type(content, uri)
    text = decode(content)
    if kind == JSON:
        value = _loads(text)
        yield from value if isinstance(value, list) else [value]
    elif kind == JSON_LINES:
        yield from map(_loads, filter(str.strip, text.split("\n")))
    elif kind in (CSV, TSV):
        names, rows = table_of(clean(text))
        for row in rows:
            yield _row(names, row)
    else:
        raise DocumentUnreadable(
            f"{uri} has no records that can be read", hint="give a JSON array, JSON lines or CSV"
        )


def _loads(text: str) -> Any:
    # A number of more digits than Python likes to count with stays a text.
    return json.loads(text.lstrip("\ufeff"), parse_int=_number)


def _number(digits: str) -> int | str:
    return int(digits) if len(digits) < 400 else digits


def _row(names: list[str], row: list[str]) -> dict[str, str]:
    """Return the row's values by name; what has none is named after its column's number."""
    found: dict[str, str] = {}
    for position, value in enumerate(row):
        name = names[position].strip() if position < len(names) else ""
        if not name or name in found:
            name = f"{name or 'column'} {position + 1}"
        found[name] = value
    return found


def _name(record: Any) -> str:
    if not isinstance(record, dict):
        return ""
    for name in _NAMES:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return clean(str(value)).strip()
    return ""
