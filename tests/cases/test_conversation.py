"""CASES section 9: faults of conversations that users of such systems met."""

from pathlib import Path

import pytest
from answering import ask
from support import OPERATOR, Bench, make_bench, source

from vademecum.postgres.pool import Pool

ARENA = "A visit to the Arena Paulista museum costs 12 euros for adults."
POOL = "A visit to the Lagoa Verde pool costs 7 euros for adults."
KH402 = "The error KH-402 means that the printer lacks paper."


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def test_co_01_the_first_follow_up_is_rewritten(bench: Bench) -> None:
    """CO-01: turn 1 about X; turn 2 `and how much is it?`: the search text names X."""
    await bench.ingest(source("a.txt", ARENA), source("p.txt", POOL))
    first = await ask(bench, None, "What is there in the Arena Paulista museum?")
    second = await ask(
        bench, None, "and how much is it?", conversation_id=first.answer.conversation_id
    )
    trace = await bench.app.catalogue.records.trace(OPERATOR, second.answer.trace_id)
    assert trace.record["rewrite"]["how"] == "with the turn before"
    assert "Arena Paulista" in trace.record["searches"][0]["query"]
    assert second.answer.conversation_id == first.answer.conversation_id
    turns = await bench.app.catalogue.conversations.turns(OPERATOR, first.answer.conversation_id)
    assert [turn.role for turn in turns] == ["user", "assistant"] * 2
