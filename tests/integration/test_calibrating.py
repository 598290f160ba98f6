"""Does a collection's own calibration act on its searches alone, for as long as it holds?"""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rebuilding import NEW, OLD, another, rebuilding
from support import OPERATOR, Bench, make_bench, source

from vademecum.app import follow
from vademecum.calibrating import Calibrated, calibrate
from vademecum.catalogue import calibrations_of
from vademecum.errors import CalibrationNotFound, Forbidden, UsageError
from vademecum.evaluate.calibrate import trains
from vademecum.evaluate.golden import Golden, golden_of
from vademecum.evaluating import Wish, evaluate
from vademecum.model.calibration import Calibration, Weights
from vademecum.model.passage import Found
from vademecum.model.principal import Scope
from vademecum.opening import ReuseRules
from vademecum.postgres.pool import Pool
from vademecum.reindexing import reindex, roll_back
from vademecum.settings import Loaded, load
from vademecum.testing.embedders import HashEmbedder

LOADED: Loaded = load(config=None, flags={}, environment={"VADE_HOME": "/tmp/none"})
COUNT, SHORT = 64, 44
PERSON = Scope.for_principal("default", "user:anna", frozenset())
_FIRST, _SECOND = ("ba", "ke", "lo", "mi", "nu", "pa", "re", "so"), ("dax", "fim", "gol", "hup",
                                                                   "jet", "kov", "tur", "vez")  # fmt: skip
WORDS = [first + second for first in _FIRST for second in _SECOND]
ASKED = "At which hour does the {word} gate open to visitors?"


def text(word: str, at: int) -> str:
    return f"The {word} gate of the garden opens to visitors at {at % 12 + 1} in the morning."


def entry(at: int, **values: Any) -> dict[str, Any]:
    known = {
        "id": f"gate-{at}", "question": ASKED.format(word=WORDS[at]), "kind": "concept",
        "relevant": [{"document": f"{WORDS[at]}.txt"}],
    }  # fmt: skip
    return known | values


def absent(at: int) -> dict[str, Any]:
    word = f"qu{WORDS[at]}"
    return {
        "id": f"absent-{at}", "question": ASKED.format(word=word), "kind": "unanswerable",
        "relevant": [],
    }  # fmt: skip


def golden(*entries: dict[str, Any]) -> Golden:
    """Questions of which as few train as may be, unless told otherwise."""
    return golden_of(list(entries) or [entry(at) for at in range(SHORT)], "gates.toml", {})


async def _made(pool: Pool, database_url: str, folder: Path, words: list[str]) -> Bench:
    rules = ReuseRules(lasts=timedelta(hours=1), most=10, settings="")
    made = await make_bench(pool, database_url, folder, tokens=60, reuse=rules)
    await made.ingest(
        *(source(f"{w}.txt", text(w, at), collection="gates") for at, w in enumerate(words)),
        source("piano.txt", "The piano stands in the foyer of the hall.", collection="hall"),
    )
    return made


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await _made(pool, database_url, tmp_path / "blobs", WORDS)


