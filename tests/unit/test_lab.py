"""Does a lab give the figures that a pencil gives, and is a broken file named?"""

import io
import json
import math
from typing import Any

import pytest
from rich.console import Console

from vademecum.cli.lab import render
from vademecum.errors import UsageError
from vademecum.evaluate.lab import LabResult, as_json, cosine, load_lab, run_lab, tokens

# Four chunks of 2, 2, 4 and 4 terms: average 3. Two questions have an answer, one has none.
SMALL: dict[str, Any] = {
    "dimensions": ["ways", "money"],
    "chunks": {
        "door": {"text": "North door!", "vector": [1.0, 0.0]},
        "ramp": {"text": "the ramp, the DOOR", "vector": [0.8, 0.6]},
        "fees": {"text": "Refund fee F-12 refund", "vector": [0.0, 2.0]},
        "cash": {"text": "Cash and cards today only", "vector": [0.6, 0.8]},
    },
    "questions": [
        {"text": "Which door?", "vector": [0.6, 0.8], "relevant": ["door"]},
        {"text": "Refund of refund?", "vector": [0.0, 1.0], "relevant": ["fees", "cash"]},
        {"text": "Parking", "vector": [1.0, 1.0], "relevant": []},
    ],
    "stop_words": ["the", "and", "of"],
    "tokens": "[a-z0-9]+ on lower case, stop words removed",
    "candidates_per_leg": 2,
}


def small(**changes: Any) -> str:
    return json.dumps(SMALL | changes)


@pytest.fixture
def result() -> LabResult:
    return run_lab(load_lab(small()))


def test_tokens_are_the_lab_s_own() -> None:
    assert tokens("The KH-402 error, São", {"the"}) == ["kh", "402", "error", "s", "o"]
    assert tokens("", {"the"}) == []


def test_cosine_does_not_depend_on_length() -> None:
    assert cosine((0.6, 0.8), (0.0, 2.0)) == pytest.approx(0.8)
    assert cosine((1e200, 0.0), (1e200, 1e200)) == pytest.approx(math.sqrt(0.5))
    assert cosine((0.1, 0.3), (0.1, 0.3)) <= 1.0


def test_scores_of_a_question_by_hand(result: LabResult) -> None:
    rows = {row.chunk: row for row in result.answers[0].rows}
    # "door" is in 2 of 4 chunks: idf = ln 2. Lengths: 2, 2, 5 (f, 12), 4; average 3.25.
    for chunk in ("door", "ramp"):
        expected = math.log(2) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3.25))
        assert rows[chunk].bm25 == pytest.approx(expected)
        assert rows[chunk].bm25 == pytest.approx(0.822573, abs=1e-6)
    assert {chunk: row.cosine for chunk, row in rows.items()} == pytest.approx(
        {"ramp": 0.96, "cash": 1.0, "door": 0.6}, abs=1e-12
    )
    # Dense: cash, ramp. BM25: door, ramp (a tie, by id). Ramp is second twice.
    assert result.answers[0].found == {
        "dense": ("cash", "ramp"),
        "bm25": ("door", "ramp"),
        "hybrid": ("ramp", "cash", "door"),
    }
    assert [row.rrf for row in result.answers[0].rows] == pytest.approx(
        [2 / 62, 1 / 61, 1 / 61], abs=1e-15
    )
    assert [(row.dense_rank, row.bm25_rank) for row in result.answers[0].rows] == [
        (2, 2),
        (1, None),
        (None, 1),
    ]
    assert [row.relevant for row in result.answers[0].rows] == [False, False, True]


def test_a_word_said_twice_in_a_question_counts_once(result: LabResult) -> None:
    fees = next(row for row in result.answers[1].rows if row.chunk == "fees")
    # In 1 of 4 chunks, twice there: idf = ln(1 + 3.5 / 1.5), length 5 of an average of 3.25.
    expected = math.log(10 / 3) * 2.2 * 2 / (2 + 1.2 * (0.25 + 0.75 * 5 / 3.25))
    assert fees.bm25 == pytest.approx(expected)
    assert fees.bm25 == pytest.approx(1.437730, abs=1e-6)


def test_nothing_that_scores_0_is_a_keyword_hit(result: LabResult) -> None:
    assert result.answers[1].found["bm25"] == ("fees",)
    assert result.answers[2].found["bm25"] == ()


def test_metrics_leave_out_questions_without_an_answer(result: LabResult) -> None:
    # Dense: door not in (cash, ramp): 0, 0; (fees, cash): 1, 1.
    # BM25: door first: 1, 1; fees alone: 0.5, 1. Hybrid: door third: 0, 1/3; 1, 1.
    assert [(score.mode, score.recall, score.mrr) for score in result.scores] == [
        ("dense", 0.5, 0.5),
        ("bm25", 0.75, 1.0),
        ("hybrid", 0.5, pytest.approx(2 / 3)),
    ]


