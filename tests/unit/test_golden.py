"""Is a golden set read as it is meant, and is what is wrong with one named in a line?"""

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from vademecum.errors import UsageError
from vademecum.evaluate.golden import Golden, Relevant, Said, golden_of, read_golden

BOOKSHOP = Path(__file__).parents[2] / "examples" / "bookshop"
ONE: dict[str, Any] = {
    "id": "q1",
    "question": "When do the doors open?",
    "relevant": [{"document": "rules.md", "quote": "doors open at 18:30"}],
    "kind": "concept",
}


def lines(*entries: object) -> bytes:
    return "\n".join(json.dumps(entry) for entry in entries).encode()


def read(**changes: Any) -> Golden:
    return read_golden(lines(ONE | changes), "g.jsonl")


def test_every_field_is_read() -> None:
    content = lines(
        ONE
        | {
            "kind": "follow_up",
            "language": "ne-Latn",
            "expected": ["18:30"],
            "principal": "user:ana",
            "labels": ["group:staff"],
            "as_of": "2026-05-12",
            "history": [{"role": "user", "text": "The hall?"}, {"role": "assistant", "text": "Yes"}, "And"],
            "note": "asked often",
        }
    )  # fmt: skip
    golden = read_golden(content, "g.jsonl")
    assert golden.sha256 == hashlib.sha256(content).hexdigest()
    [question] = golden.questions
    assert question.relevant == (Relevant(document="rules.md", quote="doors open at 18:30"),)
    assert (question.kind, question.language, question.expected) == (
        "follow_up", "ne-Latn", ("18:30",)
    )  # fmt: skip
    assert question.principal == "user:ana"
    assert question.labels == frozenset(["group:staff"])
    assert question.as_of == date(2026, 5, 12)
    assert question.history == (
        Said(role="user", text="The hall?"),
        Said(role="assistant", text="Yes"),
        Said(role="user", text="And"),
    )
    assert question.place == "g.jsonl line 1"


def test_toml_says_the_same_and_brings_gates() -> None:
    content = b"""
[gates]
"recall@5" = 0.9
wrongly_refused = 0.1

[[question]]
id = "q1"
question = "When do the doors open?"
kind = "concept"
relevant = [{ document = "rules.md", quote = "doors open at 18:30" }]

[[question]]
id = "q2"
question = "Is there parking?"
kind = "unanswerable"
relevant = []
as_of = 2026-05-12
"""
    golden = read_golden(content, "g.toml")
    assert golden.gates == {"recall@5": 0.9, "wrongly_refused": 0.1}
    assert golden.questions[0].relevant == read().questions[0].relevant
    assert [question.place for question in golden.questions] == ["g.toml line 6", "g.toml line 12"]
    assert golden.questions[1].as_of == date(2026, 5, 12)


def test_what_nobody_confirmed_is_skipped_and_named() -> None:
    draft = {"id": "thumb-1", "question": "", "confirmed": False}
    golden = read_golden(lines(ONE, draft), "g.jsonl")
    assert [question.id for question in golden.questions] == ["q1"]
    assert golden.skipped == ("thumb-1",)
    with pytest.raises(UsageError, match=r"none of its questions is confirmed"):
        read_golden(lines(draft), "g.jsonl")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "hard"}, "kind is 'hard', not one of concept, code"),
        ({"kind": "unanswerable"}, "kind is unanswerable, but relevant is not empty"),
        ({"relevant": "rules.md"}, "relevant is not a list"),
        ({"relevant": [{"quote": "x"}]}, "relevant[0].document is missing"),
        ({"relevant": [{"document": "a", "page": 3}]}, "relevant[0].page is no field"),
        ({"relevant": [{"document": "a", "quote": " "}]}, "relevant[0].quote is empty"),
        ({"id": ""}, "id is empty"),
        ({"id": "a\0b"}, "id holds a character that is none"),
        ({"question": 3}, "question is not a string"),
        ({"expected": "18:30"}, "expected is not a list"),
        ({"expected": [""]}, "expected[0] is empty"),
        ({"as_of": "May"}, "as_of is no day"),
        ({"language": "English"}, "language is no code"),
        ({"labels": ["group:x"]}, "labels needs a principal"),
        ({"history": [{"role": "system", "text": "x"}]}, "history[0].role is neither user nor"),
        ({"answer": "18:30"}, "answer is no field"),
        ({"confirmed": "yes"}, "confirmed is neither true nor false"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_field(changes: dict[str, Any], told: str) -> None:
    content = lines(ONE) + b"\n\n" + lines(ONE | {"id": "q2"} | changes)
    with pytest.raises(UsageError) as caught:
        read_golden(content, "g.jsonl")
    assert caught.value.message.startswith(f"g.jsonl line 3: {told}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["id", "question", "relevant", "kind"])
def test_what_is_missing_is_named(key: str) -> None:
    entry = {name: value for name, value in ONE.items() if name != key}
    with pytest.raises(UsageError, match=f"line 1: {key} is missing"):
        read_golden(lines(entry), "g.jsonl")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it holds no question"),
        (b"{", "line 1: it is not JSON"),
        (b"[]", "line 1: the entry is not an object"),
        (b"\xff", "it is not UTF-8"),
        (lines(ONE, ONE), "line 2: id 'q1' stands also in g.jsonl line 1"),
        (b"[" * 100_000, "line 1: it is not JSON"),
    ],
)
def test_what_is_no_golden_set_is_said(content: bytes, told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("[", r"\[")):
        read_golden(content, "g.jsonl")


def test_what_a_program_sends_is_numbered() -> None:
    with pytest.raises(UsageError, match=r"mine question 2: kind is missing"):
        golden_of([ONE, {"id": "q2", "question": "?", "relevant": []}], "mine", {})
    golden = golden_of([ONE], "mine", {"mrr": 0.5})
    assert golden.gates == {"mrr": 0.5}
    assert golden.sha256 == golden_of([dict(reversed(ONE.items()))], "mine", {}).sha256


def test_the_bookshop_has_thirty_questions_whose_quotes_stand_in_its_documents() -> None:
    """Issue 7: 30, at least 10 concepts, 10 exact codes or names, 10 without an answer; three
    languages mixed."""
    golden = read_golden((BOOKSHOP / "golden.toml").read_bytes(), "golden.toml")
    kinds = [question.kind for question in golden.questions]
    assert len(kinds) == 30
    assert [kinds.count(kind) for kind in ("concept", "code", "unanswerable")] == [10, 10, 10]
    for kind in ("concept", "code", "unanswerable"):
        spoken = {q.language for q in golden.questions if q.kind == kind}
        assert spoken == {"en", "ne", "ne-Latn"}
    assert len(list((BOOKSHOP / "documents").glob("*.md"))) == 12
    for question in golden.questions:
        for one in question.relevant:
            text = (BOOKSHOP / "documents" / one.document).read_text(encoding="utf-8")
            assert one.quote in " ".join(text.split()), question.id
