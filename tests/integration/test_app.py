"""Does the App leave no work behind, and hold up nobody while it reads?"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum import composing
from vademecum.errors import Forbidden, ProviderAway
from vademecum.ingest.pipeline import ingest_revision
from vademecum.model.document import Refused, Source
from vademecum.model.ids import Tenant
from vademecum.model.principal import Scope
from vademecum.opening import DEFAULT_SEARCH
from vademecum.ports.jobs import Jobs, Works
from vademecum.postgres import jobs
from vademecum.postgres.pool import Pool
from vademecum.settings import load
from vademecum.testing.embedders import Fault, HashEmbedder

TEXT = "The quokka sleeps beside the north gate until the doors open at nine."


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def test_results_come_in_the_order_of_the_sources(bench: Bench) -> None:
    results = await bench.ingest(
        source("a", TEXT), source("", TEXT), source("b", ""), source("a", TEXT)
    )
    assert [(r.uri, r.status) for r in results[:3]] == [
        ("a", "ready"),
        ("", "rejected"),
        ("b", "empty"),
    ]
    # The first may be done when the same comes again.
    assert results[3].uri == "a"
    assert results[3].status in ("ready", "unchanged")
    refused = Refused(uri="c", reason="it cannot be read")
    [result] = await bench.app.ingest([refused], scope=OPERATOR)
    assert (result.status, result.reason, result.id) == ("failed", "it cannot be read", None)
    assert await bench.app.ingest([], scope=OPERATOR) == []


async def test_sources_are_read_off_the_event_loop_and_one_by_one(bench: Bench) -> None:
    threads: list[int] = []

    def coming() -> Iterator[Source]:
        for name in ("a", "b"):
            threads.append(threading.get_ident())
            yield source(name, TEXT)

    results = await bench.app.ingest(coming(), scope=OPERATOR)
    assert [result.status for result in results] == ["ready", "ready"]
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_a_source_that_raises_ends_the_call_with_its_error(bench: Bench) -> None:
    def coming() -> Iterator[Source]:
        yield source("a", TEXT)
        raise Forbidden("not yours")

    with pytest.raises(Forbidden, match="not yours"):
        await bench.app.ingest(coming(), scope=OPERATOR)


async def test_of_many_who_search_and_ask_at_once_nobody_is_late(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """All at once they would take seconds, and each of them would be late."""
    ranking = replace(DEFAULT_SEARCH.ranking, leg_seconds=0.7)
    search = replace(DEFAULT_SEARCH, ranking=ranking)
    bench = await make_bench(pool, database_url, tmp_path, search=search)
    await bench.ingest(source("gate", TEXT))
    asked = "Where does the quokka sleep?"
    found, answers = await asyncio.gather(
        asyncio.gather(*(bench.app.search(asked, scope=OPERATOR) for _ in range(60))),
        asyncio.gather(*(bench.app.ask(asked, scope=OPERATOR) for _ in range(20))),
    )
    assert {one.retrieval.degraded for one in found} == {()}
    assert {one.degraded for one in answers} == {()}
    assert not any(one.abstained for one in answers)


async def test_no_work_outlives_a_cancelled_call(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    slow = HashEmbedder(faults={1: Fault(delay=1.0)})
    bench = await make_bench(pool, database_url, tmp_path, embedder=slow)
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await bench.ingest(source("a", TEXT))
    left = asyncio.all_tasks() - before
    assert [task for task in left if "App." in repr(task)] == []


class Stubborn:
    """Jobs whose worker ends as if nothing had been when it is cancelled, as the library's does."""

    def __init__(self, real: Jobs) -> None:
        self._real = real

    async def drain(self, works: Works) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._real.drain(works)
            await asyncio.sleep(60)

    async def rescue(self) -> int:
        return 0


async def test_a_worker_that_swallows_its_cancellation_holds_up_nobody(bench: Bench) -> None:
    catalogue = replace(bench.app.catalogue, jobs=Stubborn(bench.app.catalogue.jobs))
    async with asyncio.timeout(10):
        results = await replace(bench.app, catalogue=catalogue).ingest(
            [source("a", TEXT)], scope=OPERATOR
        )
    assert [result.status for result in results] == ["ready"]


async def test_an_answer_that_is_left_early_is_closed(bench: Bench) -> None:
    await bench.ingest(source("a", TEXT))
    events = bench.app.stream("Where does the quokka sleep?", scope=OPERATOR)
    await anext(events)
    await events.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(events)
    # What was asked is kept; of the answer only what was shown, which is nothing here.
    assert bench.sql("SELECT role, state, text FROM vademecum.turn ORDER BY position") == [
        ("user", "complete", "Where does the quokka sleep?"),
        ("assistant", "interrupted", ""),
    ]
    assert bench.sql("SELECT record, chunks FROM vademecum.trace t LEFT JOIN"
                     " vademecum.audit_event a ON a.trace = t.id") == [
        ({"interrupted": True}, None)
    ]  # fmt: skip


