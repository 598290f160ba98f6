"""Do memories hold in an App over real PostgreSQL: recall, stages, faults, upkeep, the real model?"""

import asyncio
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from answering import ask
from support import Bench, make_bench, source

from vademecum.adapters.embedders.local_e5 import LocalE5
from vademecum.app import App
from vademecum.errors import DatabaseAway, UsageError
from vademecum.memory.recall import MemoryParts
from vademecum.memory.upkeep import MemoryKeep, index_waiting, let_go
from vademecum.model.ids import ConversationId, new_uuid
from vademecum.model.memory import Stage
from vademecum.model.principal import Scope
from vademecum.ports.language_model import Prompt
from vademecum.postgres.pool import Pool
from vademecum.postgres.unit_of_work import transaction
from vademecum.rank.memory import E5_SMALL
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.language_models import ScriptedModel
from vademecum.worker.loop import learn_all

ANA = Scope.for_principal("default", "user:a", frozenset())
REFUND = "A refund for a ticket takes 5 days at the box office."
QUESTION = "How many days does a refund for a ticket take at the box office?"


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


def with_memory(bench: Bench, **changes: object) -> Bench:
    """The same App with other parts of memory."""
    parts: MemoryParts = replace(bench.app.own_memories.parts, **changes)  # type: ignore[arg-type]
    app: App = replace(
        bench.app,
        own_memories=replace(bench.app.own_memories, parts=parts),
        answer_parts=replace(bench.app.answer_parts, memory=parts),
        memory_upkeep_parts=replace(bench.app.memory_upkeep_parts, memory=parts),
    )
    return replace(bench, app=app)


async def recalled(bench: Bench, text: str, stage: Stage | None = None) -> list[str]:
    found = await bench.app.recall(text, scope=ANA, stage=stage)
    return [one.memory.text for one in found.all]


async def test_a_memory_of_the_prompt_is_used_once_and_only_that(bench: Bench) -> None:
    await bench.ingest(source("r.md", REFUND))
    pinned = await bench.app.remember("I am allergic to peanuts", scope=ANA, pinned=True)
    other = await bench.app.remember("My sister collects stamps", scope=ANA)
    model = ScriptedModel(["You are allergic to peanuts. A refund takes 900 days. You own a boat."])
    answer = (await ask(bench, model, "dinner ideas", scope=ANA)).answer
    assert answer.text == "You are allergic to peanuts."
    assert answer.sentences[0].memories == (pinned.memory.id,)
    assert answer.sentences[0].support == "supported"
    assert (await bench.app.memory(pinned.memory.id, scope=ANA)).memory.uses == 1
    assert (await bench.app.memory(other.memory.id, scope=ANA)).memory.uses == 0
    quoted = (await ask(bench, None, QUESTION, scope=ANA)).answer
    assert quoted.mode == "extractive"
    assert [one.memory.id for one in quoted.memories] == [pinned.memory.id]
    assert "peanuts" not in quoted.text
    assert (await bench.app.memory(pinned.memory.id, scope=ANA)).memory.uses == 1
    [(record,)] = bench.sql("SELECT record FROM vademecum.trace WHERE id = %s", answer.trace_id)
    assert [m["memory_id"] for m in record["memories"]] == [str(pinned.memory.id)]
    assert "peanuts" not in str(record)


async def test_a_reason_from_memory_and_a_rest_from_a_source(bench: Bench) -> None:
    await bench.ingest(source("r.md", "The lift to the seats for wheelchairs is at gate B."))
    await bench.app.remember("I use a wheelchair", scope=ANA)

    def reply(_prompt: object) -> str:
        return "Since you use a wheelchair, the lift to the seats is at gate B [1]."

    answer = (await ask(bench, ScriptedModel(reply), "Where is the lift?", scope=ANA)).answer
    assert answer.text.startswith("Since you use a wheelchair, the lift to the seats is at gate B")
    assert answer.sentences[0].memories != ()
    assert len(answer.citations) == 1


async def test_what_is_held_waits_for_its_stage(bench: Bench) -> None:
    await bench.app.remember("I cried at the stamp fair", scope=ANA, held_until="close")
    question = "What happened at the stamp fair?"
    assert await recalled(bench, question, "early") == []
    assert await recalled(bench, question, "normal") == []
    assert await recalled(bench, question, "close") == ["I cried at the stamp fair"]


