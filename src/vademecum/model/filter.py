"""Which documents does a filter let through, and which filters are there at all?

A filter asks about the facts of a document: its metadata, and the five facts of DOCUMENT_KEYS.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from vademecum.errors import InvalidFilter
from vademecum.model.document import MetadataValue

MOST_KEY = 200
MOST_TEXT = 2_000
MOST_BITS = 1_100  # of a whole number; the largest fraction has 1,024

# What is known of every document beside its metadata, and the kind of value that it has.
DOCUMENT_KEYS: Mapping[str, Literal["text", "number"]] = {
    "document.language": "text",
    "document.collection": "text",
    "document.uri": "text",
    "document.version": "number",
    "document.updated_at": "text",
}
UPDATED_AT = "document.updated_at"
_PREFIX = "document."

Order = Literal["gt", "gte", "lt", "lte"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The key is there and has one of the values, of the same kind: "2024" is not 2024, and true
    is not 1. Without any value it matches nothing."""

    key: str
    texts: tuple[str, ...] = ()
    numbers: tuple[int | float, ...] = ()
    booleans: tuple[bool, ...] = ()
    null: bool = False

    def __post_init__(self) -> None:
        _check_key(self.key)
        for value in self.values:
            _check_value(self.key, value)

    @property
    def values(self) -> tuple[MetadataValue, ...]:
        nulls = (None,) if self.null else ()
        return (*self.texts, *self.numbers, *self.booleans, *nulls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """The key has a value of the kind of `value` that comes after it (`gt`), and so on: numbers
    by size, texts by their code points."""

    key: str
    order: Order
    value: str | int | float

    def __post_init__(self) -> None:
        _check_key(self.key)
        _check_value(self.key, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exists:
    """The key is there, whatever its value, null too."""

    key: str

    def __post_init__(self) -> None:
        _check_key(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The part does not match."""

    part: "Filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class And:
    """All parts match; there is at least one."""

    parts: tuple["Filter", ...]

    def __post_init__(self) -> None:
        _check_parts("and", self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Or:
    """Any part matches; there is at least one."""

    parts: tuple["Filter", ...]

    def __post_init__(self) -> None:
        _check_parts("or", self.parts)


Filter = OneOf | Compare | Exists | Not | And | Or


def all_of(parts: Iterable[Filter]) -> Filter | None:
    """Return the filter that all the parts make together, None where there are none."""
    found = tuple(parts)
    return And(parts=found) if len(found) > 1 else next(iter(found), None)


def keys_of(wanted: Filter) -> frozenset[str]:
    """Return the keys that a filter asks about."""
    match wanted:
        case And(parts=parts) | Or(parts=parts):
            return frozenset().union(*map(keys_of, parts))
        case Not(part=part):
            return keys_of(part)
        case _:
            return frozenset([wanted.key])


def check_filter(wanted: Filter | None, allowed: frozenset[str]) -> Filter | None:
    """Return the filter if it is one, and asks only about metadata in `allowed`, where that is
    not empty. Raises: InvalidFilter."""
    if wanted is None:
        return None
    if not isinstance(wanted, Filter):
        raise InvalidFilter(
            f"a search takes a Filter, not {short(wanted)}",
            hint="vademecum.model.filter_json.parse_filter makes one of JSON",
        )
    if allowed and (refused := sorted(keys_of(wanted) - allowed - DOCUMENT_KEYS.keys())):
        raise InvalidFilter(
            f"filters may not ask about {short(refused[0])}",
            hint="an operator may allow it with search.filter_keys",
        )
    return wanted


def document_facts(
    metadata: Mapping[str, Any],
    *,
    language: str,
    collection: str,
    uri: str,
    version: int,
    updated_at: datetime,
) -> dict[str, Any]:
    """Return what a filter sees of a document. `updated_at` counts to the second, in UTC."""
    own = (language, collection, uri, version, _second(updated_at))
    return {**metadata, **dict(zip(DOCUMENT_KEYS, own, strict=True))}


def matches(wanted: Filter, facts: Mapping[str, object]) -> bool:
    """Tell whether a document with these facts is let through.

    This is what filters mean; the database is tested against it. A value that is no scalar is
    there (`exists`), and equal to nothing.
    """
    match wanted:
        case And(parts=parts):
            return all(matches(part, facts) for part in parts)
        case Or(parts=parts):
            return any(matches(part, facts) for part in parts)
        case Not(part=part):
            return not matches(part, facts)
        case Exists(key=key):
            return key in facts
        case OneOf(key=key):
            return key in facts and _is_one(wanted, facts[key])
        case Compare(key=key):
            return key in facts and _is_ordered(wanted, facts[key])


def _is_one(wanted: OneOf, value: object) -> bool:
    match value:
        case None:
            return wanted.null
        case bool():
            return value in wanted.booleans
        case str():
            return value in wanted.texts
        case int() | float():
            return any(_exact(value) == _exact(number) for number in wanted.numbers)
    return False


def _is_ordered(wanted: Compare, value: object) -> bool:
    match value, wanted.value:
        case bool(), _:
            return False
        case str(), str():
            return _holds(wanted.order, value, wanted.value)
        case (int() | float(), int() | float()):
            return _holds(wanted.order, _exact(value), _exact(wanted.value))
    return False


def _holds(order: Order, value: Any, bound: Any) -> bool:
    match order:
        case "gt":
            return bool(value > bound)
        case "gte":
            return bool(value >= bound)
        case "lt":
            return bool(value < bound)
        case "lte":
            return bool(value <= bound)


def _exact(number: float) -> Decimal:
    """Return the number that JSON writes, as a database keeps it: 1e30 is 10**30 exactly."""
    return Decimal(repr(number))


def _check_parts(operator: str, parts: tuple[Filter, ...]) -> None:
    if not parts:
        raise InvalidFilter(f"{operator} has no filters", hint="give one at least")


def _check_key(key: str) -> None:
    if not key or len(key) > MOST_KEY or not _storable(key):
        raise InvalidFilter(
            f"{short(key)} is no name of metadata",
            hint=f"a name has 1 to {MOST_KEY} characters, without NUL and half characters",
        )
    if key.startswith(_PREFIX) and key not in DOCUMENT_KEYS:
        raise InvalidFilter(
            f"there is no fact {short(key)}", hint=f"use {', '.join(DOCUMENT_KEYS)}"
        )


def _check_value(key: str, value: MetadataValue) -> None:
    if isinstance(value, str) and (len(value) > MOST_TEXT or not _storable(value)):
        raise InvalidFilter(
            f"the value {short(value)} of {short(key)} cannot be in metadata",
            hint=f"a text has at most {MOST_TEXT} characters, without NUL and half characters",
        )
    if (isinstance(value, float) and not math.isfinite(value)) or (
        isinstance(value, int) and value.bit_length() > MOST_BITS
    ):
        raise InvalidFilter(
            f"the value of {short(key)} is no finite number", hint="give it as text"
        )
    kind = DOCUMENT_KEYS.get(key)
    if (kind == "text" and not isinstance(value, str)) or (
        kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float))
    ):
        raise InvalidFilter(
            f"{key} is never {short(value)}, since it is a {kind}", hint=f"give a {kind} as JSON"
        )
    if key == UPDATED_AT and value != moment_text(str(value), end=None):
        raise InvalidFilter(
            f"the value {short(value)} of {key} is no moment",
            hint="write it like 2026-01-31T09:30:00Z; a day alone only with gt, gte, lt, lte",
        )


def _storable(text: str) -> bool:
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def moment_text(text: str, *, end: bool | None) -> str | None:
    """Return a moment as `document_facts` writes it; None where the text is none. A day alone
    stands for its last second or its first; with `end` None it is no moment."""
    try:
        moment = datetime.fromisoformat(text)
        if len(text) == len("2026-01-31"):
            if end is None:
                return None
            moment = moment.replace(hour=23, minute=59, second=59) if end else moment
        return _second(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _second(moment: datetime) -> str:
    at = moment.astimezone(UTC).replace(tzinfo=None)
    return at.isoformat(timespec="seconds") + "Z"


def short(value: object) -> str:
    """Return a value as one line of an error shows it."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
