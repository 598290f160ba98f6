"""CASES, section 11, and SAFETY 0.10: is an answer given to another wording only where it may be?"""

import json
import logging
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import ProviderAway
from vademecum.model.answer import Answer
from vademecum.model.filter_json import parse_filter
from vademecum.model.principal import Scope
from vademecum.opening import ReuseRules, SharedRules, reuse_rules
from vademecum.postgres.pool import Pool
from vademecum.server.metrics import Metrics
from vademecum.settings import Settings, load
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.text.asked import meaning
from vademecum.worker.loop import once

SHARED = SharedRules(
    collections=frozenset({"faq"}), least=0.95, lasts=timedelta(hours=1), most=1_000
)
RULES = ReuseRules(lasts=timedelta(hours=1), most=1_000, settings="as they are", shared=SHARED)
PRICE = "The library opens at {hour} on Sundays."
ASKED = "When does the library open on Sundays?"
# The same words in another order have the same vector of a hash embedder.
REWORDED = "On Sundays, when does the library open?"
PAIRS = [
    json.loads(line)
    for line in Path(__file__).with_name("semantic_pairs.jsonl").read_text().splitlines()
]


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await opened(pool, database_url, tmp_path)


async def opened(pool: Pool, database_url: str, folder: Path, **values: Any) -> Bench:
    bench = await make_bench(pool, database_url, folder, **({"reuse": RULES} | values))
    await bench.ingest(hours(9))
    return bench


def hours(hour: int, **values: Any) -> Any:
    return source("hours", PRICE.format(hour=hour), collection="faq", **values)


async def asked(bench: Bench, question: str, scope: Scope, **values: Any) -> Answer:
    return await bench.app.ask(
        question, scope=scope, **({"collections": frozenset({"faq"})} | values)
    )


def reader(name: str, *labels: str, tenant: str = "default") -> Scope:
    return Scope.for_principal(tenant, f"user:{name}", frozenset(labels))


async def test_it_is_given_to_another_wording_of_another_person(bench: Bench) -> None:
    first = await asked(bench, ASKED, reader("one"))
    again = await asked(bench, REWORDED, reader("two"))
    assert "at 9" in first.text
    assert (first.given_before, first.reworded) == (None, False)
    assert (again.given_before, again.reworded) == (first.trace_id, True)
    assert (again.text, again.sentences, again.citations) == (
        first.text,
        first.sentences,
        first.citations,
    )
    assert again.question == REWORDED
    trace = await bench.app.catalogue.records.trace(reader("two"), again.trace_id)
    assert trace.record["given_before"] == str(first.trace_id)
    assert trace.record["reworded"] is True
    assert bench.count("shared_answer") == 1
    metrics = Metrics()
    metrics.answer(first)
    metrics.answer(again)
    assert b'vademecum_given_again_total{cache="semantic"} 1.0' in metrics.text()
    assert b'cache="exact"' not in metrics.text()


async def test_no_word_of_a_question_is_kept_with_it(bench: Bench) -> None:
    await asked(bench, "When does the library open on Sundays, zeppelin?", reader("one"))
    assert "vademecum.shared_answer" not in bench.tables_with("zeppelin")


async def test_what_holds_words_of_the_asker_is_theirs(bench: Bench) -> None:
    """A part that nothing answers is named in the words in which it was asked."""
    parts = "When does the library open on sundays, and who paints zeppelins?"
    answer = await asked(bench, parts, reader("one"))
    assert "zeppelins" in answer.text
    assert bench.count("kept_answer") == 1
    assert bench.count("shared_answer") == 0


async def test_it_is_off_unless_opted_in(pool: Pool, database_url: str, tmp_path: Path) -> None:
    rules = replace(RULES, shared=None)
    bench = await opened(pool, database_url, tmp_path, reuse=rules)
    await asked(bench, ASKED, reader("one"))
    assert (await asked(bench, REWORDED, reader("one"))).given_before is None
    assert bench.count("shared_answer") == 0


async def test_other_collections_are_not_shared(bench: Bench) -> None:
    await bench.ingest(source("other", PRICE.format(hour=9), collection="other"))
    for where in (None, frozenset({"other"}), frozenset({"faq", "other"}), frozenset[str]()):
        await asked(bench, ASKED, reader("one"), collections=where)
        assert (await asked(bench, REWORDED, reader("two"), collections=where)).given_before is None
    assert bench.count("shared_answer") == 0
    bound = replace(reader("three"), collections=frozenset({"faq"}))
    first = await asked(bench, ASKED, bound, collections=None)
    again = await asked(bench, REWORDED, reader("four"))
    assert again.given_before == first.trace_id, "where a key is bound counts as where it asked"


