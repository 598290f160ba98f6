"""What may come in at all?"""

import hashlib
import math
import re
from collections.abc import Mapping
from datetime import date

from vademecum.errors import InvalidSetting, LimitExceeded
from vademecum.model.document import EFFECTIVE_KEYS, MetadataValue, Source
from vademecum.model.embedding import EmbeddingSpace
from vademecum.ports.chunker import Chunking
from vademecum.ports.parser import Parser
from vademecum.text.analyse import VERSION as ANALYSER_VERSION
from vademecum.text.normalise import clean

MOST_BYTES = 100 * 1024 * 1024
MOST_URI = 2_000
MOST_LABELS = 64
MOST_LABEL = 200
MOST_METADATA_KEYS = 100
_LANGUAGE = re.compile(r"[a-z]{2,3}")  # ISO 639, as `text.language.detect` gives them


def check(source: Source) -> None:
    """Raise LimitExceeded or InvalidSetting where a source passes a limit."""
    if len(source.content) > MOST_BYTES:
        raise LimitExceeded(
            f"{source.uri} has over {MOST_BYTES // 2**20} MB", hint="split the document"
        )
    if not source.uri or len(source.uri) > MOST_URI:
        raise InvalidSetting(
            f"a uri has 1 to {MOST_URI} characters", hint="give another with --uri"
        )
    if not source.collection.strip() or len(source.collection) > MOST_LABEL:
        raise InvalidSetting(
            f"a collection's name has 1 to {MOST_LABEL} characters", hint="give a shorter one"
        )
    if len(source.access) > MOST_LABELS or any(
        not label or len(label) > MOST_LABEL for label in source.access
    ):
        raise InvalidSetting(
            f"at most {MOST_LABELS} access labels of 1 to {MOST_LABEL} characters",
            hint="use a group label",
        )
    if source.language is not None and not _LANGUAGE.fullmatch(source.language):
        raise InvalidSetting(
            f"{source.language[:40]!r} is no code of a language",
            hint="write it with two small letters, like pt",
        )
    for key in EFFECTIVE_KEYS:
        _check_date(key, source.metadata.get(key))
    if len(source.metadata) > MOST_METADATA_KEYS:
        raise InvalidSetting(
            f"at most {MOST_METADATA_KEYS} metadata keys", hint="keep the rest in the document"
        )
    _check_values(source)


def _check_values(source: Source) -> None:
    """Refuse what no database can hold: NUL, half characters, numbers that are none."""
    values = [*source.metadata, *source.metadata.values()]
    named = [source.uri, source.collection, *source.access, source.title, source.language]
    if any(not _storable(text) for text in [*named, *values] if isinstance(text, str)):
        raise InvalidSetting(
            "a name, label or metadata value holds a NUL or half a character",
            hint="give it as plain text",
        )
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise InvalidSetting(
            "a metadata value is not a finite number", hint="leave it out, or give it as text"
        )


def storable(found: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Return what a document says of itself as far as it can be kept: a day that is none, and
    what passes a limit, is left out, since nobody is there to be told."""
    kept: dict[str, MetadataValue] = {}
    for key, value in list(found.items())[:MOST_METADATA_KEYS]:
        if isinstance(value, float) and not math.isfinite(value):
            continue
        name, plain = clean(key).strip(), clean(value) if isinstance(value, str) else value
        if name and (name not in EFFECTIVE_KEYS or _is_date(plain)):
            kept[name] = plain
    return kept


def _storable(text: str) -> bool:
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def _check_date(key: str, value: object) -> None:
    if value is None or _is_date(value):
        return
    raise InvalidSetting(
        f"{key} is {str(value)[:40]!r}, which is no date", hint="write it like 2026-01-31"
    )


def _is_date(value: object) -> bool:
    try:
        # Other ISO forms, such as weeks, are no dates to the database.
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def fingerprint(
    parser: Parser, chunking: Chunking, space: EmbeddingSpace, collection: str, chunker: str | None
) -> str:
    """Return a text that changes whenever the same bytes would be ingested otherwise.

    Raises: InvalidSetting for a chunker that does not exist.
    """
    divided = chunking.fingerprint(collection, chunker)
    parts = (parser.fingerprint, divided, space.name, f"analyser-{ANALYSER_VERSION}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