def test_no_questions_and_no_chunks_are_no_error() -> None:
    nothing = run_lab(load_lab(small(chunks={}, questions=[])))
    assert [(score.recall, score.mrr) for score in nothing.scores] == [(None, None)] * 3
    lonely = [{"text": "door", "vector": [1, 0], "relevant": []}]
    assert run_lab(load_lab(small(chunks={}, questions=lonely))).answers[0].rows == ()
    silent = {"a": {"text": "", "vector": [1, 0]}, "b": {"text": "the", "vector": [0, 1]}}
    answer = run_lab(load_lab(small(chunks=silent, questions=lonely))).answers[0]
    assert answer.found == {"dense": ("a", "b"), "bm25": (), "hybrid": ("a", "b")}


def test_ties_go_by_id_and_not_by_place_in_the_file() -> None:
    same = {name: {"text": "door", "vector": [1, 0]} for name in ("c", "a", "b")}
    asked = [{"text": "door", "vector": [1, 0], "relevant": ["b"]}]
    result = run_lab(load_lab(small(chunks=same, questions=asked)))
    assert set(result.answers[0].found.values()) == {("a", "b")}
    assert {score.mrr for score in result.scores} == {0.5}


def test_as_json_is_json_without_nan(result: LabResult) -> None:
    again = json.loads(json.dumps(as_json(result), allow_nan=False))
    assert again["recall_at"] == 2
    assert again["scores"][0] == {"mode": "dense", "recall": 0.5, "mrr": 0.5}
    assert again["answers"][0]["rows"][0]["chunk"] == "ramp"
    assert again["answers"][0]["found"]["bm25"] == ["door", "ramp"]


def test_render_prints_the_stated_decimals(result: LabResult) -> None:
    out = io.StringIO()
    render(result, Console(file=out, width=80))
    lines = [line.split() for line in out.getvalue().replace("│", " ").splitlines()]
    assert ["1", "ramp", "0.960", "0.823", "0.03226"] in lines
    assert ["3", "door", "*", "0.600", "0.823", "0.01639"] in lines
    assert ["hybrid", "0.50", "0.67"] in lines


def test_render_shows_a_dash_where_nothing_was_measured_and_no_markup() -> None:
    question = [{"text": "[bold]door[/nothing]", "vector": [1, 0], "relevant": []}]
    out = io.StringIO()
    render(run_lab(load_lab(small(questions=question))), Console(file=out, width=80))
    assert "[bold]door[/nothing]" in out.getvalue()
    assert ["dense", "-", "-"] in [
        line.split() for line in out.getvalue().replace("│", " ").splitlines()
    ]


def chunk(**changes: Any) -> dict[str, Any]:
    return {"door": {"text": "door", "vector": [1, 0]} | changes}


def question(**changes: Any) -> list[dict[str, Any]]:
    return [{"text": "door?", "vector": [1, 0], "relevant": []} | changes]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "the file is not an object"),
        ("{}", "dimensions is missing"),
        (
            json.dumps({k: v for k, v in SMALL.items() if k != "stop_words"}),
            "stop_words is missing",
        ),
        (small(dimensions=[]), "dimensions is empty"),
        (small(dimensions=[1, 2]), "dimensions[0] is not a string"),
        (small(chunks=[]), "chunks is not an object"),
        (small(chunks={"door": {"text": "door"}}), "chunks.door.vector is missing"),
        (small(chunks={"door": {"vector": [1, 0]}}), "chunks.door.text is missing"),
        (small(chunks={"door": "door"}), "chunks.door is not an object"),
        (small(chunks=chunk(text=3)), "chunks.door.text is not a string"),
        (small(chunks=chunk(vector=[1, 0, 0])), "chunks.door.vector has 3 numbers"),
        (small(chunks=chunk(vector=[1, "0"])), "chunks.door.vector[1] is not a number"),
        (small(chunks=chunk(vector=[1, True])), "chunks.door.vector[1] is not a number"),
        (small(chunks=chunk(vector=[math.nan, 1])), "chunks.door.vector[0] is not a finite"),
        (small(chunks=chunk(vector=[1, math.inf])), "chunks.door.vector[1] is not a finite"),
        (small(chunks=chunk(vector=[1, 10**400])), "chunks.door.vector[1] is not a finite"),
        (small(chunks=chunk(vector=[0, 0])), "chunks.door.vector has norm 0"),
        (small(chunks=chunk(vector=[1e308, 1.7e308])), "chunks.door.vector has norm inf"),
        (small(questions={}), "questions is not a list"),
        (small(questions=question(vector=[1])), "questions[0].vector has 1 numbers"),
        (small(questions=question(relevant=["wall"])), "questions[0].relevant names 'wall'"),
        (small(questions=question(relevant="door")), "questions[0].relevant is not a list"),
        (small(questions=[{"text": "door?"}]), "questions[0].relevant is missing"),
        (small(stop_words="the"), "stop_words is not a list"),
        (small(candidates_per_leg=0), "candidates_per_leg is not a whole number from 1"),
        (small(candidates_per_leg=True), "candidates_per_leg is not a whole number from 1"),
        (small(candidates_per_leg=2.5), "candidates_per_leg is not a whole number from 1"),
        (small(tokens="words"), "tokens does not begin with [a-z0-9]+"),
        ('{"chunks": {"a": 1, "a": 2}}', "a stands twice"),
    ],
)
def test_an_unusable_file_names_its_field(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_lab(text)
    assert caught.value.message.startswith("The lab file is not usable: ")
    assert named in caught.value.message
    assert caught.value.hint
    assert "\n" not in str(caught.value)
