"""Is the arithmetic of the quality table right, and are its sets read as they are meant?"""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def quality() -> Any:
    return import_module("quality")


@pytest.fixture
def sets() -> Any:
    return import_module("quality_sets")


def asked(sets: Any, *relevant: str) -> Any:
    return sets.Question(text="?", relevant=frozenset(relevant))


def test_scores_are_those_of_each_question(quality: Any, sets: Any) -> None:
    lists = [["a", "b"], ["x", "b"], ["x", "y"]]
    found = quality.scores(lists, [asked(sets, "a"), asked(sets, "b"), asked(sets, "b")])
    assert found.ndcg == pytest.approx([1.0, 1 / np.log2(3), 0.0])
    assert found.recall == [1.0, 1.0, 0.0]
    assert found.reciprocal_rank == [1.0, 0.5, 0.0]


def test_only_the_first_ten_documents_count(quality: Any, sets: Any) -> None:
    found = quality.scores([[*"0123456789", "a"]], [asked(sets, "a")])
    assert found.ndcg == [0.0]
    assert found.recall == [0.0]


def test_an_interval_holds_the_mean_and_is_the_same_again(quality: Any) -> None:
    values = [0.0, 1.0] * 200
    low, high = quality.interval(values)
    assert (low, high) == quality.interval(values)
    # The deviation of this mean is 0.025, so 95 % lie within 0.049.
    assert low == pytest.approx(0.451, abs=0.01)
    assert high == pytest.approx(0.549, abs=0.01)


def test_equal_values_have_no_interval(quality: Any) -> None:
    assert quality.interval([0.5] * 10) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("mean", "high", "said"),
    [
        (0.92, 0.95, "goal"),
        (0.90, 0.95, "reached"),
        (0.88, 0.90, "as reached"),
        (0.88, 0.89, "below"),
    ],
)
def test_a_verdict_compares_with_goal_and_prototype(
    quality: Any, sets: Any, mean: float, high: float, said: str
) -> None:
    assert quality.verdict(mean, high, sets.Target(reached=0.90, goal=0.92)) == said


def test_fusion_by_rank_gives_each_leg_one_vote(quality: Any) -> None:
    assert quality.by_rank(["a", "b", "c"], ["c", "b"]) == ["c", "b", "a"]
    assert quality.by_rank(["b", "a"], ["a", "b"]) == ["a", "b"]  # equal: by uri


def test_the_same_questions_are_drawn_each_time(quality: Any, sets: Any) -> None:
    every = [asked(sets, str(i)) for i in range(100)]
    some = quality.drawn(every, 10)
    assert some == quality.drawn(every, 10)
    assert [every.index(one) for one in some] == sorted(every.index(one) for one in some)
    assert len({one.relevant for one in some}) == 10
    assert quality.drawn(every, None) == every


def test_a_row_fuses_legs_and_scores_the_default(quality: Any, sets: Any) -> None:
    task = sets.Task(
        name="t",
        questions=[asked(sets, "a"), asked(sets, "b")],
        target=sets.Target(reached=0.5, goal=0.9),
    )
    found = {
        "keyword": [["a", "x"], ["y", "b"]],
        "dense": [["x", "a"], ["b", "y"]],
        "hybrid": [["a"], ["b"]],
    }
    row = quality.row(task, found, 3.0)
    half = (1 + 1 / np.log2(3)) / 2
    assert row.bm25 == pytest.approx(half)
    assert row.dense == pytest.approx(half)
    # Each list has a vote, so all are equal and the uri decides: "a" before "x", "b" before "y".
    assert row.rrf_60 == 1.0
    assert (row.hybrid, row.low, row.high, row.mrr, row.verdict) == (1.0, 1.0, 1.0, 1.0, "goal")


def test_without_legs_only_the_default_is_scored(quality: Any, sets: Any) -> None:
    task = sets.Task(
        name="t", questions=[asked(sets, "a")], target=sets.Target(reached=0.5, goal=0.9)
    )
    row = quality.row(task, {"hybrid": [["x", "a"]]}, 3.0)
    assert (row.bm25, row.dense, row.rrf_60) == (None, None, None)
    assert row.mrr == 0.5
    assert quality.table([row])[0]["bm25"] == "-"


def test_paragraphs_are_known_by_their_number_in_every_language(sets: Any, tmp_path: Path) -> None:
    write_paragraphs(tmp_path, "en", ["first", "second", "third"])
    write_paragraphs(tmp_path, "es", ["primero", "segundo", "tercero"])
    read = sets.xquad(tmp_path, "en", ("en", "es"))
    assert [task.name for task in read.tasks] == ["xquad en", "xquad es to en"]
    assert [d.content for d in read.documents] == [b"first", b"second", b"third"]
    for task in read.tasks:
        assert [q.relevant for q in task.questions] == [{"0.txt"}, {"1.txt"}, {"2.txt"}]
    assert read.tasks[1].questions[2].text == "tercero?"


