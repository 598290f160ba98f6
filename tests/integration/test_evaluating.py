"""Is a whole run what a pencil makes of it, on real PostgreSQL, and is nothing kept but numbers?"""

from pathlib import Path
from typing import Any

import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import EvaluationNotFound, Forbidden, InvalidSetting, UsageError
from vademecum.evaluate.golden import Golden, golden_of
from vademecum.evaluating import (
    Wish,
    candidates_from_corpus,
    candidates_from_thumbs,
    check_settable,
    evaluate,
)
from vademecum.model.evaluation import Result, Run
from vademecum.model.ids import EvaluationId, new_uuid
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.settings import Loaded, load
from vademecum.testing.language_models import ScriptedModel

REFUND = "A refund for a ticket takes 5 days at the box office."
ERROR = "Error KH-402 means that the bank declined the card."
STAFF = "The safe of the cash office is emptied on Tuesday by the night manager."
LOADED: Loaded = load(config=None, flags={}, environment={"VADE_HOME": "/tmp/none"})


def question(name: str, text: str, **values: Any) -> dict[str, Any]:
    known = {"id": name, "question": text, "kind": "concept", "relevant": []}
    return known | values


QUESTIONS = [
    question(
        "refund", "How many days does a refund for a ticket take at the box office?",
        relevant=[{"document": "refund.md", "quote": "takes 5 days"}], expected=["5 days"],
    ),
    question(
        "error", "What does error KH-402 mean?", kind="code",
        relevant=[{"document": "error.md", "quote": "the bank declined"}],
        expected=["the bank declined the card", "KH-417"],
    ),
    question(
        "safe", "On which day is the safe of the cash office emptied?",
        relevant=[{"document": "staff.md"}], principal="guest",
    ),
    question(
        "safe-staff", "On which day is the safe of the cash office emptied?",
        relevant=[{"document": "staff.md"}], principal="user:eva", labels=["group:staff"],
    ),
    question("planet", "Zorblax quuxington frobnication?", kind="unanswerable"),
]  # fmt: skip


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    made = await make_bench(pool, database_url, tmp_path / "blobs", tokens=60)
    await made.ingest(
        source("refund.md", REFUND),
        source("error.md", ERROR),
        source("staff.md", STAFF, access=("group:staff",)),
    )
    return made


async def ran(bench: Bench, golden: Golden, **wish: Any) -> tuple[Run, list[Result]]:
    return await evaluate(bench.app, golden, scope=OPERATOR, loaded=LOADED, wish=Wish(**wish))


def golden(*entries: dict[str, Any]) -> Golden:
    return golden_of(list(entries or QUESTIONS), "mine", {})


async def test_a_run_by_hand(bench: Bench) -> None:
    """Three documents of one chunk each: whoever may see a chunk finds it first, by its words."""
    run, results = await ran(bench, golden())
    got = {one.question: one for one in results}
    right = {
        "hit@1": 1.0, "recall@1": 1.0, "precision@1": 1.0, "ndcg@1": 1.0, "mrr": 1.0,
        "recall@5": 1.0, "precision@5": 0.2, "precision@10": 0.1, "ndcg@10": 1.0,
    }  # fmt: skip
    for name in ("refund", "error", "safe-staff"):
        assert {key: got[name].scores[key] for key in right} == right, name
    # The guest may not see the document: nothing that is found is right, whatever is answered.
    assert {got["safe"].scores[key] for key in right} == {0.0}
    assert got["safe"].scores["citation_recall"] == 0.0
    assert len(got["safe"].chunks) == 2
    assert len(got["safe-staff"].chunks) == 3
    assert got["refund"].scores["relevance"] == 1.0
    assert got["error"].scores["relevance"] == 0.5  # KH-417 is not said
    assert got["refund"].scores["citation_precision"] == 1.0
    assert got["refund"].scores["faithfulness"] == 1.0
    assert got["planet"].scores == {"refused": 1.0}
    assert got["planet"].abstained
    means = {one.metric: one for one in run.summaries if not one.group}
    assert means["recall@5"].mean == 0.75  # three of four; the fifth has no answer
    assert means["recall@5"].measured == 4
    assert means["relevance"].mean == 0.75
    assert means["refused"].mean == 1.0
    by_kind = {(one.group, one.metric): one.mean for one in run.summaries}
    assert by_kind["kind:code", "mrr"] == 1.0
    assert by_kind["kind:concept", "mrr"] == pytest.approx(2 / 3)