async def test_one_broken_part_is_named_once(pool: Pool, database_url: str, tmp_path: Path) -> None:
    bench = await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder())
    await bench.ingest(source("a", TEXT))
    away = Fault(error=ProviderAway("away"))
    bench.embedder._faults.update(dict.fromkeys(range(2, 20), away))
    answer = await bench.app.ask(
        "Where does the quokka sleep, and when do the doors open?", scope=OPERATOR
    )
    assert answer.abstained
    assert answer.degraded == (
        "dense: provider-away",
        "memory embedder: provider-away",
        "extract: provider-away",
    )
    assert [p.source.chunk.text for p in answer.passages] == [TEXT]


async def test_a_question_of_a_thousand_parts_is_a_few_searches(bench: Bench) -> None:
    await bench.ingest(source("a", TEXT))
    before = len(bench.embedder.calls)
    answer = await bench.app.ask("Where is the quokka now? " * 1000, scope=OPERATOR)
    searches = [call for call in bench.embedder.calls[before:] if call.role == "query"]
    assert len(searches) <= 2 * 8 + 1  # a part: retrieval and quoting; and one for memories
    assert len(answer.passages) == 1


async def test_settings_are_read_or_given(tmp_path: Path) -> None:
    loaded = load(config=None, flags={}, environment={"VADE_HOME": str(tmp_path)})
    with pytest.raises(ValueError, match="either loaded settings or overrides"):
        async with composing.open(loaded, overrides={"chunking.size": 100}):
            raise AssertionError("opened")


async def test_a_principal_may_not_write_beyond_its_labels(bench: Bench) -> None:
    alice = Scope.for_principal("default", "user:alice", frozenset())
    with pytest.raises(Forbidden):
        await bench.app.ingest([source("a", TEXT, access=("role:other",))], scope=alice)
    assert await bench.found("quokka") == []


async def test_a_worker_that_was_taken_for_dead_begins_again(bench: Bench) -> None:
    """On a very busy machine a heartbeat comes late; whoever starts then lets go of the worker, and
    the next job that it fetches has no worker to belong to."""
    accepted = [
        await bench.accept(source(f"{number}.txt", f"Paper {number} tells of lifts and doors."))
        for number in range(12)
    ]
    gone = 0

    async def work(tenant: Tenant, revision: UUID) -> None:
        nonlocal gone
        if not gone:
            gone = len(bench.sql("DELETE FROM vademecum.procrastinate_workers RETURNING id"))
        await ingest_revision(bench.app.ingest_parts, tenant, revision)

    async with asyncio.timeout(60):
        await bench.app.catalogue.jobs.drain({"ingest": work})
    assert gone == 1
    results = await bench.documents.results(OPERATOR, [a.revision_id for a in accepted])
    assert {result.status for result in results.values()} == {"ready"}


async def test_a_document_may_take_longer_than_a_worker_s_grace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else waits in the queue meanwhile, and still it is not broken off."""
    monkeypatch.setattr(jobs, "_GRACE_SECONDS", 0.2)
    accepted = await bench.accept(source("long.txt", TEXT))
    ended = []

    async def work(tenant: Tenant, revision: UUID) -> None:
        await asyncio.sleep(1.5)
        await ingest_revision(bench.app.ingest_parts, tenant, revision)
        ended.append(revision)

    await bench.app.catalogue.jobs.drain({"ingest": work})
    assert ended == [accepted.revision_id]
    (attempts,) = bench.sql("SELECT attempts FROM vademecum.revision")
    assert attempts == (1,)


@pytest.mark.parametrize("ended_by", ["drain", "run"])
async def test_what_is_broken_off_has_not_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, ended_by: str
) -> None:
    """However often a service is stopped while it reads one long document."""
    monkeypatch.setattr(jobs, "_GRACE_SECONDS", 0.2)
    accepted = await bench.accept(source("long.txt", TEXT))
    slow = HashEmbedder(faults={call: Fault(delay=60) for call in range(1, 8)})
    parts = bench.app.ingest_parts
    works = {"ingest": partial(ingest_revision, replace(parts, embedder=slow, encoder=slow))}
    queue = bench.app.catalogue.jobs
    for call in range(1, 8):
        working = asyncio.create_task(
            queue.drain(works) if ended_by == "drain" else queue.run(works)
        )
        for _ in range(1000):
            if len(slow.calls) == call:
                break
            await asyncio.sleep(0.02)
        assert len(slow.calls) == call
        working.cancel()
        await asyncio.wait({working}, timeout=20)
        assert working.done()
        assert bench.sql("SELECT state, attempts, lease_until FROM vademecum.revision") == [
            ("accepted", 0, None)
        ]
        assert await queue.rescue() == 1
    await queue.drain({"ingest": partial(ingest_revision, parts)})
    results = await bench.documents.results(OPERATOR, [accepted.revision_id])
    assert results[accepted.revision_id].status == "ready"
