"""Which questions is it measured on, and what is right for each? A golden set, read and checked."""

import hashlib
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, get_args

import regex

from vademecum.errors import UsageError
from vademecum.model.conversation import Speaker

Kind = Literal["concept", "code", "unanswerable", "multi_part", "follow_up"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TABLE = regex.compile(r"^\s*\[\[\s*question\s*\]\]")
_LANGUAGE = regex.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?")
_FIELDS = frozenset(
    [
        *("id", "question", "relevant", "kind", "language", "expected"),
        *("principal", "labels", "as_of", "history", "confirmed", "note"),
    ]
)
_MOST_LETTERS = 200
_SHAPE = "see docs/howto/evaluate.md for what a golden set holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevant:
    """A document (uri or id) that answers, and the words in it that do; without a quote all of
    it."""

    document: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said before a question."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenQuestion:
    """A question and what is right for it. An empty `relevant` = the sources do not answer.

    `expected` are facts that a right answer states; `language` is ISO 639, with a script where it
    tells something (ne-Latn), "" where the text tells; asked with the sight of `principal` with
    `labels`, "" with that of whoever runs it; `place` names its line.
    """

    id: str
    question: str
    kind: Kind
    relevant: tuple[Relevant, ...]
    place: str
    language: str = ""
    expected: tuple[str, ...] = ()
    principal: str = ""
    labels: frozenset[str] = frozenset()
    as_of: date | None = None
    history: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A golden set. `skipped` are ids of questions that nobody has confirmed; `gates` maps a
    metric to the least it may be; `sha256` is that of the file's bytes."""

    name: str
    sha256: str
    questions: tuple[GoldenQuestion, ...]
    skipped: tuple[str, ...] = ()
    gates: Mapping[str, float] = field(default_factory=dict)


def read_golden(content: bytes, name: str) -> Golden:
    """Return the golden set of a file: TOML where its name ends so, else a JSON object a line.

    Raises: UsageError, one line that names the file's line and the field.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable(name, "it is not UTF-8") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if not name.endswith(".toml"):
        return _golden(_of_lines(text, name), name, sha256, {})
    entries, called, gates = _of_toml(text, name)
    return _golden(entries, called, sha256, gates)


def golden_of(entries: Sequence[object], name: str, gates: Mapping[str, float]) -> Golden:
    """Return the golden set of entries that a program sends; its sha256 is that of their JSON with
    sorted keys. Raises: UsageError."""
    try:
        written = json.dumps(list(entries), sort_keys=True, ensure_ascii=False, default=str)
    except RecursionError as error:
        raise _unusable(name, "it is nested too deeply") from error
    numbered = [(f"{name} question {at}", entry) for at, entry in enumerate(entries, start=1)]
    sha256 = hashlib.sha256(written.encode("utf-8", "backslashreplace")).hexdigest()
    return _golden(numbered, name, sha256, gates)


def _golden(
    entries: Sequence[tuple[str, object]], name: str, sha256: str, gates: Mapping[str, float]
) -> Golden:
    asked: list[GoldenQuestion] = []
    skipped: list[str] = []
    seen: dict[str, str] = {}
    for place, entry in entries:
        # Nobody has looked at it yet, so what else it lacks is no fault.
        if isinstance(entry, dict) and entry.get("confirmed", True) is False:
            skipped.append(str(entry.get("id", place)))
            continue
        question = _question(entry, place)
        if question.id in seen:
            raise _unusable(place, f"id {question.id!r} stands also in {seen[question.id]}")
        seen[question.id] = place
        asked.append(question)
    if not asked:
        why = "none of its questions is confirmed" if skipped else "it holds no question"
        raise _unusable(name, why)
    return Golden(
        name=name, sha256=sha256, questions=tuple(asked), skipped=tuple(skipped), gates=gates
    )


def _of_lines(text: str, name: str) -> list[tuple[str, object]]:
    entries: list[tuple[str, object]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{name} line {number}"
        try:
            entries.append((place, json.loads(line)))
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            raise _unusable(place, f"it is not JSON ({reason})") from error
    return entries


def _of_toml(text: str, name: str) -> tuple[list[tuple[str, object]], str, dict[str, float]]:
    """Return the entries with their places, what the set is called, and its gates."""
    try:
        root = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unusable(name, f"it is not valid TOML ({error})") from error
    _check_keys(root, frozenset(["question", "gates", "name"]), name)
    lines = [at for at, line in enumerate(text.split("\n"), start=1) if _TABLE.match(line)]
    listed = _list(root.get("question", []), name, "question")
    # Inline tables have no line of their own.
    if len(lines) == len(listed):
        places = [f"{name} line {line}" for line in lines]
    else:
        places = [f"{name} question {at}" for at in range(1, len(listed) + 1)]
    gates = _object(root.get("gates", {}), name, "gates")
    numbers = {key: _number(value, name, f"gates.{key}") for key, value in gates.items()}
    called = _string(root.get("name", name), name, "name")
    return list(zip(places, listed, strict=True)), called, numbers


def _question(value: object, place: str) -> GoldenQuestion:
    entry = _object(value, place, "the entry")
    _check_keys(entry, _FIELDS, place)
    kind = _string(_needed(entry, "kind", place), place, "kind")
    if kind not in KINDS:
        raise _unusable(place, f"kind is {kind!r}, not one of {', '.join(KINDS)}")
    relevant = _list(_needed(entry, "relevant", place), place, "relevant")
    if (kind == "unanswerable") and relevant:
        raise _unusable(place, "kind is unanswerable, but relevant is not empty")
    confirmed = entry.get("confirmed", True)
    if confirmed is not True:
        raise _unusable(place, "confirmed is neither true nor false")
    language = _optional(entry, "language", place)
    if language and not _LANGUAGE.fullmatch(language):
        raise _unusable(place, f"language is no code like en or ne-Latn: {language!r}")
    name = _filled(_needed(entry, "id", place), place, "id")
    if len(name) > _MOST_LETTERS:
        raise _unusable(place, f"id is longer than {_MOST_LETTERS} letters")
    principal = _optional(entry, "principal", place)
    labels = _strings(entry.get("labels", []), place, "labels")
    if labels and not principal:
        raise _unusable(place, "labels needs a principal")
    return GoldenQuestion(
        id=name,
        question=_filled(_needed(entry, "question", place), place, "question"),
        kind=_kind(kind),
        relevant=tuple(_relevant(one, place, at) for at, one in enumerate(relevant)),
        place=place,
        language=language,
        expected=_strings(entry.get("expected", []), place, "expected"),
        principal=principal,
        labels=frozenset(labels),
        as_of=_day(entry.get("as_of"), place),
        history=tuple(
            _said(one, place, at)
            for at, one in enumerate(_list(entry.get("history", []), place, "history"))
        ),
    )


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind == name)


def _relevant(value: object, place: str, at: int) -> Relevant:
    name = f"relevant[{at}]"
    entry = _object(value, place, name)
    _check_keys(entry, frozenset(["document", "quote"]), place, f"{name}.")
    return Relevant(
        document=_filled(_needed(entry, "document", place, f"{name}."), place, f"{name}.document"),
        quote=_filled(entry["quote"], place, f"{name}.quote") if "quote" in entry else "",
    )


def _said(value: object, place: str, at: int) -> Said:
    """A turn is an object with role and text; a text alone is the person's."""
    name = f"history[{at}]"
    if isinstance(value, str):
        return Said(role="user", text=_filled(value, place, name))
    entry = _object(value, place, name)
    _check_keys(entry, frozenset(["role", "text"]), place, f"{name}.")
    role = entry.get("role")
    if role not in ("user", "assistant"):
        raise _unusable(place, f"{name}.role is neither user nor assistant")
    text = _filled(_needed(entry, "text", place, f"{name}."), place, f"{name}.text")
    return Said(role="user" if role == "user" else "assistant", text=text)


def _day(value: object, place: str) -> date | None:
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):  # TOML has days of its own
        return value
    try:
        return date.fromisoformat(_string(value, place, "as_of"))
    except ValueError as error:
        raise _unusable(place, f"as_of is no day like 2026-05-12: {value!r}") from error


