"""Is the arithmetic of the table of turns right, and are its sets read as they are meant?

The texts are made up: the sets themselves may not stand in this repository.
"""

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def locomo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("locomo")


def test_locomo_is_read_with_its_times_pictures_and_evidence(locomo: Any, tmp_path: Path) -> None:
    turns = [
        {"speaker": "Marta", "dia_id": "D1:1", "text": "Look.", "blip_caption": "a red vase"},
        {"speaker": "Beto", "dia_id": "D1:2", "text": "Nice."},
    ]
    asked = [
        {"question": "Who?", "category": 2, "evidence": ["D1:1", "D10:2; D1:2"]},
        {"question": "Nobody knows.", "category": 3, "evidence": ["D9:9"]},
        {"question": "Never said.", "category": 5, "evidence": ["D10:1"]},
    ]
    later = [{"speaker": "Beto", "dia_id": "D10:1", "text": "Later."}]
    middle = [{"speaker": "Marta", "dia_id": "D2:1", "text": "Then."}]
    spoken = {
        "speaker_a": "Marta", "speaker_b": "Beto",
        "session_10": later, "session_10_date_time": "12:05 am on 1 March, 2023",
        "session_2": middle, "session_2_date_time": "2:00 pm on 9 May, 2023",
        "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023",
    }  # fmt: skip
    path = tmp_path / "set.json"
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": spoken, "qa": asked}]))
    (sample,) = locomo.read_locomo(path)
    assert [session.name for session in sample.sessions] == ["D1", "D2", "D10"]
    assert sample.sessions[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [turn.text for turn in sample.sessions[0].turns] == [
        "Look. [image: a red vase]", "Nice.",
    ]  # fmt: skip
    assert [turn.first for turn in sample.sessions[0].turns] == [True, False]
    assert [(q.category, sorted(q.turns), sorted(q.sessions)) for q in sample.questions] == [
        ("temporal", ["D1:1", "D1:2"], ["D1"]),
        ("adversarial", ["D10:1"], ["D10"]),
    ]


def test_longmemeval_is_read_with_its_answers(locomo: Any, tmp_path: Path) -> None:
    row = {
        "question_id": "q1", "question_type": "single-session-user", "question": "Which tea?",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 23:59"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hello."}],
            [
                {"role": "user", "content": "I drink mint tea.", "has_answer": True},
                {"role": "assistant", "content": "Noted."},
            ],
        ],
        "answer_session_ids": ["s2"],
    }  # fmt: skip
    path = tmp_path / "set.json"
    path.write_text(json.dumps([row, row | {"question_id": "q2_abs"}]))
    (sample,) = locomo.read_longmemeval(path)
    assert sample.name == "q1"
    assert sample.sessions[1].at == datetime(2023, 5, 21, 23, 59, tzinfo=UTC)
    (question,) = sample.questions
    assert question.sessions == {"s2"}
    (evidence,) = question.turns
    (named,) = [turn for turn in sample.sessions[1].turns if turn.name == evidence]
    assert named.text == "I drink mint tea."


def test_the_recall_of_turns_and_sessions(locomo: Any) -> None:
    asked = locomo.Asked(
        text="?", category="multi-hop", turns=frozenset({"a", "z"}), sessions=frozenset({"1", "2"})
    )
    turns = [*"abcdefghijklz"]
    sessions = [*["1"] * 6, *["3"] * 6, "2"]
    values = np.array([13.0 - n for n in range(13)])
    outcome = locomo._outcome(asked, values, turns, sessions)
    assert outcome.turns == {5: 0.5, 10: 0.5, 20: 1.0}
    # Sessions by the mean of their best three: 1 has 12, 3 has 6, 2 has 1.
    assert outcome.sessions == {1: 1.0, 5: 1.0, 10: 1.0}
    never = locomo.Asked(
        text="?", category="adversarial", turns=frozenset({"a"}), sessions=frozenset({"2"})
    )
    outcome = locomo._outcome(never, values, turns, sessions)
    assert outcome.turns is None
    assert outcome.sessions[1] == 0.0