async def test_the_stage_is_told_from_own_turns(bench: Bench) -> None:
    assert (await bench.app.recall("hello", scope=ANA)).stage == "early"
    talk = new_uuid()
    bench.sql(
        "INSERT INTO vademecum.conversation (tenant, id, principal) VALUES ('default', %s, %s)",
        talk, ANA.principal,
    )  # fmt: skip
    add = """
        INSERT INTO vademecum.turn (tenant, id, conversation, principal, role, text, created_at)
        SELECT 'default', gen_random_uuid(), %s, %s, %s, 'x', now() - n * interval '1 day'
        FROM generate_series(1, %s) AS n"""
    bench.sql(add, talk, ANA.principal, "assistant", 300)
    assert (await bench.app.recall("hello", scope=ANA)).stage == "early"
    bench.sql(add, talk, ANA.principal, "user", 20)
    assert (await bench.app.recall("hello", scope=ANA)).stage == "normal"
    bench.sql(add, talk, ANA.principal, "user", 180)
    assert (await bench.app.recall("hello", scope=ANA)).stage == "close"


async def test_a_program_s_memory_counts_once_the_person_confirms_it(bench: Bench) -> None:
    love = await bench.app.remember("I love spicy food", scope=ANA)
    told = await bench.app.remember("I hate spicy food", scope=ANA, client="calendar")
    assert (told.outcome, told.memory.state) == ("pending", "pending")
    assert told.memory.source.client == "calendar"
    assert await recalled(bench, "spicy food") == ["I love spicy food"]
    done = await bench.app.confirm(told.memory.id, scope=ANA)
    assert done.replaced == (love.memory.id,)
    assert await recalled(bench, "spicy food") == ["I hate spicy food"]
    again = await bench.app.remember("I am a Catholic", scope=ANA, client="calendar")
    assert again.memory.sensitive == frozenset({"religion"})
    assert again.memory.consented_at is None
    confirmed = await bench.app.confirm(again.memory.id, scope=ANA)
    assert confirmed.memory.consented_at is not None
    own = await bench.app.remember("I have diabetes", scope=ANA)
    assert own.memory.state == "active"
    assert own.memory.consented_at is not None
    with pytest.raises(UsageError):
        await bench.app.reject(own.memory.id, scope=ANA)
    other = await bench.app.remember("I play golf", scope=ANA, client="calendar")
    await bench.app.reject(other.memory.id, scope=ANA)
    assert bench.tables_with("golf") == []


async def test_a_code_counts_in_full_whatever_else_is_said(bench: Bench) -> None:
    """Near vectors of other memories do not hide it: its similarity is 1, then and now."""
    long = (
        "The blue suitcase with the broken wheel that I left beside the old lift at the station has"
        " the label KH-402, as the clerk wrote on a paper"
    )
    await bench.app.remember(long, scope=ANA)
    await bench.app.remember("My other label says KH-777", scope=ANA)
    now = datetime.now(UTC)
    for asked in ("KH-402", "kh402", "KH 402"):
        for moment in (None, now):
            found = await bench.app.recall(asked, scope=ANA, as_of=moment)
            best = found.memories[0]
            assert (best.memory.text, best.signals and best.signals.similarity) == (long, 1.0)
            others = [m.signals.similarity for m in found.memories[1:] if m.signals]
            assert all(similarity < 0.9 for similarity in others)


async def test_as_of_gives_what_was_believed_then(bench: Bench) -> None:
    await bench.app.remember("I live in Porto", scope=ANA)
    tea = await bench.app.remember("Every morning I drink tea", scope=ANA)
    then = datetime.now(UTC)
    await bench.app.remember("I moved to Lisbon", scope=ANA)
    await bench.app.edit_memory(tea.memory.id, scope=ANA, text="Every morning I drink coffee")
    listed = await bench.app.memories(scope=ANA, as_of=then)
    assert [m.text for m in listed] == ["I live in Porto", "Every morning I drink tea"]
    past = await bench.app.recall("What do I drink every morning?", scope=ANA, as_of=then)
    assert "Every morning I drink tea" in [one.memory.text for one in past.all]
    home = await bench.app.recall("Where do I live, in Porto?", scope=ANA, as_of=then)
    assert home.memories[0].memory.text == "I live in Porto"
    assert await bench.app.memories(scope=ANA, as_of=then - timedelta(days=1)) == []
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    now = [m.text for m in await bench.app.memories(scope=ANA, as_of=tomorrow)]
    assert sorted(now) == ["Every morning I drink coffee", "I moved to Lisbon"]


