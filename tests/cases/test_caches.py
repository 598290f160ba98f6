"""CASES, section 11: is an answer given again only where nothing that it rests on has changed?"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import DatabaseAway, ProviderAway
from vademecum.model.answer import Answer
from vademecum.model.filter import Filter
from vademecum.model.filter_json import parse_filter
from vademecum.model.kept_answer import KeptAnswer, Looked, Stay
from vademecum.model.principal import Scope
from vademecum.opening import ReuseRules
from vademecum.postgres.pool import Pool
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.language_models import ScriptedModel
from vademecum.worker.loop import once

RULES = ReuseRules(lasts=timedelta(hours=1), most=1_000, settings="as they are")
PRICE = "A ticket to the dome costs {price} dollars this season."
ASKED = "What does a ticket to the dome cost?"


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path, reuse=RULES)


async def asked(bench: Bench, question: str = ASKED, scope: Scope = OPERATOR) -> Answer:
    return await bench.app.ask(question, scope=scope)


def reader(name: str, *labels: str, tenant: str = "default") -> Scope:
    return Scope.for_principal(tenant, f"user:{name}", frozenset(labels))


async def test_the_same_question_is_answered_once(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    first = await asked(bench)
    again = await asked(bench)
    assert "20 dollars" in first.text
    assert (first.given_before, again.given_before) == (None, first.trace_id)
    assert (again.text, again.sentences, again.citations) == (
        first.text,
        first.sentences,
        first.citations,
    )
    assert [p.source for p in again.passages] == [p.source for p in first.passages]
    trace = await bench.app.catalogue.records.trace(OPERATOR, again.trace_id)
    assert trace.record["given_before"] == str(first.trace_id)
    shown = await bench.app.catalogue.talking.show(again.conversation_id, scope=OPERATOR)
    assert [turn.role for turn in shown.turns] == ["user", "assistant"], "it is kept as any other"


async def test_a_kept_answer_is_audited_as_any_other(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    answers = [await asked(bench), await asked(bench)]
    rows = bench.sql("SELECT trace, cardinality(chunks) FROM vademecum.audit_event ORDER BY id")
    assert rows == [(answer.trace_id, 1) for answer in answers]


async def test_ca_01_a_changed_or_deleted_document_is_answered_afresh(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    assert "20 dollars" in (await asked(bench)).text
    (changed,) = await bench.ingest(source("prices", PRICE.format(price=35)))
    new = await asked(bench)
    assert "35 dollars" in new.text
    assert new.given_before is None
    assert "20 dollars" not in new.text
    assert (await asked(bench)).given_before == new.trace_id
    await bench.app.catalogue.delete(changed.id, scope=OPERATOR)
    assert bench.count("kept_answer") == 0, "it went with the document that it quoted"
    gone = await asked(bench)
    assert gone.abstained
    assert gone.given_before is None


async def test_ca_01_what_is_published_while_an_answer_is_kept_counts(bench: Bench) -> None:
    """A new document may hold the better answer, though the old one is as it was."""
    await bench.ingest(source("prices", PRICE.format(price=20)))
    await asked(bench)
    await bench.ingest(source("other", "The gates of the park open at nine."))
    assert (await asked(bench)).given_before is None


async def test_an_event_that_commits_after_later_ones_counts(bench: Bench) -> None:
    """Events are seen out of the order of their numbers: no highest number tells what is new."""
    (document,) = await bench.ingest(source("prices", PRICE.format(price=20)))
    with psycopg.connect(bench.superuser) as slow:
        slow.execute(
            "INSERT INTO vademecum.change_event (tenant, kind, document)"
            " VALUES ('default', 'changed', %s)",
            (document.id,),
        )
        await bench.ingest(source("later", "The gates of the park open at nine."))
        first = await asked(bench)
        assert (await asked(bench)).given_before == first.trace_id
        slow.commit()
    assert (await asked(bench)).given_before is None


async def test_ca_02_no_answer_is_shared_by_two_tenants_or_persons(bench: Bench) -> None:
    question = "What is my balance?"
    long = f"{question} {'What is my balance today? ' * 40}"
    for tenant, amount in (("a", "17 dollars"), ("ab", "93 dollars")):
        scope = Scope.for_operator(tenant)
        await bench.ingest(source("balance", f"My balance is {amount} today."), scope=scope)
    for text in (question, long):
        first = await asked(bench, text, reader("one", tenant="a"))
        for other in (reader("one", tenant="ab"), reader("two", tenant="a")):
            answer = await asked(bench, text, other)
            assert answer.given_before is None
            assert ("93" in answer.text) == (other.tenant == "ab")
        assert (await asked(bench, text, reader("one", tenant="a"))).given_before == first.trace_id


async def test_ca_04_rights_and_filters_are_in_the_key(bench: Bench) -> None:
    await bench.ingest(
        source("open", "The box office opens at nine.", metadata={"place": "north"}),
        source("secret", "The box office safe opens with code 4711.", access=["group:staff"]),
    )
    question = "What code does the box office safe open with?"
    staff = reader("one", "group:staff")
    assert "4711" in (await asked(bench, question, staff)).text
    assert "4711" in (await asked(bench, question, OPERATOR)).text
    plain = await asked(bench, question, reader("one"))
    assert plain.given_before is None, "the same person without the label"
    assert "4711" not in plain.text
    filtered: Filter = parse_filter({"eq": ["place", "north"]})
    narrow = await bench.app.ask(question, scope=staff, filter=filtered)
    assert narrow.given_before is None
    assert "4711" not in narrow.text
    elsewhere = await bench.app.ask(question, scope=staff, collections=frozenset({"other"}))
    assert elsewhere.given_before is None
    assert elsewhere.passages == ()


async def test_ca_04_rights_taken_away_end_a_kept_answer(bench: Bench) -> None:
    secret = source("secret", "The safe opens with code 4711.", access=["group:staff"])
    await bench.ingest(secret)
    question, staff = "What code does the safe open with?", reader("one", "group:staff")
    assert "4711" in (await asked(bench, question, staff)).text
    assert "4711" in (await asked(bench, question, staff)).text
    await bench.ingest(replace(secret, access=("group:board",)))
    after = await asked(bench, question, staff)
    assert after.abstained
    assert "4711" not in after.text


async def test_ca_05_a_follow_up_is_never_shared(bench: Bench) -> None:
    await bench.ingest(
        source("arena", "Sector C of the arena has a lift.", title="Arena"),
        source("stadium", "Sector C of the stadium has a lift beside gate 4.", title="Stadium"),
    )
    told = []
    for venue in ("arena", "stadium"):
        first = await asked(bench, f"Is there a lift in sector A of the {venue}?")
        assert first.conversation_id
        told.append(
            await bench.app.ask(
                "and sector C?", scope=OPERATOR, conversation_id=first.conversation_id
            )
        )
    assert [answer.given_before for answer in told] == [None, None]
    assert told[0].passages[0].source.uri == "arena"
    assert told[1].passages[0].source.uri == "stadium"


async def test_ca_06_one_key_is_written_and_read(bench: Bench) -> None:
    scope = reader("one")
    for price in (20, 35, 50):
        await bench.ingest(source("prices", PRICE.format(price=price)))
        fresh = await asked(bench, ASKED, scope)
        assert f"{price} dollars" in fresh.text
        assert (await asked(bench, ASKED, scope)).given_before == fresh.trace_id
        assert bench.count("kept_answer") == 1, "the new answer stands in the old one's place"


async def test_ca_08_different_questions_fill_no_store(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    rules = replace(RULES, most=5)
    bench = await make_bench(pool, database_url, tmp_path, reuse=rules)
    await bench.ingest(source("prices", PRICE.format(price=20)))
    answers = [await asked(bench, f"{ASKED} I ask for group {n}.") for n in range(12)]
    kept = bench.sql("SELECT trace FROM vademecum.kept_answer ORDER BY created_at")
    assert kept == [(answer.trace_id,) for answer in answers[-5:]]


async def test_ca_08_what_is_over_is_given_no_more_and_leaves(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    rules = replace(RULES, lasts=timedelta(seconds=1))
    bench = await make_bench(pool, database_url, tmp_path, reuse=rules)
    await bench.ingest(source("prices", PRICE.format(price=20)))
    await asked(bench)
    await asyncio.sleep(1.1)
    assert (await asked(bench)).given_before is None
    await asyncio.sleep(1.1)
    _, (retired, *_) = await once(bench.app)
    assert retired.answers == 1
    assert bench.count("kept_answer") == 0


async def test_a_person_of_whom_something_is_remembered_is_answered_afresh(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    scope = reader("one")
    first = await asked(bench, ASKED, scope)
    kept = await bench.app.remember("I use a wheelchair.", scope=scope)
    with_memory = await asked(bench, ASKED, scope)
    assert with_memory.given_before is None
    assert kept.memory is not None
    await bench.app.forget_memory(kept.memory.id, scope=scope)
    assert (await asked(bench, ASKED, scope)).given_before == first.trace_id
    assert bench.sql("SELECT trace FROM vademecum.kept_answer") == [(first.trace_id,)], (
        "what was answered meanwhile was not kept"
    )


async def test_forgetting_a_person_takes_their_answers(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    await asked(bench, ASKED, reader("one"))
    kept = await asked(bench, ASKED, reader("two"))
    receipt = await bench.app.forget(scope=reader("one"))
    stores = {entry.store: (entry.found, entry.left) for entry in receipt.stores}
    assert stores["postgres.kept_answer"] == (1, 0)
    assert bench.sql("SELECT trace FROM vademecum.kept_answer") == [(kept.trace_id,)]


async def test_deleting_the_conversation_takes_its_answer(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    answer = await asked(bench)
    assert answer.conversation_id
    await bench.app.talking.delete(answer.conversation_id, scope=OPERATOR)
    assert bench.count("kept_answer") == 0


async def test_an_answer_that_lacked_a_part_is_not_kept(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    # The first call embeds the document, the second and third are the question's.
    broken = Fault(error=ProviderAway("it is away", hint="ask again"))
    embedder = HashEmbedder(faults={2: broken, 3: broken})
    bench = await make_bench(pool, database_url, tmp_path, reuse=RULES, embedder=embedder)
    await bench.ingest(source("prices", PRICE.format(price=20)))
    assert (await asked(bench)).degraded
    assert bench.count("kept_answer") == 0
    assert (await asked(bench)).given_before is None


async def test_asking_again_writes_again(pool: Pool, database_url: str, tmp_path: Path) -> None:
    said = [PRICE.format(price=20), "This season a ticket to the dome costs 20 dollars."]
    model = ScriptedModel([f"{text} [1]" for text in said])
    bench = await make_bench(pool, database_url, tmp_path, reuse=RULES, language_model=model)
    await bench.ingest(source("prices", PRICE.format(price=20)))
    first = await asked(bench)
    assert first.conversation_id
    retried = await bench.app.ask(
        ASKED, scope=OPERATOR, conversation_id=first.conversation_id, again=True
    )
    assert [answer.sentences[0].text for answer in (first, retried)] == said
    assert len(model.prompts) == 2
    assert (await asked(bench)).given_before == first.trace_id
    assert len(model.prompts) == 2


async def test_another_setting_is_another_key(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path, reuse=RULES)
    await bench.ingest(source("prices", PRICE.format(price=20)))
    await asked(bench)
    other = replace(RULES, settings="one of them changed")
    changed = await make_bench(pool, database_url, tmp_path, reuse=other)
    assert (await asked(changed)).given_before is None


class AwayAnswers:
    """A KeptAnswerStore whose database is away."""

    async def look(self, scope: Scope, key: bytes) -> Looked:
        raise DatabaseAway("it is away", hint="ask again")

    async def keep(self, scope: Scope, key: bytes, answer: KeptAnswer, stay: Stay) -> None:
        raise DatabaseAway("it is away", hint="ask again")


async def test_a_store_that_is_away_costs_nothing(bench: Bench) -> None:
    await bench.ingest(source("prices", PRICE.format(price=20)))
    parts = bench.app.answer_parts
    assert parts.reuse is not None
    away = replace(parts, reuse=replace(parts.reuse, store=AwayAnswers()))
    answer = await replace(bench.app, answer_parts=away).ask(ASKED, scope=OPERATOR)
    assert "20 dollars" in answer.text
    assert answer.degraded == ()


async def test_ca_01_what_is_published_counts_for_who_is_no_operator(bench: Bench) -> None:
    """Events are for operators' eyes; whether there is one must be known to every kept answer."""
    await bench.ingest(source("prices", PRICE.format(price=20)))
    scope = reader("one")
    first = await asked(bench, ASKED, scope)
    assert (await asked(bench, ASKED, scope)).given_before == first.trace_id
    await bench.ingest(source("other", "A ticket to the dome costs nothing for children."))
    assert (await asked(bench, ASKED, scope)).given_before is None