async def test_a_run_is_kept_with_every_version_and_no_text(bench: Bench) -> None:
    run, results = await ran(bench, golden(), settings={"search.fusion_k": 3})
    kept, rows = await bench.app.catalogue.evaluations.get(OPERATOR, run.id)
    assert (kept, rows) == (run, results)
    assert [one.id for one in await bench.app.catalogue.evaluations.all(OPERATOR, 10)] == [run.id]
    assert kept.settings == {"search.fusion_k": 3}
    assert set(kept.versions) == {
        "code", "settings", "documents", "generation", "embedder", "analyser", "chunker",
        "fusion", "reranker", "language_model", "calibration",
    }  # fmt: skip
    for words in ("box office", "declined", "5 days", "How many days"):
        assert not {t for t in bench.tables_with(words) if "evaluation" in t}
    # Nobody but who ran it has asked anything, and no conversation was begun.
    assert bench.sql("SELECT DISTINCT principal FROM vademecum.trace") == [("user:local",)]
    assert bench.count("conversation") == 0
    traced = {row[0] for row in bench.sql("SELECT id FROM vademecum.trace WHERE kind = 'search'")}
    assert {one.trace_id for one in results} == traced


async def test_the_documents_version_says_that_they_changed(bench: Bench) -> None:
    first, _ = await ran(bench, golden(QUESTIONS[0]))
    again, _ = await ran(bench, golden(QUESTIONS[0]))
    await bench.ingest(source("refund.md", REFUND + " Bring the card."))
    changed, _ = await ran(bench, golden(QUESTIONS[0]))
    assert first.versions == again.versions
    differing = {k for k in first.versions if first.versions[k] != changed.versions[k]}
    assert differing == {"documents"}


async def test_runs_are_for_operators_of_their_tenant(bench: Bench) -> None:
    run, _ = await ran(bench, golden(QUESTIONS[0]))
    store = bench.app.catalogue.evaluations
    person = Scope.for_principal("default", "user:local", frozenset())
    for scope in (person, Scope.for_operator("other")):
        assert await store.all(scope, 10) == []
        with pytest.raises(EvaluationNotFound):
            await store.get(scope, run.id)
    with pytest.raises(EvaluationNotFound):
        await store.get(OPERATOR, EvaluationId(new_uuid()))
    with pytest.raises(Forbidden):
        await evaluate(bench.app, golden(), scope=person, loaded=LOADED, wish=Wish())
    with pytest.raises(Forbidden):
        await store.keep(person, run, [])


async def test_who_ran_it_is_forgotten_with_the_run(bench: Bench) -> None:
    """The person is no operator while being forgotten, as `vade forget --as` makes it."""
    await ran(bench, golden(QUESTIONS[0]))
    assert (bench.count("evaluation_run"), bench.count("evaluation_result")) == (1, 1)
    person = Scope.for_principal("default", "user:local", frozenset())
    receipt = await bench.app.forget(scope=person)
    stores = {one.store: one for one in receipt.stores}
    told = stores["postgres.evaluation_run"]
    assert (told.found, told.deleted, told.left) == (1, 1, 0)
    assert receipt.complete
    assert (bench.count("evaluation_run"), bench.count("evaluation_result")) == (0, 0)


async def test_a_question_of_another_day_is_measured_on_the_revision_of_that_day(
    bench: Bench,
) -> None:
    for since, fee in (("2024-01-01", "10"), ("2025-01-01", "12")):
        text = f"The cloakroom fee of the hall is {fee} euros for each coat."
        await bench.ingest(source("fees.md", text, metadata={"effective_from": since}))
    asked = question(
        "fee", "What is the cloakroom fee of the hall for each coat?", as_of="2024-06-01",
        relevant=[{"document": "fees.md", "quote": "fee of the hall is 10 euros"}],
        expected=["10 euros"],
    )  # fmt: skip
    _, [then] = await ran(bench, golden(asked))
    assert then.scores["mrr"] == 1.0
    assert then.scores["relevance"] == 1.0
    with pytest.raises(UsageError, match=r"quote is not in fees\.md"):
        await ran(bench, golden({**asked, "as_of": None}))


async def test_a_follow_up_is_asked_after_what_was_said(bench: Bench) -> None:
    history = [
        {"role": "user", "text": "What does error KH-402 mean?"},
        {"role": "assistant", "text": "The bank declined the card."},
    ]
    asked = question(
        "more", "And what about that?", kind="follow_up", history=history,
        relevant=[{"document": "error.md"}],
    )  # fmt: skip
    _, [one] = await ran(bench, golden(asked))
    assert one.scores["hit@1"] == 1.0


