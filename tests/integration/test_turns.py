"""Are turns found again, by their own person only, and is the index mended whatever was lost?"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.answer.fold import tend_conversation
from vademecum.errors import ProviderAway
from vademecum.memory.turns import by_named, in_time, recall_turns, unit_text
from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, TurnId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.turn_unit import TurnUnit, UnindexedTurn
from vademecum.postgres.pool import Pool
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.worker.loop import once

ANNA = Scope.for_principal("default", "user:anna", frozenset())
BRUNO = Scope.for_principal("default", "user:bruno", frozenset())
CARLA = Scope.for_principal("other", "user:anna", frozenset())
MAY = datetime(2026, 5, 8, 12, tzinfo=UTC)


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


def said(text: str, *, speaker: str = "", at: datetime = MAY, user: bool = True) -> Turn:
    return Turn(
        id=TurnId(new_uuid()),
        position=0,
        role="user" if user else "assistant",
        speaker=speaker,
        text=text,
        state="complete",
        created_at=at,
    )


async def keep(
    bench: Bench, scope: Scope, *turns: Turn, persona: str | None = None
) -> ConversationId:
    conversation = ConversationId(new_uuid())
    await bench.app.catalogue.conversations.keep(scope, conversation, turns, persona=persona)
    return conversation


async def found(bench: Bench, text: str, scope: Scope = ANNA, **options: object) -> list[str]:
    recalled = await bench.app.recall_turns(text, scope=scope, **options)  # type: ignore[arg-type]
    assert recalled.degraded == ()
    return [each.turn.text for each in recalled.turns]


async def test_the_job_indexes_what_was_said_and_recall_finds_it(bench: Bench) -> None:
    pottery = await keep(
        bench,
        ANNA,
        said("My sister has taken up pottery."),
        said("How lovely for her.", user=False),
    )
    other = await keep(bench, ANNA, said("The locker is QX-717."), said("Noted.", user=False))
    assert await found(bench, "pottery") == [], "nothing is indexed yet"
    await once(bench.app)
    recalled = await bench.app.recall_turns("What about pottery?", scope=ANNA)
    assert recalled.turns[0].turn.text == "My sister has taken up pottery."
    assert recalled.turns[0].conversation_id == pottery
    assert [each for each, _ in recalled.conversations] == [pottery, other]
    assert (await found(bench, "qx717"))[0] == "The locker is QX-717."
    assert len(await found(bench, "pottery", k=2)) == 2
    assert await found(bench, " ") == []
    for signal in ("dense", "keyword", "keyword_share", "ngram_share", "maxsim"):
        assert recalled.turns[0].signals[signal] > 0


async def test_nobody_finds_what_another_said(bench: Bench) -> None:
    await keep(bench, ANNA, said("My zqanna secret is pottery."))
    await keep(bench, BRUNO, said("My zqbruno secret is pottery."))
    await keep(bench, CARLA, said("My zqcarla secret is pottery."))
    await keep(bench, ANNA, said("My zqcoach secret is pottery."), persona="coach")
    await once(bench.app)
    assert bench.count("turn_unit") == 4
    everyone = {"zqanna": ANNA, "zqbruno": BRUNO, "zqcarla": CARLA}
    for canary, scope in everyone.items():
        assert await found(bench, "pottery secret", scope) == [f"My {canary} secret is pottery."]
    assert await found(bench, "pottery", ANNA, persona="coach") == ["My zqcoach secret is pottery."]
    assert await found(bench, "pottery", OPERATOR) == [], "the operator neither"


async def test_what_is_deleted_is_not_found(bench: Bench) -> None:
    gone = await keep(bench, ANNA, said("My sister has taken up pottery."))
    await keep(bench, ANNA, said("The pottery class begins at nine."))
    await once(bench.app)
    assert len(await found(bench, "pottery")) == 2
    await bench.app.talking.delete(gone, scope=ANNA)
    assert await found(bench, "pottery") == ["The pottery class begins at nine."]


async def test_lost_jobs_and_lost_rows_are_mended(bench: Bench) -> None:
    await keep(bench, ANNA, said("My sister has taken up pottery."))
    bench.sql("DELETE FROM vademecum.procrastinate_jobs")
    await once(bench.app)
    assert bench.count("turn_unit") == 1
    bench.sql("DELETE FROM vademecum.turn_unit")
    await once(bench.app)
    await once(bench.app)
    assert await found(bench, "pottery") == ["My sister has taken up pottery."]
    assert await bench.app.catalogue.jobs.rescue() == 0, "nothing is left to do"
    assert bench.count("procrastinate_jobs") == 0


async def test_without_a_model_words_find_it_and_the_work_waits(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    away = {n: Fault(error=ProviderAway("the scripted model is away")) for n in range(1, 20)}
    bench = await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(faults=away))
    conversation = await keep(bench, ANNA, said("The pottery class begins at nine."))
    await tend_conversation(bench.app.tend_parts, ANNA.tenant, conversation)
    assert bench.sql("SELECT embedding IS NULL, signs IS NULL FROM vademecum.turn_unit") == [
        (True, True)
    ]
    recalled = await bench.app.recall_turns("pottery", scope=ANNA)
    assert [each.turn.text for each in recalled.turns] == ["The pottery class begins at nine."]
    assert recalled.degraded == ("turns: provider-away",)
    assert bench.sql("SELECT tend_after > now() FROM vademecum.conversation") == [(True,)]
    assert await bench.app.catalogue.jobs.rescue() == 0, "it waits before it is tried again"
    well = HashEmbedder()
    parts = replace(bench.app.tend_parts.turns, embedder=well, encoder=well)
    await tend_conversation(replace(bench.app.tend_parts, turns=parts), ANNA.tenant, conversation)
    assert bench.sql("SELECT embedding IS NULL, signs IS NULL FROM vademecum.turn_unit") == [
        (False, False)
    ]
    assert (await recall_turns(parts, ANNA, "pottery", 5)).degraded == ()


async def test_one_text_that_no_model_takes_costs_only_itself(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    embedder = HashEmbedder(broken="zqbroken")
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    texts = ["First remark.", "Second remark.", "Third remark.", "The zqbroken remark."]
    conversation = await keep(bench, ANNA, *(said(text) for text in texts))
    await tend_conversation(bench.app.tend_parts, ANNA.tenant, conversation)
    rows = bench.sql("SELECT given_up, embedding IS NULL FROM vademecum.turn_unit")
    assert sorted(rows) == [(False, False)] * 3 + [(True, True)]
    assert "The zqbroken remark." in await found(bench, "zqbroken")
    assert await bench.app.catalogue.jobs.rescue() == 0


async def test_a_turn_longer_than_the_window_is_found_by_its_last_word(bench: Bench) -> None:
    await keep(bench, ANNA, said(" ".join(["remark"] * 2_000 + ["zqlast"])))
    await once(bench.app)
    assert len(await found(bench, "zqlast")) == 1


async def test_turns_are_ranked_beside_documents_and_never_as_them(bench: Bench) -> None:
    await keep(bench, ANNA, said("The pottery class begins at nine."))
    await once(bench.app)
    await bench.ingest(source("a.txt", "The gate opens at ten."))
    assert await bench.found("pottery class", scope=ANNA) == ["The gate opens at ten."]


def unit(speaker: str = "", *, user: bool = True, at: datetime = MAY) -> TurnUnit:
    return TurnUnit(
        id=TurnId(new_uuid()),
        conversation_id=ConversationId(new_uuid()),
        said_at=at,
        role="user" if user else "assistant",
        speaker=speaker,
        language="en",
        terms=np.array([], np.int64),
        grams=np.array([], np.int64),
        vector=None,
        signs=None,
    )


@pytest.mark.parametrize(
    ("question", "speakers", "expected"),
    [
        ("What did Dona Marta paint?", ["Dona Marta", "Beto"], [True, False]),
        ("What did Beto's sister paint?", ["Dona Marta", "Beto"], [False, True]),
        ("What did Dona Marta tell Beto?", ["Dona Marta", "Beto"], [False, False]),
        ("What was painted?", ["Dona Marta", "Beto"], [False, False]),
    ],
)
def test_the_one_speaker_whom_a_question_names(
    question: str, speakers: list[str], expected: list[bool]
) -> None:
    assert by_named(question, [unit(name) for name in speakers]).tolist() == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I say about pottery?", [True, False]),
        ("O que eu disse sobre cerâmica?", [True, False]),
        ("¿Qué me recomendaste?", [False, False]),
        ("¿Qué recomendó usted?", [False, True]),
        ("मैले के भनें?", [True, False]),
        ("Which class did you recommend?", [False, True]),
        ("What did you say of my sister?", [False, False]),
        ("pottery", [False, False]),
    ],
)
def test_who_has_no_name_is_named_by_his_role(question: str, expected: list[bool]) -> None:
    assert by_named(question, [unit(), unit(user=False)]).tolist() == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do in May 2026?", [True, False, False]),
        ("O que fiz em 8 de maio de 2026?", [True, False, False]),
        ("What did I do on 9 May 2026?", [False, False, False]),
        ("What happened in June?", [False, True, False]),
        ("What happened in 2025?", [False, False, True]),
        ("What happened?", [False, False, False]),
    ],
)
def test_the_time_that_a_question_names(question: str, expected: list[bool]) -> None:
    moments = [MAY, MAY + timedelta(days=31), MAY - timedelta(days=365)]
    assert in_time(question, moments).tolist() == expected


def test_a_turn_is_indexed_with_its_date_the_turn_before_and_its_speaker() -> None:
    turn = UnindexedTurn(
        id=TurnId(new_uuid()), text="I painted it.", speaker="Dona Marta", role="user",
        said_at=MAY, before="What did you do?", before_speaker="Beto", before_role="assistant",
        has_terms=False,
    )  # fmt: skip
    assert unit_text(turn) == "8 May 2026 | Beto: What did you do?\nDona Marta: I painted it."
    plain = replace(turn, speaker="", before="", before_speaker="")
    assert unit_text(plain) == "8 May 2026 | User: I painted it."