def test_articles_alternate_between_two_languages(sets: Any, tmp_path: Path) -> None:
    write_paragraphs(tmp_path, "en", ["first", "second", "third"])
    write_paragraphs(tmp_path, "es", ["primero", "segundo", "tercero"])
    read = sets.mixed(tmp_path)
    # The first article has two paragraphs, the second one.
    assert [d.content for d in read.documents] == [b"first", b"second", b"tercero"]
    assert [d.language for d in read.documents] == ["en", "en", "es"]
    assert len({d.uri for d in read.documents}) == 3


def test_claims_without_a_relevant_abstract_are_left_out(sets: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ret-scifact"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        json.dumps({"_id": "7", "title": "On bees", "text": "They fly."}) + "\n"
    )
    (folder / "queries.test.jsonl").write_text(
        "".join(json.dumps({"_id": i, "text": f"claim {i}"}) + "\n" for i in ("1", "2", "3"))
    )
    (folder / "qrels.test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t7\t1\n2\t7\t0\n")
    read = sets.scifact(tmp_path)
    assert [(d.title, d.content) for d in read.documents] == [("On bees", b"They fly.")]
    assert [(q.text, q.relevant) for q in read.tasks[0].questions] == [("claim 1", {"7.txt"})]


def test_an_abstract_asked_about_twice_is_one_document(sets: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ret-pira"
    folder.mkdir()
    head = "question_en_origin,question_pt_origin,abstract,abstract_translated_pt\n"
    (folder / "validation.csv").write_text(f"{head}a?,b?,Sea,Mar\nc?,d?,Wind,Vento\n")
    (folder / "test.csv").write_text(f"{head}e?,f?,Sea,Mar\n")
    read = sets.pira(tmp_path, "pt", ("pt", "en"))
    assert [d.content for d in read.documents] == [b"Mar", b"Vento"]
    assert [task.name for task in read.tasks] == ["pira pt", "pira en to pt"]
    assert [q.relevant for q in read.tasks[0].questions] == [{"0.txt"}, {"1.txt"}, {"0.txt"}]
    assert [q.text for q in read.tasks[1].questions] == ["a?", "c?", "e?"]


def test_every_task_of_the_table_has_a_target(sets: Any) -> None:
    assert all(0 < t.reached < t.goal <= 1 for t in sets._TARGETS.values())


class CountingSession:
    """Each token's state is its number in both dimensions; `runs` counts calls."""

    def __init__(self) -> None:
        self.runs = 0

    def get_inputs(self) -> Sequence[Any]:
        return []

    def get_outputs(self) -> Sequence[Any]:
        return [SimpleNamespace(shape=["batch", "tokens", 2])]

    def run(
        self, _names: None, feeds: Mapping[str, NDArray[np.int64]], /
    ) -> list[NDArray[np.float32]]:
        self.runs += 1
        return [np.repeat(feeds["input_ids"][:, :, None], 2, axis=2).astype(np.float32)]


def feeds(*rows: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    longest = max(map(len, rows))
    ids, mask = np.ones((len(rows), longest), np.int64), np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask}


def test_a_row_is_computed_once_and_read_after_that(tmp_path: Path) -> None:
    kept_states = import_module("kept_states")
    session, path = CountingSession(), tmp_path / "states.sqlite"
    first = kept_states.KeptSession(session, path, revision="1")
    first.run(None, feeds([5, 6, 7], [8]))
    first.close()
    again = kept_states.KeptSession(session, path, revision="1")
    [states] = again.run(None, feeds([8], [5, 6, 7]))
    assert session.runs == 1
    assert again.computed == 0
    assert states[:, :, 0].tolist() == [[8, 0, 0], [5, 6, 7]]
    again.run(None, feeds([8], [9]))
    assert (session.runs, again.computed) == (2, 1)
    again.close()


def test_another_model_does_not_read_what_the_first_gave(tmp_path: Path) -> None:
    kept_states = import_module("kept_states")
    session, path = CountingSession(), tmp_path / "states.sqlite"
    for revision in ("1", "2"):
        kept = kept_states.KeptSession(session, path, revision=revision)
        kept.run(None, feeds([5]))
        kept.close()
    assert session.runs == 2


def write_paragraphs(folder: Path, language: str, texts: Sequence[str]) -> None:
    """Write an XQuAD file: all but the last paragraph in one article, one question each."""
    paragraphs = [{"context": text, "qas": [{"question": f"{text}?"}]} for text in texts]
    (folder / "ret-xquad").mkdir(exist_ok=True)
    (folder / "ret-xquad" / f"xquad.{language}.json").write_text(
        json.dumps({"data": [{"paragraphs": paragraphs[:-1]}, {"paragraphs": paragraphs[-1:]}]})
    )
