"""How does PostgreSQL ask what a filter asks? As a jsonpath whose values are all bound."""

import json
from typing import Any

from vademecum.model.filter import And, Compare, Exists, Filter, Not, OneOf, Or

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_NEVER = "(1 == 2)"


def compiled(wanted: Filter) -> tuple[str, dict[str, Any]]:
    """Return a jsonpath and its variables for `jsonb_path_match(facts, path, variables)`.

    The path holds nothing of the caller's but keys as JSON strings. Every part of it is true or
    false, never unknown, and none raises: `matches` tells which.
    """
    variables: dict[str, Any] = {}
    return _path(wanted, variables), variables


def _path(wanted: Filter, variables: dict[str, Any]) -> str:
    match wanted:
        case And(parts=parts):
            return f"({' && '.join(_path(part, variables) for part in parts)})"
        case Or(parts=parts):
            return f"({' || '.join(_path(part, variables) for part in parts)})"
        case Not(part=part):
            return f"(!{_path(part, variables)})"
        case Exists(key=key):
            return f"(exists({_at(key)}))"
        case OneOf():
            return _one_of(wanted, variables)
        case Compare(key=key, order=order, value=value):
            kind = "string" if isinstance(value, str) else "number"
            bound = _bind(value, variables)
            return _typed(key, kind, f"{_at(key)} {_SIGNS[order]} {bound}")


def _one_of(wanted: OneOf, variables: dict[str, Any]) -> str:
    at = _at(wanted.key)
    found = [
        _typed(wanted.key, kind, f"{at} == {_bind(list(values), variables)}[*]")
        for kind, values in (
            ("string", wanted.texts),
            ("number", wanted.numbers),
            ("boolean", wanted.booleans),
        )
        if values
    ]
    if wanted.null:
        found.append(f'({at}.type() == "null")')
    return f"({' || '.join(found)})" if found else _NEVER


def _typed(key: str, kind: str, comparison: str) -> str:
    """Compare only what is of the same kind: else the result is unknown, and the unknown of an
    array would be that of its elements."""
    return f'({_at(key)}.type() == "{kind}" && {comparison})'


def _at(key: str) -> str:
    return f"$.{json.dumps(key, ensure_ascii=False)}"


def _bind(value: Any, variables: dict[str, Any]) -> str:
    name = f"v{len(variables)}"
    variables[name] = value
    return f"${name}"
