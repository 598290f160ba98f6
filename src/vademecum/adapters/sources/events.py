"""What does another system say of its documents, an event a line?

`{"op": "upsert", "uri": "…", "version": 7, "text": "…"}` or `{"op": "delete", "uri": "…",
"version": 8}`. Instead of `text`, `content` holds bytes in base64. Collection, access, metadata,
language, title and chunker may be given beside; else they are those of the call.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any

from vademecum.adapters.sources.files import Facts
from vademecum.model.document import Deletion, Refused, Source, State

_KEYS = {
    "op", "uri", "version", "text", "content", "collection", "access", "metadata", "language",
    "title", "chunker",
}  # fmt: skip


def read(lines: Iterable[str], facts: Facts) -> Iterator[Source | Deletion | Refused]:
    """Read events; a line that is none costs itself only. Blank lines are left out."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _event(json.loads(line), facts)
        except (ValueError, RecursionError) as error:
            reason = "it is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            yield Refused(uri=f"line {number}", reason=reason, state=State.REJECTED)


def _event(told: Any, facts: Facts) -> Source | Deletion:
    if not isinstance(told, dict):
        raise ValueError("an event is a JSON object")  # noqa: TRY004  # one kind for all
    if unknown := sorted(told.keys() - _KEYS):
        raise ValueError(f"an event has no {unknown[0]!r}")
    uri, version = told.get("uri"), told.get("version")
    if not isinstance(uri, str) or not uri:
        raise ValueError("an event names its document in 'uri'")
    if version is not None and (type(version) is not int or not 0 <= version < 2**63):
        raise ValueError("'version' is a whole number from 0")
    collection = _text(told, "collection") or facts.collection
    match told.get("op"):
        case "delete":
            return Deletion(uri=uri, collection=collection, version=version)
        case "upsert":
            return Source(
                uri=uri,
                content=_content(told),
                collection=collection,
                access=_labels(told, facts),
                metadata={**facts.metadata, **_metadata(told)},
                language=_text(told, "language") or facts.language,
                title=_text(told, "title"),
                version=version,
                chunker=_text(told, "chunker") or facts.chunker,
            )
    raise ValueError("'op' is upsert or delete")


def _content(told: dict[str, Any]) -> bytes:
    text, content = told.get("text"), told.get("content")
    if isinstance(text, str) and content is None:
        return text.encode("utf-8", "replace")
    if isinstance(content, str) and text is None:
        try:
            return base64.b64decode(content, validate=True)
        except binascii.Error as error:
            raise ValueError("'content' is not base64") from error
    raise ValueError("an upsert has either 'text' or 'content'")


def _text(told: dict[str, Any], key: str) -> str | None:
    value = told.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key!r} is a text")
    return value


def _labels(told: dict[str, Any], facts: Facts) -> tuple[str, ...]:
    value = told.get("access", list(facts.access))
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise ValueError("'access' is a list of labels")
    return tuple(value)


def _metadata(told: dict[str, Any]) -> dict[str, Any]:
    value = told.get("metadata", {})
    if not isinstance(value, dict) or any(isinstance(v, dict | list) for v in value.values()):
        raise ValueError("'metadata' is an object of plain values")
    return value