def _check_keys(
    entry: Mapping[str, Any], known: Collection[str], place: str, prefix: str = ""
) -> None:
    unknown = next((key for key in entry if key not in known), None)
    if unknown is not None:
        raise _unusable(place, f"{prefix}{unknown} is no field of a golden set")


def _needed(entry: Mapping[str, Any], key: str, place: str, prefix: str = "") -> object:
    if key not in entry:
        raise _unusable(place, f"{prefix}{key} is missing")
    found: object = entry[key]
    return found


def _optional(entry: Mapping[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    return "" if value is None else _string(value, place, key)


def _object(value: object, place: str, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unusable(place, f"{name} is not an object")
    return value


def _list(value: object, place: str, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise _unusable(place, f"{name} is not a list")
    return value


def _strings(value: object, place: str, name: str) -> tuple[str, ...]:
    listed = _list(value, place, name)
    return tuple(_filled(one, place, f"{name}[{at}]") for at, one in enumerate(listed))


def _string(value: object, place: str, name: str) -> str:
    if not isinstance(value, str):
        raise _unusable(place, f"{name} is not a string")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _unusable(place, f"{name} holds a character that is none")
    return value


def _filled(value: object, place: str, name: str) -> str:
    text = _string(value, place, name)
    if not text.strip():
        raise _unusable(place, f"{name} is empty")
    return text


def _number(value: object, place: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unusable(place, f"{name} is not a number")
    return float(value)


def _unusable(place: str, reason: str) -> UsageError:
    return UsageError(f"{place}: {reason}", hint=_SHAPE)
