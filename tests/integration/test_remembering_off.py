"""Is nothing kept, learned or recalled of whoever has switched remembering off, until they switch
it on again, and of nobody else?"""

import json
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from answering import ask
from support import Bench, make_bench, source

from vademecum.errors import MemoryOff
from vademecum.model.principal import Scope
from vademecum.ports.language_model import Prompt
from vademecum.postgres.pool import Pool
from vademecum.postgres.unit_of_work import transaction
from vademecum.testing.language_models import ScriptedModel
from vademecum.worker.loop import learn_all

ANA = Scope.for_principal("default", "user:a", frozenset())
OTHER = Scope.for_principal("default", "user:b", frozenset())
SAID = "I keep my bicycle under the old stairs"
REFUND = "A refund for a ticket takes 5 days at the box office."
QUESTION = "How many days does a refund for a ticket take at the box office?"


def answer_or_propose(prompt: Prompt) -> str:
    """What a model says: to an answer's prompt the first source, to that of learning what was
    said."""
    if not prompt.system.startswith("You list what a person tells"):
        return f"{REFUND} [1]"
    found = SAID if SAID in prompt.user else "nothing at all"
    return json.dumps({"facts": [{"turn": 1, "quote": found, "text": found}]})


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(answer_or_propose)


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path, model: ScriptedModel) -> Bench:
    bench = await make_bench(pool, database_url, tmp_path, language_model=model, quiet=0)
    await bench.ingest(source("refund.md", REFUND))
    return bench


async def test_it_is_on_until_a_person_switches_it_off_for_themselves(bench: Bench) -> None:
    assert await bench.app.remembering(scope=ANA)
    assert not await bench.app.remembering(False, scope=ANA)
    assert not await bench.app.remembering(False, scope=ANA), "twice is once"
    assert not await bench.app.remembering(scope=ANA)
    assert await bench.app.remembering(scope=OTHER)
    same_name = Scope.for_principal("other", "user:a", frozenset())
    assert await bench.app.remembering(scope=same_name), "a principal of another tenant"
    assert await bench.app.remembering(True, scope=ANA)


async def test_what_is_known_stays_and_reaches_no_prompt(
    bench: Bench, model: ScriptedModel
) -> None:
    pinned = await bench.app.remember("I am allergic to peanuts", scope=ANA, pinned=True)
    await bench.app.remember("I like my refund for a ticket in cash", scope=ANA)
    await bench.app.remember("I like tea", scope=OTHER, pinned=True)
    before = await bench.app.ask(QUESTION, scope=ANA)
    assert before.memories
    assert "peanuts" in model.prompts[-1].user
    await bench.app.remembering(False, scope=ANA)
    answer = await bench.app.ask(QUESTION, scope=ANA)
    assert answer.memories == ()
    assert "peanuts" not in model.prompts[-1].user
    assert "cash" not in model.prompts[-1].user
    assert answer.degraded == before.degraded, "nothing is missing: it was wished"
    assert (await bench.app.recall(QUESTION, scope=ANA)).all == ()
    today = datetime.now(UTC).date()
    assert (await bench.app.recall(QUESTION, scope=ANA, as_of=today)).all == ()
    assert (await bench.app.recall(QUESTION, scope=OTHER)).all != ()
    # It can be seen, changed and forgotten.
    assert len(await bench.app.memories(scope=ANA)) == 2
    await bench.app.edit_memory(pinned.memory.id, scope=ANA, text="I am allergic to nuts")
    await bench.app.remembering(True, scope=ANA)
    assert "I am allergic to nuts" in [
        m.memory.text for m in (await bench.app.recall("x", scope=ANA)).all
    ]
    await bench.app.ask(QUESTION, scope=ANA)
    assert "allergic to nuts" in model.prompts[-1].user


async def test_an_order_to_remember_is_told_that_it_is_off(bench: Bench) -> None:
    await bench.app.remembering(False, scope=ANA)
    with pytest.raises(MemoryOff):
        await bench.app.remember(SAID, scope=ANA)
    with pytest.raises(MemoryOff):
        await bench.app.remember(SAID, scope=ANA, client="a program")
    for said, told in (
        (f"Remember that {SAID}", "switched remembering off"),
        ("Lembre que eu uso cadeira de rodas", "desligou"),
        ("Recuerda que uso silla de ruedas", "desactivado"),
    ):
        answer = await bench.app.ask(said, scope=ANA)
        assert told in answer.text, answer.text
    assert bench.count("memory") == 0


async def test_nothing_said_while_it_is_off_is_ever_learned(
    bench: Bench, model: ScriptedModel
) -> None:
    talk = await bench.conversation(ANA)
    await bench.app.remembering(False, scope=ANA)
    await ask(bench, None, f"{SAID}.", scope=ANA, conversation_id=talk)
    asked = len(model.prompts)
    assert await learn_all(bench.app) == 0
    assert len(model.prompts) == asked, "the model that learns is shown nothing of it"
    await bench.app.remembering(True, scope=ANA)
    assert await learn_all(bench.app) == 0, "nor afterwards"
    await ask(bench, None, f"{SAID}.", scope=ANA, conversation_id=talk)
    await bench.app.remembering(True, scope=ANA)
    assert await learn_all(bench.app) == 1, "said again, it counts; on twice is on once"


async def test_switching_off_while_the_model_thinks_keeps_nothing(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """The reply of the model comes when the person has changed their mind."""

    def propose(prompt: Prompt) -> str:
        if prompt.system.startswith("You list what a person tells"):
            bench.sql("INSERT INTO vademecum.memory_off VALUES ('default', 'user:a')")
        return answer_or_propose(prompt)

    bench = await make_bench(
        pool, database_url, tmp_path, language_model=ScriptedModel(propose), quiet=0
    )
    talk = await bench.conversation(ANA)
    await ask(bench, None, f"{SAID}.", scope=ANA, conversation_id=talk)
    assert await learn_all(bench.app) == 0
    assert not await bench.app.remembering(scope=ANA)
    assert bench.count("memory") == 0


async def test_nobody_switches_it_for_another(bench: Bench, pool: Pool) -> None:
    query = "INSERT INTO vademecum.memory_off (tenant, principal) VALUES ('default', 'user:a')"
    for scope in (OTHER, Scope.for_operator("default"), Scope.for_operator("other")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(pool, scope) as connection:
                await connection.execute(query)
    await bench.app.remembering(False, scope=ANA)
    async with transaction(pool, OTHER) as connection:
        gone = await connection.execute("DELETE FROM vademecum.memory_off RETURNING principal")
        assert await gone.fetchall() == []
    assert not await bench.app.remembering(scope=ANA)


async def test_the_choice_goes_with_the_person(bench: Bench) -> None:
    await bench.app.remembering(False, scope=ANA)
    await bench.app.remembering(False, scope=OTHER)
    receipt = await bench.app.forget(scope=ANA)
    [store] = [one for one in receipt.stores if one.store == "postgres.memory_off"]
    assert (store.found, store.deleted, store.left) == (1, 1, 0)
    assert bench.sql("SELECT principal FROM vademecum.memory_off") == [("user:b",)]
    assert bench.tables_with("user:a") == []
