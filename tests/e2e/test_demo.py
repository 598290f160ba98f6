"""Does a fresh data folder give six right answers, and does it stay right the second time?"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "boxoffice"
QUESTIONS = [
    question
    for question in tomllib.loads((EXAMPLE / "questions.toml").read_text("utf-8"))["question"]
    if question.get("demo")
]


@pytest.fixture(scope="module")
def shown(vade: Any) -> dict[str, Any]:
    """The demo's JSON over a fresh data folder (with the model converted already)."""
    found = vade.json("demo")
    assert found["documents"] >= 34
    return {answer["question"]: answer for answer in found["answers"]}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_each_answer_rests_on_the_right_passages(
    shown: dict[str, Any], question: dict[str, Any]
) -> None:
    answer = shown[question["text"]]
    if question["kind"] == "unanswerable":
        assert answer["abstained"] is True
        assert answer["citations"] == []
        return
    assert answer["abstained"] is False
    cited = answer["citations"]
    parts: dict[int, bool] = {}
    for evidence in question["evidence"]:
        found = any(
            c["uri"] == evidence["document"]
            and c["page_start"] == evidence.get("page")
            and _plain(evidence["quote"]) in _plain(c["quote"])
            for c in cited
        )
        parts[evidence["part"]] = parts.get(evidence["part"], False) or found
    assert all(parts.values()), (parts, answer["answer"])
    assert not {c["uri"] for c in cited} & set(question.get("superseded", ()))
    assert {c["support"] for c in cited} == {"supported"}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def test_the_second_time_is_no_work(vade: Any, shown: dict[str, Any]) -> None:
    again = vade("demo")
    assert again.returncode == 0
    assert "42 unchanged; 0 new chunks" in again.stdout
    assert (
        "“O setor C tem acesso sem degraus, por rampa e elevador, pelo Portão 4.”" in again.stdout
    )
    assert "vade ingest PATH" in again.stdout


def test_what_people_tell_of_themselves_takes_nothing_from_the_answer(
    vade: Any, shown: dict[str, Any]
) -> None:
    asked = "Can I transfer a ticket to another person?"
    answer = vade.json("ask", f"I live in Porto. {asked}", "--temporary")
    assert answer["abstained"] is False
    assert {c["uri"] for c in answer["citations"]} & {
        "articles/transfer-between-accounts.md",
        "faq/faq-en.md",
    }
