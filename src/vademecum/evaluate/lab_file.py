"""Is a lab file usable, and what does it hold?"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vademecum.errors import UsageError

Vector = tuple[float, ...]

WORD_PATTERN = "[a-z0-9]+"
_SHAPE = (
    "A lab is one JSON object with dimensions (names), chunks (id: text and vector), questions "
    "(text, vector, relevant), stop_words and candidates_per_leg."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabChunk:
    id: str
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LabQuestion:
    """A question; `relevant` are ids of chunks, empty where no chunk answers."""

    text: str
    vector: Vector
    relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Chunks and questions with vectors of one length, none of norm 0; ids are unique."""

    dimensions: tuple[str, ...]
    chunks: tuple[LabChunk, ...]
    questions: tuple[LabQuestion, ...]
    stop_words: frozenset[str]
    candidates_per_leg: int


def load_lab(text: str) -> Lab:
    """Return the lab that a JSON text describes; UsageError names the field that is not usable."""
    root = _object(_parsed(text), "the file")
    dimensions = _strings(_field(root, "dimensions", ""), "dimensions")
    if not dimensions:
        raise _unusable("dimensions is empty")
    chunks = tuple(
        LabChunk(
            id=name,
            text=_string(_field(chunk, "text", f"chunks.{name}"), f"chunks.{name}.text"),
            vector=_vector(chunk, f"chunks.{name}", len(dimensions)),
        )
        for name, chunk in _object(_field(root, "chunks", ""), "chunks").items()
    )
    _check_tokens(root.get("tokens", WORD_PATTERN))
    known = frozenset(chunk.id for chunk in chunks)
    return Lab(
        dimensions=dimensions,
        chunks=chunks,
        questions=tuple(
            _question(question, f"questions[{i}]", len(dimensions), known)
            for i, question in enumerate(_list(_field(root, "questions", ""), "questions"))
        ),
        stop_words=frozenset(_strings(_field(root, "stop_words", ""), "stop_words")),
        candidates_per_leg=_count(_field(root, "candidates_per_leg", ""), "candidates_per_leg"),
    )


def _question(value: object, name: str, dimensions: int, known: frozenset[str]) -> LabQuestion:
    question = _object(value, name)
    relevant = _strings(_field(question, "relevant", name), f"{name}.relevant")
    for item in relevant:
        if item not in known:
            raise _unusable(f"{name}.relevant names {item!r}, which is not a chunk")
    return LabQuestion(
        text=_string(_field(question, "text", name), f"{name}.text"),
        vector=_vector(question, name, dimensions),
        relevant=relevant,
    )


def _vector(owner: object, name: str, dimensions: int) -> Vector:
    field = f"{name}.vector"
    values = _list(_field(owner, "vector", name), field)
    if len(values) != dimensions:
        raise _unusable(f"{field} has {len(values)} numbers, but there are {dimensions} dimensions")
    vector = tuple(_number(value, f"{field}[{i}]") for i, value in enumerate(values))
    norm = math.hypot(*vector)
    if norm == 0 or not math.isfinite(norm):
        raise _unusable(f"{field} has norm {norm:g}, so that it has no cosine")
    return vector


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unusable(f"{name} is not a number: {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _unusable(f"{name} is not a finite number")
    return number


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _unusable(f"{name} is not a whole number from 1 up: {value!r}")
    return value


def _check_tokens(rule: object) -> None:
    """The file says in words how it cuts tokens; another rule than ours would give other scores."""
    if not _string(rule, "tokens").startswith(WORD_PATTERN):
        raise _unusable(f"tokens does not begin with {WORD_PATTERN}, the only rule there is")


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise _unusable(
            f"it is not JSON ({error.msg}, line {error.lineno}, column {error.colno})"
        ) from error
    except RecursionError as error:
        raise _unusable("it is nested too deeply") from error


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _unusable(f"{twice} stands twice in one object")
    return found


def _field(owner: object, key: str, name: str) -> object:
    held = _object(owner, name or "the file")
    if key not in held:
        raise _unusable(f"{name}.{key} is missing" if name else f"{key} is missing")
    return held[key]


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unusable(f"{name} is not an object")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise _unusable(f"{name} is not a list")
    return value


def _strings(value: object, name: str) -> tuple[str, ...]:
    return tuple(_string(item, f"{name}[{i}]") for i, item in enumerate(_list(value, name)))


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise _unusable(f"{name} is not a string")
    return value


def _unusable(reason: str) -> UsageError:
    return UsageError(f"The lab file is not usable: {reason}", hint=_SHAPE)