async def test_ca_01_what_changed_is_answered_afresh(bench: Bench) -> None:
    await asked(bench, ASKED, reader("one"))
    await bench.ingest(hours(11))
    new = await asked(bench, REWORDED, reader("two"))
    assert new.given_before is None
    assert "at 11" in new.text
    assert bench.count("shared_answer") == 1, "the old one was let go of"
    (later,) = await bench.ingest(source("more", "A sauna is nowhere.", collection="faq"))
    assert (await asked(bench, ASKED, reader("three"))).given_before is None
    await bench.app.catalogue.delete(later.id, scope=OPERATOR)
    assert (await asked(bench, ASKED, reader("four"))).given_before is None


async def test_ca_02_no_answer_crosses_tenants(bench: Bench) -> None:
    other = Scope.for_operator("other")
    await bench.ingest(hours(11), scope=other)
    await asked(bench, ASKED, reader("one"))
    answer = await asked(bench, REWORDED, reader("one", tenant="other"))
    assert answer.given_before is None
    assert "at 11" in answer.text


async def test_ca_04_filter_day_and_settings_part_them(
    bench: Bench, pool: Pool, database_url: str, tmp_path: Path
) -> None:
    await asked(bench, ASKED, reader("one"))
    filtered = parse_filter({"eq": ["place", "north"]})
    narrow = await asked(bench, REWORDED, reader("two"), filter=filtered)
    assert narrow.given_before is None
    dated = await asked(bench, REWORDED, reader("two"), as_of=date(2030, 1, 1))
    assert dated.given_before is None
    changed = await make_bench(
        pool, database_url, tmp_path, reuse=replace(RULES, settings="one of them changed")
    )
    assert (await asked(changed, REWORDED, reader("three"))).given_before is None