# Each fault, and what is still there: the profile by plain rows, words, or only the answer.
BROKEN = {
    "vectors": "ALTER FUNCTION vademecum.search_memories_dense RENAME TO gone",
    "words": "ALTER FUNCTION vademecum.memory_statistics RENAME TO gone",
    "index": "DROP TABLE vademecum.memory_index",
    "rows": "ALTER TABLE vademecum.memory RENAME TO gone",
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_whatever_of_memory_is_broken_the_turn_answers(bench: Bench, fault: str) -> None:
    await bench.ingest(source("r.md", REFUND))
    await bench.app.remember("I am allergic to peanuts", scope=ANA)
    await bench.app.remember("My ticket has the code KH-402", scope=ANA)
    bench.sql(BROKEN[fault])
    model = ScriptedModel([f"{REFUND} [1]"])
    answer = (await ask(bench, model, "My ticket has the code KH-402", scope=ANA)).answer
    assert answer.text == f"{REFUND} [1]"
    assert [part for part in answer.degraded if part.startswith("memory")]
    texts = [one.memory.text for one in answer.memories]
    if fault == "rows":
        assert texts == []
    else:
        assert texts[0] == "I am allergic to peanuts"
        assert "I am allergic to peanuts" in model.prompts[0].user
    assert ("My ticket has the code KH-402" in texts) == (fault in ("vectors", "words"))


async def test_an_embedder_that_hangs_costs_only_its_leg(bench: Bench) -> None:
    await bench.ingest(source("r.md", REFUND))
    await bench.app.remember("I am allergic to peanuts", scope=ANA)
    hanging = HashEmbedder(faults={n: Fault(delay=30) for n in range(1, 10)})
    slow = with_memory(bench, embedder=hanging, seconds=0.6)
    started = time.monotonic()
    answer = (await ask(slow, None, QUESTION, scope=ANA)).answer
    assert time.monotonic() - started < 5
    assert "memory embedder: DEADLINE" in answer.degraded
    assert [one.memory.text for one in answer.memories] == ["I am allergic to peanuts"]
    assert answer.text.startswith(REFUND)


async def test_recall_alone_says_that_the_database_is_away(bench: Bench) -> None:
    bench.sql(BROKEN["rows"])
    with pytest.raises(DatabaseAway):
        await bench.app.recall("hello", scope=ANA)


async def test_the_second_wall_hides_memories_of_others(bench: Bench, pool: Pool) -> None:
    mine = (await bench.app.remember("I like tea", scope=ANA)).memory
    await bench.app.edit_memory(mine.id, scope=ANA, text="I like coffee")
    theirs = Scope.for_principal("default", "user:b", frozenset())
    for scope, seen in ((ANA, 1), (theirs, 0), (Scope.for_operator("other"), 0)):
        async with transaction(pool, scope) as connection:
            for table in ("memory", "memory_version"):
                cursor = await connection.execute(f"SELECT * FROM {table}")
                assert len(await cursor.fetchall()) == seen
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with transaction(pool, ANA) as connection:
            await (await connection.execute("SELECT * FROM memory_index")).fetchall()


async def test_history_is_not_rewritten_but_may_be_true_again(bench: Bench) -> None:
    old = (await bench.app.remember("I live in Porto", scope=ANA)).memory
    new = (await bench.app.remember("I live in Lisbon", scope=ANA)).memory
    with pytest.raises(UsageError):
        await bench.app.edit_memory(old.id, scope=ANA, text="I live in Braga")
    done = await bench.app.confirm(old.id, scope=ANA)
    assert done.replaced == (new.id,)
    assert (done.memory.state, done.memory.superseded_by) == ("active", None)
    assert [m.text for m in await bench.app.memories(scope=ANA)] == ["I live in Porto"]


async def test_the_message_before_counts_as_well(bench: Bench) -> None:
    await bench.app.remember("My sister collects stamps", scope=ANA)
    talk = await bench.conversation(ANA)
    assert await recalled(bench, "What else?") == []
    await ask(bench, None, "Does my sister collect stamps", scope=ANA, conversation_id=talk)
    found = await bench.app.recall("What else?", scope=ANA, conversation_id=talk)
    assert [one.memory.text for one in found.memories] == ["My sister collects stamps"]
    theirs = Scope.for_principal("default", "user:b", frozenset())
    await bench.app.remember("My sister collects shells", scope=theirs)
    other = await bench.app.recall("What else?", scope=theirs, conversation_id=talk)
    assert other.memories == ()


async def test_doubles_are_merged_and_what_was_pinned_or_confirmed_stays(bench: Bench) -> None:
    kept = await bench.app.remember("I collect blue stamps", scope=ANA)
    # As two processes of an older release, or two personas made one, would leave them.
    bench.sql("UPDATE vademecum.memory SET persona = 'old'")
    double = await bench.app.remember("I collect blue stamps", scope=ANA)
    pinned = await bench.app.remember("My desk is by the window", scope=ANA)
    bench.sql("UPDATE vademecum.memory SET persona = 'default'")
    bench.sql("UPDATE vademecum.memory_index SET persona = 'default'")
    done = await let_go(bench.app.memory_upkeep_parts)
    assert done.merged_memories == 1
    merged = (await bench.app.memory(double.memory.id, scope=ANA)).memory
    assert (merged.state, merged.superseded_by) == ("superseded", kept.memory.id)
    assert (await bench.app.memory(pinned.memory.id, scope=ANA)).memory.state == "active"
    assert (await let_go(bench.app.memory_upkeep_parts)).merged_memories == 0


async def test_a_merge_loses_no_edit_that_came_between(bench: Bench) -> None:
    upkeep = bench.app.memory_upkeep_parts.upkeep
    first = (await bench.app.remember("I collect blue stamps", scope=ANA)).memory
    second = (await bench.app.remember("I collect red shells", scope=ANA)).memory
    await bench.app.edit_memory(second.id, scope=ANA, text="I collect green leaves")
    assert not await upkeep.merge(ANA.tenant, second, first)
    now = (await bench.app.memory(second.id, scope=ANA)).memory
    assert (now.state, now.text) == ("active", "I collect green leaves")
    await bench.app.pin(now.id, scope=ANA)
    fresh = (await bench.app.memory(now.id, scope=ANA)).memory
    assert not await upkeep.merge(ANA.tenant, fresh, first)


async def test_trivia_is_put_away_and_nothing_else(bench: Bench) -> None:
    cases = {
        "The bus was late today": {"importance": 0.29},
        "The lift was slow": {"importance": 0.29, "pinned": True},
        "I collect blue stamps": {"importance": 0.3},
        "The soup was cold": {"importance": 0.1},
        "The tram was empty": {"importance": 0.1},
    }
    made = {
        text: (await bench.app.remember(text, scope=ANA, **values)).memory  # type: ignore[arg-type]
        for text, values in cases.items()
    }
    bench.sql("UPDATE vademecum.memory SET changed_at = now() - interval '181 days'")
    bench.sql(
        "UPDATE vademecum.memory SET last_used_at = now() - interval '1 day' WHERE id = %s",
        made["The soup was cold"].id,
    )
    await bench.app.confirm(made["The tram was empty"].id, scope=ANA)
    assert (await let_go(bench.app.memory_upkeep_parts)).archived_memories == 1
    away = await bench.app.memories(scope=ANA, states=("archived",))
    assert [memory.text for memory in away] == ["The bus was late today"]
    back = await bench.app.remember("The bus was late today", scope=ANA)
    assert (back.outcome, back.memory.state) == ("confirmed", "active")


async def test_retention_by_kind_erases_and_spares_what_is_pinned(bench: Bench) -> None:
    await bench.app.remember("Buy blue paint", scope=ANA, kind="task")
    await bench.app.remember("Buy red paint", scope=ANA, kind="task", pinned=True)
    await bench.app.remember("I like yellow paint", scope=ANA, kind="preference")
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    await bench.app.remember("The gate code is green", scope=ANA, expires_at=soon)
    await asyncio.sleep(0.4)
    bench.sql("UPDATE vademecum.memory SET changed_at = now() - interval '31 days'")
    keep = MemoryKeep(kinds={"task": timedelta(days=30)}, expired=timedelta(days=30))
    parts = replace(bench.app.memory_upkeep_parts, keep=keep)
    done = await let_go(parts)
    assert (done.old_memories, done.expired_memories) == (1, 0)
    assert bench.tables_with("blue paint") == []
    assert bench.tables_with("red paint")
    done = await let_go(replace(parts, keep=MemoryKeep(kinds={}, expired=timedelta(0))))
    assert (done.old_memories, done.expired_memories) == (0, 1)
    assert bench.tables_with("gate code") == []
    assert bench.tables_with("yellow paint")


async def test_the_index_of_memories_can_be_dropped_and_is_built_again(bench: Bench) -> None:
    await bench.app.remember("My sister collects stamps", scope=ANA)
    bench.sql("DELETE FROM vademecum.memory_index")
    assert await recalled(bench, "Does my sister collect stamps?") == []
    assert (await index_waiting(bench.app.memory_upkeep_parts)).indexed_memories == 1
    assert await recalled(bench, "Does my sister collect stamps?") == ["My sister collects stamps"]


async def test_a_text_that_no_vector_can_be_made_of_costs_only_itself(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    embedder = HashEmbedder(broken="zebra")
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    await bench.app.remember("My zebra is called Stripe", scope=ANA)
    bench.sql("DELETE FROM vademecum.memory_index")
    await bench.app.remember("My sister collects stamps", scope=ANA)
    bench.sql("UPDATE vademecum.memory_index SET embedding = NULL")
    done = await index_waiting(bench.app.memory_upkeep_parts)
    assert (done.indexed_memories, done.waiting_memories) == (1, 0)
    assert (await index_waiting(bench.app.memory_upkeep_parts)).waiting_memories == 0
    assert "My zebra is called Stripe" in await recalled(bench, "the zebra called Stripe")


@pytest.fixture(scope="module")
def e5(tmp_path_factory: pytest.TempPathFactory) -> LocalE5:
    from vademecum.adapters.embedders.e5_convert import ensure_model

    return LocalE5.load(ensure_model(tmp_path_factory.mktemp("e5")), threads=1)


async def test_the_known_situations_with_the_real_model(bench: Bench, e5: LocalE5) -> None:
    real = with_memory(bench, embedder=e5, calibration=E5_SMALL)
    for text in (
        "I am allergic to peanuts",
        "My sister loves pottery",
        "I take the tram to work",
        "My car is in the garage until Friday",
        "I prefer windows over aisles on trains",
    ):
        assert (await real.app.remember(text, scope=ANA)).outcome == "added"
    dinner = await real.app.recall("dinner ideas", scope=ANA)
    assert [one.memory.text for one in dinner.profile] == ["I am allergic to peanuts"]
    talk = await real.conversation(ANA)
    await ask(real, None, "my sister's getting married in June", scope=ANA, conversation_id=talk)
    gift = await real.app.recall("I need to find a gift", scope=ANA, conversation_id=talk)
    assert gift.memories[0].memory.text == "My sister loves pottery"
    assert gift.degraded == ()


async def said(bench: Bench, talk: ConversationId | None, *turns: str) -> list[str]:
    """What the turns of one conversation are answered."""
    answers = []
    for turn in turns:
        answer = (await ask(bench, None, turn, scope=ANA, conversation_id=talk)).answer
        talk = answer.conversation_id
        answers.append(answer.text)
    return answers


@pytest.mark.parametrize(
    ("turns", "answer", "left"),
    [
        (
            ("recuerda que me gusta el té negro", "eso está mal, me gusta el té verde"),
            "Corregido: Me gusta el té verde",
            ["Me gusta el té verde", "Eu moro em Serra Verde"],
        ),
        (
            ("recuerda que me gusta el té negro", "olvida eso"),
            "Olvidado.",
            ["Eu moro em Serra Verde"],
        ),
    ],
)
async def test_an_order_is_about_what_was_spoken_of_last_also_if_known_from_elsewhere(
    bench: Bench, turns: tuple[str, ...], answer: str, left: list[str]
) -> None:
    await bench.app.remember("Me gusta el té negro", scope=ANA)
    answers = await said(bench, None, "lembre que eu moro em Serra Verde", *turns)
    assert answers == [
        "Guardado: Eu moro em Serra Verde",
        "Ya lo sabía: Me gusta el té negro",
        answer,
    ]
    assert [memory.text for memory in await bench.app.memories(scope=ANA)] == left


async def test_a_memory_that_an_answer_only_used_is_not_what_an_order_is_about(
    bench: Bench,
) -> None:
    talk = (await ask(bench, None, "Remember that I own a boat", scope=ANA)).answer.conversation_id
    # The younger of the two, so that it would be taken if being used were enough.
    await bench.app.remember("I am allergic to peanuts", scope=ANA, pinned=True)
    model = ScriptedModel(["You are allergic to peanuts."])
    used = await ask(bench, model, "dinner ideas", scope=ANA, conversation_id=talk)
    assert used.answer.text == "You are allergic to peanuts."
    assert await said(bench, talk, "Forget that.") == ["Forgotten."]
    texts = [memory.text for memory in await bench.app.memories(scope=ANA)]
    assert texts == ["I am allergic to peanuts"]


@pytest.mark.parametrize(
    ("turn", "answer"),
    [
        ("remember that I play chess", "Nothing was saved or changed: this question is temporary."),
        (
            "esqueça que eu jogo xadrez",
            "Nada foi guardado nem mudado: esta pergunta é temporária.",
        ),
        ("eso está mal, es verde", "No se guardó ni cambió nada: esta pregunta es temporal."),
    ],
)
async def test_a_temporary_order_says_that_nothing_was_kept(
    bench: Bench, turn: str, answer: str
) -> None:
    told = await bench.app.ask(turn, scope=ANA, temporary=True)
    assert told.text == answer
    assert (told.conversation_id, told.turn_id) == (None, None)
    assert bench.count("memory") == bench.count("turn") == bench.count("conversation") == 0
    trace = await bench.app.catalogue.records.trace(ANA, told.trace_id)
    assert trace.record == {"temporary": True}


async def test_what_waited_and_is_said_again_takes_the_place_of_its_contrary(bench: Bench) -> None:
    lisbon = await bench.app.remember("I live in Lisbon", scope=ANA, pinned=True)
    told = await bench.app.remember("I live in Porto", scope=ANA, client="calendar")
    assert told.outcome == "pending"
    again = await bench.app.remember("I live in Porto", scope=ANA, client="calendar")
    assert (again.outcome, again.why) == ("pending", "it speaks against what is known")
    said = await bench.app.remember("I live in Porto", scope=ANA)
    assert (said.outcome, said.replaced) == ("confirmed", (lisbon.memory.id,))
    assert said.memory.pinned, "what was always shown is not lost when it changes"
    assert [m.text for m in await bench.app.memories(scope=ANA)] == ["I live in Porto"]


async def test_an_edit_of_what_waits_takes_nothing_s_place(bench: Bench) -> None:
    await bench.app.remember("I live in Lisbon", scope=ANA)
    told = await bench.app.remember("I live in Porto", scope=ANA, client="calendar")
    edited = await bench.app.edit_memory(told.memory.id, scope=ANA, text="I live in Braga")
    assert (edited.memory.state, edited.replaced) == ("pending", ())
    assert await recalled(bench, "Where do I live?", "close") == ["I live in Lisbon"]
    done = await bench.app.confirm(told.memory.id, scope=ANA)
    assert len(done.replaced) == 1
    assert [m.text for m in await bench.app.memories(scope=ANA)] == ["I live in Braga"]


async def test_a_pin_stays_where_an_edit_replaces_what_was_pinned(bench: Bench) -> None:
    await bench.app.remember("I live in Lisbon", scope=ANA, pinned=True)
    other = await bench.app.remember("I keep my boat by the bridge", scope=ANA)
    done = await bench.app.edit_memory(other.memory.id, scope=ANA, text="I live in Porto")
    assert len(done.replaced) == 1
    profile = (await bench.app.recall("hello", scope=ANA)).profile
    assert [one.memory.text for one in profile] == ["I live in Porto"]


async def test_what_was_forgotten_does_not_come_back_from_what_was_said_before(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """It was said in passing, remembered by hand, and forgotten before anybody learned it."""

    def propose(prompt: Prompt) -> str:
        said = "I keep my bicycle under the old stairs"
        found = said if said in prompt.user else "nothing at all"
        return json.dumps({"facts": [{"turn": 1, "quote": found, "text": found}]})

    model = ScriptedModel(propose)
    bench = await make_bench(pool, database_url, tmp_path, language_model=model, quiet=0)
    talk = await bench.conversation(ANA)
    text = "I keep my bicycle under the old stairs"
    await ask(bench, None, f"{text}. And the lamp is in the hall.", scope=ANA, conversation_id=talk)
    kept = await bench.app.remember(text, scope=ANA)
    await bench.app.forget_memory(kept.memory.id, scope=ANA)
    assert await learn_all(bench.app) == 0
    assert await bench.app.memories(scope=ANA) == []
    await ask(bench, None, f"{text}.", scope=ANA, conversation_id=talk)
    assert await learn_all(bench.app) == 1, "said again, it counts"