@pytest.fixture
async def small(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    """Too few documents to fit anything to: enough to go by what was fitted."""
    return await _made(pool, database_url, tmp_path / "blobs", WORDS[:8])


OWN = Weights(constant=0.4, weights={"top": 1.0}, usual={"top": 0.5}, refuse_below=0.1)


async def kept(bench: Bench, **values: Any) -> Calibration:
    """Keep a calibration by hand, and return it."""
    own = Calibration(
        collection="gates", name="gates.toml", sha256="ab" * 32,
        generation=bench.app.ingest_parts.generation.id,
        ranking=bench.app.answer_parts.retrieve.ranking.named,
        created_at=datetime(2026, 5, 12, 8, 30, tzinfo=UTC), same=OWN, across=OWN,
        dense_weight=0.7, figures={"loss": 0.1},
    )  # fmt: skip
    own = replace(own, **values)
    await bench.app.catalogue.calibrations.keep(OPERATOR, own)
    return own


async def fitted(bench: Bench, *entries: dict[str, Any], **values: Any) -> Calibrated:
    return await calibrate(bench.app, golden(*entries), scope=OPERATOR, **values)


async def searched(
    bench: Bench, at: int, *names: str, scope: Scope = OPERATOR, **values: Any
) -> Found:
    collections = frozenset(names) if names else None
    asked = ASKED.format(word=WORDS[at])
    return await bench.app.search(asked, scope=scope, collections=collections, **values)


async def test_a_whole_calibration_by_its_own_questions(bench: Bench) -> None:
    """Nothing in the golden set is unanswerable, so each question is asked without its document
    too; the point of refusal then loses exactly what was chosen, through the product's search."""
    told: list[tuple[int, int]] = []
    done = await fitted(
        bench, *(entry(at) for at in range(COUNT)), count=lambda at, of: told.append((at, of))
    )
    training = [at for at in range(COUNT) if trains(f"gate-{at}")]
    assert (done.training.answerable, done.training.unanswerable) == (len(training), 0)
    assert done.training.made == len(training)
    assert done.held.answerable == COUNT - len(training) == done.held.made
    assert done.kept
    assert done.calibration.collection == "gates"
    assert sorted(done.weights) == [0.3, 0.4, 0.5, 0.6, 0.7]
    assert done.after.ndcg.mean >= done.before.ndcg.mean
    assert done.after.auc.mean >= done.before.auc.mean
    assert done.after.right > done.before.right
    assert done.after.auc.low <= done.after.auc.mean <= done.after.auc.high
    assert (done.across.answerable, done.across.weights) == (0, None)
    assert done.same.weights is not None
    assert told[-1][0] <= told[-1][1]
    # No one was asked in the name of anybody, and nothing of the questions is kept.
    assert bench.count("trace") == 0
    assert not bench.tables_with("to visitors?")
    found = [await searched(bench, at, "gates") for at in training]
    judged = [one.retrieval.abstention for one in found]
    assert not any(one.signals["other_language"] for one in judged)
    assert len(judged) == done.same.answerable
    assert sum(one.would for one in judged) == math.floor(0.1 * len(judged))


async def test_searches_of_that_collection_alone_go_by_it_and_name_it(small: Bench) -> None:
    before = [await searched(small, 0, *names) for names in (("gates",), (), ("gates", "hall"))]
    own = await kept(small)
    after = [await searched(small, 0, *names) for names in (("gates",), (), ("gates", "hall"))]
    was = [one.retrieval.abstention.confidence for one in before]
    now = [one.retrieval.abstention.confidence for one in after]
    assert now[0] != was[0]
    top = after[0].retrieval.abstention.signals["top"]
    assert top is not None
    assert now[0] == pytest.approx(1 / (1 + math.exp(-(0.4 - 0.1 + top))))
    assert now[1:] == was[1:]
    label = own.label
    assert label.startswith("gates, ")
    assert [one.retrieval.fusion.get("calibration") for one in after] == [label, None, None]
    trace = await small.app.catalogue.records.trace(OPERATOR, after[0].trace_id)
    assert trace.record["fusion"]["calibration"] == label
    assert trace.record["fusion"]["dense_weight"] == 0.7
    assert trace.record["abstain"]["signals"]["top"] == top
    # Everybody's searches go by it; who may see nothing there is not told that it is there.
    persons = await searched(small, 0, "gates", scope=PERSON)
    assert persons.retrieval.abstention.confidence == now[0]
    await small.ingest(source("s.txt", "The safe.", collection="vault", access=("group:x",)))
    await kept(small, collection="vault")
    unseen = await searched(small, 0, "vault", scope=PERSON)
    assert (
        unseen.retrieval.fusion == (await searched(small, 0, "none", scope=PERSON)).retrieval.fusion
    )
    assert "calibration" not in unseen.retrieval.fusion
    assert "calibration" in (await searched(small, 0, "vault")).retrieval.fusion
    # A replay of a search from before says that this is why.
    replayed = await small.app.replay(before[0].trace_id, scope=OPERATOR)
    [version] = replayed.versions
    assert (version.name, version.was, version.now) == ("search.calibration", "", label)


async def test_without_keep_nothing_is_written_and_taken_back_it_is_as_before(
    bench: Bench,
) -> None:
    before = (await searched(bench, 3, "gates")).retrieval.abstention
    dry = await fitted(bench, keep=False)
    assert not dry.kept
    assert bench.count("calibration") == 0
    assert (await searched(bench, 3, "gates")).retrieval.abstention == before
    assert (await fitted(bench)).calibration.same == dry.calibration.same, "the same every time"
    assert bench.count("calibration") == 1
    await bench.app.catalogue.calibrations.remove(OPERATOR, "gates")
    assert (await searched(bench, 3, "gates")).retrieval.abstention == before
    with pytest.raises(CalibrationNotFound):
        await bench.app.catalogue.calibrations.remove(OPERATOR, "gates")


async def test_what_is_worse_on_the_held_half_is_not_kept(bench: Bench) -> None:
    first = await fitted(bench)
    again = await fitted(bench, loss=0.9)
    assert not again.kept
    assert any("refusing is not kept: on the held half judged rightly" in t for t in again.told)
    [kept] = await bench.app.catalogue.calibrations.all(OPERATOR)
    assert kept == first.calibration


async def test_questions_without_an_answer_of_one_s_own_are_used_where_there_are_enough(
    bench: Bench,
) -> None:
    every = [entry(at) for at in range(SHORT)]
    own = await fitted(bench, *every, *(absent(at) for at in range(COUNT)), keep=False)
    assert (own.training.made, own.held.made) == (0, 0)
    assert own.training.unanswerable + own.held.unanswerable == COUNT
    few = await fitted(bench, *every, *(absent(at) for at in range(5)), keep=False)
    assert few.training.made == few.training.answerable
    assert few.training.unanswerable + few.held.unanswerable == 5


async def test_too_few_questions_change_nothing(bench: Bench) -> None:
    few = [entry(at) for at in range(24)]
    training = sum(trains(one["id"]) for one in few)
    assert training < 20
    with pytest.raises(UsageError, match=f"training half has {training} questions with an answer"):
        await fitted(bench, *few)
    assert bench.count("calibration") == 0


async def test_which_questions_are_left_out_and_why(bench: Bench) -> None:
    every = [entry(at) for at in range(SHORT)]
    odd = [
        {"id": "piano", "question": "Where does the piano stand?", "kind": "concept",
         "relevant": [{"document": "piano.txt"}]},
        entry(0, id="parts", kind="multi_part"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="what is relevant lies in 2 collections"):
        await fitted(bench, *every, *odd)
    with pytest.raises(UsageError, match="the collection 'none' holds nothing"):
        await fitted(bench, collection="none")
    done = await fitted(bench, *every, *odd, collection="gates", keep=False)
    assert sorted(done.left_out.values()) == [1, 1]
    assert done.training.answerable + done.held.answerable == SHORT


async def test_another_build_of_the_index_makes_it_stale_and_going_back_does_not(
    small: Bench, pool: Pool, tmp_path: Path
) -> None:
    own = await kept(small)
    work = rebuilding(pool, tmp_path / "blobs", {OLD: HashEmbedder(), NEW: another()})
    small.app.reopen = work.reopen
    await reindex(work)
    await follow(small.app)
    assert "calibration" not in (await searched(small, 0, "gates")).retrieval.fusion
    catalogue = small.app.catalogue
    old = own.generation
    told = f"fitted on index generation {old}, {old + 1} is read"
    assert await calibrations_of(catalogue, OPERATOR, LOADED) == [(own, told)]
    await roll_back(work)
    await follow(small.app)
    assert "calibration" in (await searched(small, 0, "gates")).retrieval.fusion
    assert await calibrations_of(catalogue, OPERATOR, LOADED) == [(own, "")]


async def test_other_settings_act_and_not_what_was_fitted_with_these(small: Bench) -> None:
    await kept(small)
    line = small.app.answer_parts
    ranking = line.retrieve.ranking
    other = replace(ranking, fusion=replace(ranking.fusion, dense_weight=0.9))
    small.app.answer_parts = replace(line, retrieve=replace(line.retrieve, ranking=other))
    fusion = (await searched(small, 0, "gates")).retrieval.fusion
    assert fusion["dense_weight"] == 0.9
    assert "calibration" not in fusion
    loaded = load(
        config=None, flags={"search.dense_weight": 0.9}, environment={"VADE_HOME": "/tmp/none"}
    )
    [(_, why)] = await calibrations_of(small.app.catalogue, OPERATOR, loaded)
    assert why == "fitted with other settings: search.dense_weight"


async def test_one_fitted_with_a_reranker_is_in_use_where_that_is_set(small: Bench) -> None:
    own = await kept(small)
    address = "http://localhost:9/v1"
    reranked = {
        "models.reranker": f"{address}/rerank#judge",
        "search.rerank_first": 10,
        "search.rerank_lead": 1.0,
    }
    one = replace(own, ranking={**own.ranking, **reranked})
    await small.app.catalogue.calibrations.keep(OPERATOR, one)
    loaded = load(
        config=None, flags={"models.reranker": f"{address}#judge"},
        environment={"VADE_HOME": "/tmp/none"},
    )  # fmt: skip
    assert await calibrations_of(small.app.catalogue, OPERATOR, loaded) == [(one, "")]
    [(_, why)] = await calibrations_of(small.app.catalogue, OPERATOR, LOADED)
    assert "models.reranker" in why


async def test_tenants_and_who_is_no_operator_are_apart(small: Bench) -> None:
    other = Scope.for_operator("other")
    await small.ingest(
        *(source(f"{w}.txt", text(w, at), collection="gates") for at, w in enumerate(WORDS[:8])),
        scope=other,
    )
    before = (await searched(small, 0, "gates", scope=other)).retrieval
    own = await kept(small)
    store = small.app.catalogue.calibrations
    after = (await searched(small, 0, "gates", scope=other)).retrieval
    assert (after.abstention, after.fusion) == (before.abstention, before.fusion)
    assert await store.all(other) == [] == await store.all(PERSON)
    with pytest.raises(CalibrationNotFound):
        await store.remove(other, "gates")
    for refused in (store.keep(PERSON, own), store.remove(PERSON, "gates")):
        with pytest.raises(Forbidden):
            await refused
    with pytest.raises(Forbidden):
        await calibrate(small.app, golden(), scope=PERSON)
    await store.keep(other, own)
    await store.remove(other, "gates")
    assert await store.all(OPERATOR) == [own]


async def test_an_answer_that_was_written_by_other_constants_is_not_given_again(
    small: Bench,
) -> None:
    asked = ASKED.format(word=WORDS[5])
    await small.app.ask(asked, scope=PERSON, collections=frozenset(["gates"]))
    assert small.count("kept_answer") == 1
    await kept(small)
    assert small.count("kept_answer") == 0
    await small.app.ask(asked, scope=PERSON, collections=frozenset(["gates"]))
    await small.app.catalogue.calibrations.remove(OPERATOR, "gates")
    assert small.count("kept_answer") == 0


async def test_what_is_not_in_the_sources_says_what_was_searched(small: Bench) -> None:
    asked = "Zorblax quuxington frobnication?"
    answer = await small.app.ask(asked, scope=PERSON, collections=frozenset(["hall"]))
    assert answer.abstained
    assert (answer.searched, answer.collections) == ((asked,), frozenset(["hall"]))


async def test_a_run_says_which_calibration_its_collection_went_by(small: Bench) -> None:
    own = await kept(small)
    for names, label in ((("gates",), own.label), (("hall",), ""), ((), "")):
        wish = Wish(collections=frozenset(names) or None)
        run, _ = await evaluate(
            small.app, golden(entry(0)), scope=OPERATOR, loaded=LOADED, wish=wish
        )
        assert run.versions["calibration"] == label