async def test_ca_04_a_private_document_ends_the_sharing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Also for whoever does not see it, and it is said once."""
    await asked(bench, ASKED, reader("one"))
    secret = source(
        "secret", "The vault opens at midnight.", collection="faq", access=["group:staff"]
    )
    await bench.ingest(secret)
    with caplog.at_level(logging.WARNING):
        for name in ("two", "three"):
            for question in (ASKED, REWORDED):
                answer = await asked(bench, question, reader(name))
                assert answer.given_before is None
    said = [line for line in caplog.messages if "semantic_collections" in line]
    told = "names faq, of which not everyone may read every document: its answers are not shared"
    assert said == [f"cache.semantic_collections {told}"]
    assert bench.count("shared_answer") == 1, "that of before, which is given no more"


async def test_ca_05_what_goes_on_is_never_shared(bench: Bench) -> None:
    first = await asked(bench, ASKED, reader("one"))
    begun = await asked(bench, "Where is the library?", reader("two"))
    later = await asked(bench, REWORDED, reader("two"), conversation_id=begun.conversation_id)
    assert first.given_before is later.given_before is None


async def test_who_is_remembered_gets_and_gives_none(bench: Bench) -> None:
    await bench.app.remember("I use a wheelchair.", scope=reader("one"))
    await asked(bench, ASKED, reader("one"))
    assert bench.count("shared_answer") == 0
    await asked(bench, ASKED, reader("two"))
    assert (await asked(bench, REWORDED, reader("one"))).given_before is None


async def test_questions_that_are_not_near_enough_are_apart(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    polite = "Please tell me when the library does open on Sundays, thanks"
    assert meaning(polite, "en") == meaning("When the library does open on Sundays?", "en")
    for least, given in ((0.999, False), (0.5, True)):
        rules = replace(RULES, shared=replace(SHARED, least=least), settings=str(least))
        bench = await opened(pool, database_url, tmp_path, reuse=rules)
        await asked(bench, "When the library does open on Sundays?", reader("one"))
        answer = await asked(bench, polite, reader("two"))
        assert (answer.given_before is not None) == given


async def test_near_questions_that_ask_otherwise_are_apart(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """At cosine 0 and above nothing but the guard parts them."""
    rules = replace(RULES, shared=replace(SHARED, least=0.0))
    bench = await opened(pool, database_url, tmp_path, reuse=rules)
    await asked(bench, ASKED, reader("one"))
    for other in (
        "When does the library close on Sundays?",
        "When does the library open on Mondays?",
        "When does the library not open on Sundays?",
        "When does the Library Norte open on Sundays?",
        "When does the library of hall 3 open on Sundays?",
        "When does the library BX-217 open on Sundays?",
    ):
        assert (await asked(bench, other, reader("two"))).given_before is None, other


async def test_ca_08_the_oldest_of_a_tenant_go(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    rules = replace(RULES, shared=replace(SHARED, most=3))
    bench = await opened(pool, database_url, tmp_path, reuse=rules)
    answers = [
        await asked(bench, f"When does the library open on Sundays at gate {n}?", reader(f"r{n}"))
        for n in range(5)
    ]
    kept = bench.sql("SELECT trace FROM vademecum.shared_answer ORDER BY created_at")
    assert kept == [(answer.trace_id,) for answer in answers[-3:]]


async def test_ca_08_of_one_question_a_few_wordings_stay(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """So that a look compares few vectors, however often one question is asked."""
    never = replace(RULES, shared=replace(SHARED, least=1.1))
    bench = await opened(pool, database_url, tmp_path, reuse=never)
    answers = [await asked(bench, ASKED, reader(f"r{n}")) for n in range(10)]
    assert {answer.given_before for answer in answers} == {None}
    kept = bench.sql("SELECT trace FROM vademecum.shared_answer ORDER BY id")
    assert kept == [(answer.trace_id,) for answer in answers[-8:]]


async def test_ca_08_what_is_over_is_given_no_more_and_leaves(bench: Bench) -> None:
    await asked(bench, ASKED, reader("one"))
    bench.sql("UPDATE vademecum.shared_answer SET expires_at = now() - interval '1 s'")
    bench.sql("UPDATE vademecum.kept_answer SET expires_at = now() - interval '1 s'")
    assert (await asked(bench, REWORDED, reader("two"))).given_before is None
    bench.sql("UPDATE vademecum.shared_answer SET expires_at = now() - interval '1 s'")
    _, (retired, *_) = await once(bench.app)
    assert retired.answers == 2, "the exact one of the first and the shared one of the second"
    assert bench.count("shared_answer") == 0


async def test_it_goes_with_its_person_and_its_conversation(bench: Bench) -> None:
    first = await asked(bench, ASKED, reader("one"))
    other = await asked(bench, "Which hall is the largest?", reader("two"))
    receipt = await bench.app.forget(scope=reader("one"))
    stores = {entry.store: (entry.found, entry.left) for entry in receipt.stores}
    assert stores["postgres.shared_answer"] == (1, 0)
    assert (await asked(bench, REWORDED, reader("three"))).given_before != first.trace_id
    assert other.conversation_id
    await bench.app.talking.delete(other.conversation_id, scope=reader("two"))
    kept = bench.sql("SELECT principal FROM vademecum.shared_answer")
    assert kept == [("user:three",)]


async def test_an_embedder_that_fails_costs_nothing(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    broken = Fault(error=ProviderAway("it is away", hint="ask again"))
    # The first call embeds the document, the second is the look for another wording.
    bench = await opened(pool, database_url, tmp_path, embedder=HashEmbedder(faults={2: broken}))
    answer = await asked(bench, ASKED, reader("one"))
    assert "at 9" in answer.text
    assert answer.degraded == ()
    assert bench.count("shared_answer") == 0


def test_false_hits_are_none_on_the_pairs() -> None:
    """PERFORMANCE G18 at cosine .95, with the cosines of multilingual-e5-small: without the guard
    19 of 30 near misses would hit. `test_the_cosines_are_those_of_the_model` holds them true."""
    near = [pair for pair in PAIRS if pair["cosine"] >= SHARED.least]
    hits = [
        pair["same"]
        for pair in near
        if meaning(pair["one"], pair["language"]) == meaning(pair["other"], pair["language"])
    ]
    assert (len(PAIRS), sum(pair["same"] for pair in PAIRS)) == (60, 30)
    assert (sum(p["same"] for p in near), sum(not p["same"] for p in near)) == (26, 19)
    assert hits.count(False) == 0
    assert hits.count(True) >= 15


def settings(**flags: Any) -> Settings:
    dotted = {key.replace("__", "."): value for key, value in flags.items()}
    return load(config=None, flags=dotted, environment={}).settings


def test_the_settings_name_the_collections() -> None:
    assert reuse_rules(settings()).shared is None  # type: ignore[union-attr]
    rules = reuse_rules(settings(cache__semantic_collections="faq, rules"))
    assert rules is not None
    assert rules.shared == SharedRules(
        collections=frozenset({"faq", "rules"}), least=0.95, lasts=timedelta(hours=1), most=10_000
    )