@pytest.mark.parametrize(
    ("relevant", "told"),
    [
        ({"document": "none.md"}, r"mine question 1: relevant\[0\]\.document 'none\.md' is not"),
        ({"document": "refund.md", "quote": "6 days"}, r"relevant\[0\]\.quote is not in refund"),
    ],
)
async def test_what_a_golden_set_names_and_is_not_there_is_said_before_anything_is_asked(
    bench: Bench, relevant: dict[str, str], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        await ran(bench, golden(question("a", "?", relevant=[relevant])))
    assert bench.count("trace") == 0
    assert bench.count("evaluation_run") == 0


async def test_an_unclear_document_is_named_with_its_ids(bench: Bench) -> None:
    await bench.ingest(source("refund.md", REFUND, collection="old"))
    with pytest.raises(UsageError, match=r"'refund\.md' is 2 documents"):
        await ran(bench, golden(QUESTIONS[0]))
    await bench.ingest(source("/data/unique.md", "The piano stands in the foyer."))
    named = question("piano", "Where does the piano stand?", relevant=[{"document": "unique.md"}])
    _, [one] = await ran(bench, golden(named))
    assert one.scores["mrr"] == 1.0


def test_only_what_acts_while_asking_can_be_set_for_a_run() -> None:
    check_settable({"search.fusion": "rrf", "models.reranker": "", "answer.temperature": 0})
    for key in ("chunking.size", "models.embedding", "database.url"):
        with pytest.raises(UsageError, match=f"{key} cannot be set for one run"):
            check_settable({key: 1})


async def test_with_a_model_answers_are_judged_and_what_cannot_be_read_stands_apart(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    def reply(prompt: Any) -> str:
        if "You judge" not in prompt.system:
            return "A refund for a ticket takes 5 days at the box office. [1]"
        return '{"verdict": "yes", "stated": [1]}' if "refund" in prompt.user else "Hm."

    model = ScriptedModel(reply)
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=model
    )
    await bench.ingest(source("refund.md", REFUND), source("error.md", ERROR))
    run, results = await ran(bench, golden(QUESTIONS[0]))
    assert results[0].scores["judged"] == 1.0
    assert run.versions["language_model"] == "testing:scripted"
    prompts = len(model.prompts)
    _, [unjudged] = await ran(bench, golden(QUESTIONS[0]), judged=False)
    assert "judged" not in unjudged.scores
    assert len(model.prompts) == prompts + 1


# ---- candidates


async def test_a_thumb_down_becomes_a_candidate_that_no_run_asks(bench: Bench) -> None:
    found = await bench.app.search("How long does a refund take?", scope=OPERATOR)
    feedback = bench.app.catalogue.feedback
    await feedback.give(OPERATOR, found.trace_id, "down", "wrong", "It is 7 days now.")
    other = await bench.app.search("KH-402", scope=OPERATOR)
    await feedback.give(OPERATOR, other.trace_id, "up", "", "")
    [made] = await candidates_from_thumbs(bench.app, scope=OPERATOR, limit=10)
    assert made["question"] == "How long does a refund take?"
    assert made["confirmed"] is False
    assert made["note"] == "down: wrong; It is 7 days now."
    assert {"document": "refund.md", "quote": REFUND} in made["relevant"]
    with pytest.raises(UsageError, match="none of its questions is confirmed"):
        golden(made)
    ready = golden({**made, "confirmed": True, "relevant": [made["relevant"][0]]})
    await ran(bench, ready)


async def test_a_model_s_candidate_must_quote_what_is_there(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    def reply(prompt: Any) -> str:
        if "declined" in prompt.user:
            return '{"question": "Why?", "quote": "the bank said no", "expected": []}'
        return (
            '{"question": "How long does it take?", "quote": "takes 5 days",'
            ' "expected": ["5 days", "6 days"]}'
        )

    model = ScriptedModel(reply)
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", tokens=60, language_model=model
    )
    await bench.ingest(source("refund.md", REFUND), source("error.md", ERROR))
    made = await candidates_from_corpus(bench.app, scope=OPERATOR, collections=None, limit=5)
    assert [(one["question"], one["relevant"], one["expected"]) for one in made] == [
        ("How long does it take?", [{"document": "refund.md", "quote": "takes 5 days"}], ["5 days"])
    ]
    assert made[0]["confirmed"] is False


async def test_without_a_model_no_question_is_made_of_documents(bench: Bench) -> None:
    with pytest.raises(InvalidSetting, match="need a language model"):
        await candidates_from_corpus(bench.app, scope=OPERATOR, collections=None, limit=5)
    assert await candidates_from_thumbs(bench.app, scope=OPERATOR, limit=5) == []
