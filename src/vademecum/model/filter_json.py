"""Which filter does a JSON value describe? Exactly one, or an error: nothing is guessed."""

import json
from collections.abc import Mapping
from typing import Any

from vademecum.errors import InvalidFilter
from vademecum.model.document import MetadataValue
from vademecum.model.filter import (
    UPDATED_AT,
    And,
    Compare,
    Exists,
    Filter,
    Not,
    OneOf,
    Or,
    Order,
    moment_text,
    short,
)

MOST_LEVELS = 32
MOST_VALUES = 4_000
_ORDERS: Mapping[str, Order] = {"gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte"}
_OPERATORS = ("eq", "ne", "in", *_ORDERS, "exists", "null", "and", "or", "not")
_EXAMPLE = 'for example {"eq":["venue","arena"]}'


def parse_filter(value: object) -> Filter:
    """Return the filter that a JSON value (dicts, lists and scalars) describes.

    Raises: InvalidFilter for whatever is not exactly a filter, or is larger than MOST_LEVELS of
    nesting or MOST_VALUES values.
    """
    _check_size(value)
    return _parsed(value)


def read_filter(text: str) -> Filter:
    """Return the filter that a JSON text describes. Raises: InvalidFilter."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise InvalidFilter(f"the filter {short(text)} is not JSON", hint=_EXAMPLE) from error
    return parse_filter(value)


def where(text: str) -> Filter:
    """Return the filter that `key=value` is short for: `eq` with the value as `read_pair` reads
    it. Raises: InvalidFilter."""
    try:
        key, value = read_pair(text)
    except ValueError as error:
        raise InvalidFilter(
            f"{short(text)} is not KEY=VALUE", hint="for example venue=arena"
        ) from error
    return parse_filter({"eq": [key, value]})


def read_pair(text: str) -> tuple[str, MetadataValue]:
    """Return the key before the first `=` and the value after it: a JSON scalar where it is one,
    else the text itself. Raises: ValueError where there is no key or no `=`."""
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise ValueError("a pair is KEY=VALUE")
    try:
        scalar: MetadataValue = json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return key, value
    return key, value if isinstance(scalar, dict | list) else scalar


def as_json(wanted: Filter) -> dict[str, Any]:
    """Return the JSON value that `parse_filter` makes an equal filter of."""
    match wanted:
        case And(parts=parts):
            return {"and": [as_json(part) for part in parts]}
        case Or(parts=parts):
            return {"or": [as_json(part) for part in parts]}
        case Not(part=part):
            return {"not": as_json(part)}
        case Exists(key=key):
            return {"exists": key}
        case Compare(key=key, order=order, value=value):
            return {order: [key, value]}
        case OneOf(key=key):
            values = list(wanted.values)
            return {"eq": [key, values[0]]} if len(values) == 1 else {"in": [key, values]}


def _check_size(value: object) -> None:
    waiting, values = [(value, 1)], 0
    while waiting:
        item, level = waiting.pop()
        values += 1
        if level > MOST_LEVELS or values > MOST_VALUES:
            raise InvalidFilter(
                f"the filter has over {MOST_LEVELS} levels or {MOST_VALUES} values",
                hint="ask for less at a time",
            )
        if isinstance(item, dict | list):
            inner = item.values() if isinstance(item, dict) else item
            waiting += [(part, level + 1) for part in inner]


def _parsed(value: object) -> Filter:
    if not isinstance(value, dict) or len(value) != 1:
        raise InvalidFilter(f"{short(value)} is not one operator with what it takes", hint=_EXAMPLE)
    [(operator, taken)] = value.items()
    match operator:
        case "and" | "or":
            if not isinstance(taken, list):
                raise InvalidFilter(
                    f"{operator} takes a list of filters, not {short(taken)}", hint=_EXAMPLE
                )
            parts = tuple(_parsed(part) for part in taken)
            return And(parts=parts) if operator == "and" else Or(parts=parts)
        case "not":
            return Not(part=_parsed(taken))
        case "exists":
            return Exists(key=_key(operator, taken))
        case "null":
            return _one_of(_key(operator, taken), [None])
        case "eq" | "ne" | "in" | "gt" | "gte" | "lt" | "lte":
            return _comparison(operator, taken)
    raise InvalidFilter(
        f"there is no operator {short(operator)} in filters", hint=f"use {', '.join(_OPERATORS)}"
    )


def _comparison(operator: str, taken: object) -> Filter:
    if not isinstance(taken, list) or len(taken) != 2:
        form = "[key, [values]]" if operator == "in" else "[key, value]"
        raise InvalidFilter(f"{operator} takes {form}, not {short(taken)}", hint=_EXAMPLE)
    key, operand = _key(operator, taken[0]), taken[1]
    if operator in _ORDERS:
        return _compare(key, _ORDERS[operator], operand)
    if operator != "in":
        equal = _one_of(key, [operand])
        return equal if operator == "eq" else Not(part=equal)
    if not isinstance(operand, list):
        raise InvalidFilter(
            f"in takes a list of values, not {short(operand)}", hint="use eq for one value"
        )
    return _one_of(key, operand)


def _compare(key: str, order: Order, operand: object) -> Compare:
    value = _scalar(key, operand)
    if value is None or isinstance(value, bool):
        raise InvalidFilter(
            f"{order} cannot order {short(value)}", hint="give it a number or a text"
        )
    if key == UPDATED_AT and isinstance(value, str):
        value = moment_text(value, end=order in ("gt", "lte")) or value
    return Compare(key=key, order=order, value=value)


def _one_of(key: str, values: list[Any]) -> OneOf:
    known = [_scalar(key, value) for value in values]
    return OneOf(
        key=key,
        texts=tuple(value for value in known if isinstance(value, str)),
        numbers=tuple(
            value
            for value in known
            if isinstance(value, int | float) and not isinstance(value, bool)
        ),
        booleans=tuple(value for value in known if isinstance(value, bool)),
        null=None in known,
    )


def _key(operator: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(
            f"{operator} takes the name of a key, not {short(value)}", hint=_EXAMPLE
        )
    return value


def _scalar(key: str, value: object) -> MetadataValue:
    if value is None or isinstance(value, str | int | float):
        return value
    raise InvalidFilter(
        f"the value {short(value)} of {short(key)} is not plain",
        hint="a value is a text, a number, true, false or null",
    )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a member twice: one of the two would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member stands twice")
    return found


def _refuse(name: str) -> MetadataValue:
    raise ValueError(f"{name} is not JSON")
