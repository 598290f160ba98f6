"""CASES section 10: faults of long-term memory that users of such systems met.

Rows that need a language model to read memories out of turns come with that reading.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support import Bench, make_bench

from vademecum.model.memory import Memory
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool

ANA = Scope.for_principal("default", "user:a", frozenset())
BEA = Scope.for_principal("default", "user:b", frozenset())


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    yield await make_bench(pool, database_url, tmp_path)


async def active(bench: Bench, scope: Scope = ANA) -> list[str]:
    found = await bench.app.memories(scope=scope, states=("active",))
    return [memory.text for memory in found]


async def test_me_01_the_same_fact_three_times_is_one_memory_confirmed(bench: Bench) -> None:
    first = await bench.app.remember("I use a wheelchair.", scope=ANA)
    again = [
        await bench.app.remember(text, scope=ANA)
        for text in ("I use a wheelchair", "i use  a WHEELCHAIR!")
    ]
    assert first.outcome == "added"
    assert [done.outcome for done in again] == ["confirmed", "confirmed"]
    assert {done.memory.id for done in again} == {first.memory.id}
    assert await active(bench) == ["I use a wheelchair."]
    assert again[-1].memory.confirmed_at is not None


async def test_thin(bench: Bench) -> None:
    await bench.app.remember("I am allergic to peanuts", scope=ANA)
    await bench.app.remember("My sister loves pottery", scope=ANA)
    got = await bench.app.recall("What does my sister love?", scope=ANA)
    assert got.degraded == ()
    assert [r.memory.text for r in got.profile] == ["I am allergic to peanuts"]
    assert [r.memory.text for r in got.memories] == ["My sister loves pottery"]
    print(got)
    answer = await bench.app.ask("What does my sister love?", scope=ANA)
    assert len(answer.memories) == 2, answer
