"""CASES section 13: faults of evaluation that users of such systems met. The first part of each
name is the row."""

import json

import pytest

from vademecum.errors import UsageError
from vademecum.evaluate.golden import golden_of
from vademecum.evaluate.judge import read_verdict
from vademecum.evaluate.metrics import ndcg, precision, recall
from vademecum.evaluate.relevance import Piece, target
from vademecum.evaluate.report import refusal, summarise
from vademecum.evaluate.score import Answered, score
from vademecum.model.answer import Answer, Sentence, Usage
from vademecum.model.evaluation import Result, Summary
from vademecum.model.ids import ChunkId, DocumentId, TraceId, new_uuid

DOCUMENT = DocumentId(new_uuid())
A, B = ChunkId(new_uuid()), ChunkId(new_uuid())
PIECES = [Piece(chunk_id=A, start=0, end=10), Piece(chunk_id=B, start=10, end=20)]


def answer(*, abstained: bool = False, sentences: tuple[Sentence, ...] = ()) -> Answer:
    return Answer(
        question="?", text="", abstained=abstained, mode="extractive", sentences=sentences,
        citations=(), passages=(), degraded=(), usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={}, conversation_id=None, turn_id=None, trace_id=TraceId(new_uuid()),
        asked_turn_id=None,
    )  # fmt: skip


def asked(quotes: list[tuple[int, int]], chunks: list[ChunkId], given: Answer) -> Result:
    """A question whose answer stands at the places of `quotes`, and what it got."""
    targets = [target(DOCUMENT, (place,), PIECES) for place in quotes]
    scores = score(
        targets, (), "en", Answered(chunks=tuple(chunks), answer=given, judged=False, verdict=None)
    )
    return Result(
        question=str(new_uuid()), kind="concept", language="en", answerable=bool(quotes),
        scores=scores.measured, apart=scores.apart, chunks=tuple(chunks),
        abstained=given.abstained, confidence=0.5, trace_id=TraceId(new_uuid()), degraded=(),
        milliseconds=1.0,
    )  # fmt: skip


def overall(results: list[Result], metric: str) -> Summary:
    return next(one for one in summarise(results) if not one.group and one.metric == metric)


def test_ev_01_a_repeated_hit_counts_once() -> None:
    assert recall(["A", "A"], {"A", "B"}, 2) == 0.5
    scores = asked([(1, 3), (11, 13)], [A, A], answer()).scores
    assert scores["recall@5"] == 0.5
    assert scores["precision@5"] == 0.2
    # One of two found, at rank 1: 1 / (1 + 1 / log2(3)).
    assert scores["ndcg@5"] == pytest.approx(0.613147, abs=1e-6)
    assert all(0 <= value <= 1 for value in scores.values())


def test_ev_02_a_repeat_in_the_gold_list_lowers_nothing() -> None:
    assert recall(["A"], ["A", "A"], 1) == 1.0
    scores = asked([(1, 3), (1, 3)], [A], answer()).scores
    assert scores["recall@1"] == scores["ndcg@1"] == scores["precision@1"] == 1.0


def test_ev_03_what_cannot_be_measured_stands_apart() -> None:
    """4 scores, 1 unreadable verdict, 1 answer without claims."""
    verdicts = ["yes", "partly", "no", "yes", None]
    said = Sentence(text="So.", markers=(1,), support="supported")
    results = []
    for word in verdicts:
        reply = json.dumps({"verdict": word}) if word else "I would rather not say."
        scores = score(
            [target(DOCUMENT, ((1, 3),), PIECES)],
            (),
            "en",
            Answered(
                chunks=(A,),
                answer=answer(sentences=(said,) if word else ()),
                judged=True,
                verdict=read_verdict(reply, 0),
            ),
        )
        made = asked([(1, 3)], [A], answer())
        results.append(
            Result(
                question=made.question, kind="concept", language="en", answerable=True,
                scores=scores.measured, apart=scores.apart, chunks=(A,), abstained=False,
                confidence=1.0, trace_id=made.trace_id, degraded=(), milliseconds=1.0,
            )
        )  # fmt: skip
    judged, faithful = overall(results, "judged"), overall(results, "faithfulness")
    assert judged.mean == 0.625  # (1 + .5 + 0 + 1) / 4
    assert (judged.measured, judged.apart) == (4, {"unreadable verdict": 1})
    assert (faithful.mean, faithful.measured) == (1.0, 4)
    assert faithful.apart == {"no sentence": 1}
    assert "NaN" not in json.dumps([judged.mean, judged.low, judged.high], allow_nan=True)


def test_ev_04_a_question_without_an_answer_scores_its_refusal() -> None:
    refused = asked([], [A, B], answer(abstained=True))
    told = asked([], [A, B], answer())
    assert refused.scores == {"refused": 1.0}
    assert told.scores["refused"] == 0.0
    assert not any(name.startswith(("recall", "precision", "ndcg", "mrr")) for name in told.scores)
    assert overall([refused, told], "refused").mean == 0.5
    assert summarise([]) == ()
    assert refusal([], 0.5) is None
    with pytest.raises(UsageError, match="it holds no question"):
        golden_of([], "none", {})
    with pytest.raises(ValueError, match="k must be at least 1"):
        recall(["A"], ["A"], 0)


def test_ev_05_precision_divides_by_k_also_where_there_are_fewer_hits() -> None:
    assert precision(["A", "B", "C"], ["A", "C"], 10) == 0.2
    assert asked([(1, 3)], [A, B], answer()).scores["precision@10"] == 0.1
    assert ndcg(["A", "B", "C"], ["A"], 10) == 1.0


def test_ev_06_mrr_is_the_mean_of_the_reciprocal_ranks() -> None:
    others = [ChunkId(new_uuid()) for _ in range(3)]
    first, fourth = asked([(1, 3)], [A], answer()), asked([(1, 3)], [*others, A], answer())
    assert (first.scores["mrr"], fourth.scores["mrr"]) == (1.0, 0.25)
    assert overall([first, fourth], "mrr").mean == 0.625
