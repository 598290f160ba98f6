"""Is what is found always the newest, on the day that is asked for, whatever comes late or twice?"""

import asyncio
import hashlib
import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from support import OPERATOR, TODAY, Bench, make_bench, paragraphs, source

from vademecum.errors import Forbidden, QueueFull
from vademecum.ingest.reconcile import reconcile
from vademecum.model.change import FIRST, ChangeEvent
from vademecum.model.document import Deletion, Source
from vademecum.model.ids import Tenant
from vademecum.model.principal import Scope
from vademecum.postgres import source as source_rows
from vademecum.postgres.pool import Pool
from vademecum.testing.embedders import HashEmbedder
from vademecum.worker.loop import once

DAY = timedelta(days=1)


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs")


def published(bench: Bench, number: int, day: date) -> None:
    """Pretend that a revision was published on another day."""
    bench.sql(
        "UPDATE vademecum.revision SET published_at = %s WHERE number = %s",
        datetime(day.year, day.month, day.day, 12, tzinfo=UTC),
        number,
    )
    bench.sql(
        "SELECT set_config('vademecum.tenant', 'default', false),"
        " set_config('vademecum.operator', 'on', false);"
        "SET search_path = vademecum, public;"
        "SELECT set_validity(id) FROM document"
    )


async def on(bench: Bench, text: str, day: date | None) -> list[str]:
    found = await bench.app.search(text, scope=OPERATOR, k=50, as_of=day)
    return sorted(p.source.chunk.text.split()[1] for p in found.retrieval.passages)


async def test_the_revision_in_force_on_a_day_is_found(bench: Bench) -> None:
    words = ["quokka", "numbat", "bilby"]
    for word in words:
        await bench.ingest(source("a", paragraphs([word])))
    for number, ago in ((1, 30), (2, 20), (3, 10)):
        published(bench, number, TODAY - ago * DAY)
    assert await on(bench, "rule", None) == ["bilby"]
    assert await on(bench, "rule", TODAY) == ["bilby"]
    assert await on(bench, "rule", TODAY - 10 * DAY) == ["bilby"]
    assert await on(bench, "rule", TODAY - 11 * DAY) == ["numbat"]
    assert await on(bench, "rule", TODAY - 21 * DAY) == ["quokka"]
    assert await on(bench, "rule", TODAY - 31 * DAY) == []
    history = await bench.documents.history(OPERATOR, (await bench.documents.all(OPERATOR))[0].id)
    assert [r.valid_until and r.valid_until.date() for r in history] == [
        TODAY - 20 * DAY, TODAY - 10 * DAY, None,
    ]  # fmt: skip


async def test_a_revision_with_days_of_its_own_is_in_force_on_them(bench: Bench) -> None:
    season = {"effective_from": "2025-01-01", "effective_until": "2025-12-31"}
    await bench.ingest(source("a", paragraphs(["quokka"]), metadata=season))
    later = {"effective_from": (TODAY + 5 * DAY).isoformat()}
    await bench.ingest(source("a", paragraphs(["numbat"]), metadata=later))
    assert await on(bench, "rule", None) == []
    assert await on(bench, "rule", date(2025, 1, 1)) == ["quokka"]
    assert await on(bench, "rule", date(2025, 12, 31)) == ["quokka"]
    assert await on(bench, "rule", date(2024, 12, 31)) == []
    assert await on(bench, "rule", TODAY + 5 * DAY) == ["numbat"]
    assert await on(bench, "rule", TODAY + 4 * DAY) == []


async def test_the_next_seasons_rule_leaves_todays_in_force(bench: Bench) -> None:
    await bench.ingest(source("a", paragraphs(["quokka"])))
    later = {"effective_from": (TODAY + 5 * DAY).isoformat()}
    await bench.ingest(source("a", paragraphs(["numbat"]), metadata=later))
    assert await on(bench, "rule", None) == ["quokka"]
    assert await on(bench, "rule", TODAY + 5 * DAY) == ["numbat"]
    # The day is changed, and nothing else: at once, without work.
    (again,) = await bench.ingest(
        source("a", paragraphs(["numbat"]), metadata={"effective_from": TODAY.isoformat()})
    )
    assert again.status == "unchanged"
    assert await on(bench, "rule", None) == ["numbat"]


async def test_a_last_day_without_a_first_was_in_force_before_we_knew(bench: Bench) -> None:
    await bench.ingest(
        source("a", paragraphs(["quokka"]), metadata={"effective_until": "2025-12-31"})
    )
    assert await on(bench, "rule", None) == []
    assert await on(bench, "rule", date(2025, 6, 1)) == ["quokka"]


async def test_front_matter_gives_what_the_caller_does_not(bench: Bench) -> None:
    text = (
        "---\neffective_until: 2025-12-31\nvenue: arena\nplace: 1\n---\n# Rules\n\nThe quokka rule."
    )
    (result,) = await bench.ingest(source("a.md", text, metadata={"place": 2}))
    document = await bench.documents.get(OPERATOR, result.id)
    assert document.metadata == {"effective_until": "2025-12-31", "venue": "arena", "place": 2}
    assert await on(bench, "quokka", None) == []
    (again,) = await bench.ingest(source("a.md", text, metadata={"place": 3}))
    assert again.status == "unchanged"
    document = await bench.documents.get(OPERATOR, result.id)
    assert document.metadata == {"effective_until": "2025-12-31", "venue": "arena", "place": 3}
    assert await on(bench, "quokka", None) == []
    await bench.ingest(
        source("a.md", text, metadata={"effective_until": (TODAY + DAY).isoformat()})
    )
    assert len(await on(bench, "quokka", None)) == 1


async def test_all_that_is_known_of_a_document_is_told(bench: Bench) -> None:
    text = "---\neffective_until: 2030-12-31\n---\n# Rules\n\nThe gate opens two hours before the concert begins and closes when it ends."
    metadata = {"season": 2026, "open": True, "price": 7.5, "note": None, "venue": "arena"}
    (result,) = await bench.ingest(
        source("a.md", text, access=["group:a", "user:b"], metadata=metadata, language=None)
    )
    document = await bench.documents.get(OPERATOR, result.id)
    assert document.metadata == metadata | {"effective_until": "2030-12-31"}
    assert [type(document.metadata[key]) for key in metadata] == [
        int, bool, float, type(None), str,
    ]  # fmt: skip
    assert document.access == ("group:a", "user:b")
    assert document.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert document.fingerprint == bench.app.deliver_parts.fingerprint(source("a.md", ""))
    assert (document.ingested_by, document.language) == (OPERATOR.principal, "en")
    assert document.valid_until == datetime(2031, 1, 1, tzinfo=UTC)
    (chunk,) = await bench.documents.chunks(OPERATOR, document.id)
    assert chunk.language == "en"


def delivered(version: int, word: str) -> Source:
    made = source("a", paragraphs([word]))
    return Source(**{f: getattr(made, f) for f in made.__dataclass_fields__} | {"version": version})


EVENTS = (
    delivered(1, "quokka"),
    delivered(2, "numbat"),
    Deletion(uri="a", collection="default", version=3),
    delivered(4, "bilby"),
)
ENDED_BY_DELETION = EVENTS[:3]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_events_in_any_order_end_alike(bench: Bench, order: tuple[int, ...]) -> None:
    for position in order:
        await bench.app.ingest([EVENTS[position]] * 2, scope=OPERATOR)
    assert await on(bench, "rule", None) == ["bilby"]
    assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_a_tombstone_beats_what_comes_late(bench: Bench, order: tuple[int, ...]) -> None:
    for position in order:
        await bench.app.ingest([ENDED_BY_DELETION[position]], scope=OPERATOR)
    assert await bench.documents.all(OPERATOR) == []
    assert bench.count("chunk_vector") == 0
    (late,) = await bench.app.ingest([delivered(3, "numbat")], scope=OPERATOR)
    assert (late.status, late.reason) == ("unchanged", "version 3 is not newer than 3")
    assert bench.tables_with("numbat") == []


async def test_only_an_operator_may_end_versions_and_follow_changes(bench: Bench) -> None:
    await bench.ingest(source("a", "A secret.", access=["group:a"]))
    other = Scope.for_principal("default", "user:b", frozenset())
    with pytest.raises(Forbidden):
        await bench.app.ingest([Deletion(uri="a", collection="default", version=99)], scope=other)
    (gone,) = await bench.app.ingest(
        [Deletion(uri="a", collection="default", version=None)], scope=other
    )
    assert (gone.status, gone.reason) == ("unchanged", "there is no such document")
    assert len(await bench.documents.all(OPERATOR)) == 1
    with pytest.raises(Forbidden):
        await bench.app.changes(scope=other)


async def _told(bench: Bench, count: int) -> list[ChangeEvent]:
    """The changes, as soon as no older transaction of the server's other databases runs."""
    for _ in range(200):
        events = await bench.app.changes(scope=OPERATOR)
        if len(events) >= count:
            return events
        await asyncio.sleep(0.05)
    pytest.fail(f"not {count} changes were told")


async def test_changes_are_told_once_each_in_order(bench: Bench) -> None:
    (a,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    await bench.ingest(source("a", paragraphs(["numbat"])))
    await bench.ingest(source("a", paragraphs(["numbat"]), access=["group:a"]))
    await bench.ingest(source("a", paragraphs(["numbat"]), access=["group:a"]))
    await bench.app.catalogue.delete(a.id, scope=OPERATOR)
    events = await _told(bench, 4)
    assert [(e.kind, e.document_id) for e in events] == [
        (kind, a.id) for kind in ("published", "published", "changed", "deleted")
    ]
    cursor, told = FIRST, []
    while page := await bench.app.changes(scope=OPERATOR, after=cursor, limit=1):
        cursor = page[-1].cursor
        told += page
    assert told == events
    assert await bench.app.changes(scope=Scope.for_operator("other")) == []


async def test_a_consumer_misses_nothing_though_transactions_commit_out_of_order(
    bench: Bench, database_url: str
) -> None:
    """Sixty documents are published at once while a consumer asks, and a slow transaction that
    began before them is still open: what follows it waits, and comes."""
    cursor, seen = FIRST, []
    stop = asyncio.Event()

    async def follow() -> None:
        nonlocal cursor
        last = False
        while True:
            events = await bench.app.changes(scope=OPERATOR, after=cursor, limit=7)
            for event in events:
                cursor = event.cursor
                seen.append(event)
            if last and not events:
                return
            last = stop.is_set()  # and what is told by now is still read to its end
            await asyncio.sleep(0)

    following = asyncio.create_task(follow())
    async with await psycopg.AsyncConnection.connect(database_url) as slow:
        await slow.execute("SELECT pg_current_xact_id()")
        await asyncio.gather(
            *(bench.ingest(source(f"d{n}", paragraphs([f"w{n}x"]))) for n in range(30))
        )
        assert seen == []
        await slow.commit()
    await asyncio.gather(
        *(bench.ingest(source(f"d{n}", paragraphs([f"v{n}x"]))) for n in range(30))
    )
    await _told(bench, 60)
    stop.set()
    await following
    truth = bench.sql("SELECT xid::text::bigint, id FROM vademecum.change_event ORDER BY 1, 2")
    assert [event.cursor for event in seen] == truth
    assert len(truth) == 60


async def test_the_reconciler_builds_a_lost_index_again(bench: Bench) -> None:
    await bench.ingest(*(source(f"d{n}", paragraphs([f"w{n}x", "rule"])) for n in range(5)))
    await bench.ingest(source("d0", paragraphs(["numbat"])))

    def rows() -> list[list[str]]:
        return [
            sorted(bench.sql(f"SELECT t::text FROM vademecum.{table} t"))
            for table in ("chunk_vector", "chunk_terms")
        ]

    before = rows()
    bench.sql("TRUNCATE vademecum.chunk_vector, vademecum.chunk_terms")
    assert await bench.found("rule") == []
    done = await reconcile(bench.app.reconcile_parts)
    assert (done.embedded_chunks, done.analysed_chunks) == (11, 11)
    assert rows() == before
    assert await reconcile(bench.app.reconcile_parts) == type(done)()


async def test_the_reconciler_puts_a_stale_row_right(bench: Bench) -> None:
    await bench.ingest(source("a", paragraphs(["quokka"]), access=["group:a"]))
    await bench.ingest(source("b", paragraphs(["numbat"]), access=["group:b"]))
    for table in ("chunk_vector", "chunk_terms"):
        bench.sql(
            f"UPDATE vademecum.{table} SET collection = 'x', valid_until = valid_from,"
            " access_set = (SELECT max(id) FROM vademecum.access_set)"
        )
    scope = Scope.for_principal("default", "user:a", frozenset({"group:a"}))
    assert await bench.found("quokka", scope=scope) == []
    await reconcile(bench.app.reconcile_parts)
    assert len(await bench.found("quokka", scope=scope)) == 1
    for table in ("chunk_vector", "chunk_terms"):
        assert bench.in_force(table) == 2


async def test_words_are_found_again_though_no_model_answers(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    embedder = HashEmbedder()
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    await bench.ingest(source("a", paragraphs(["quokka"])))
    bench.sql("TRUNCATE vademecum.chunk_vector, vademecum.chunk_terms")
    away = await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(broken="quokka"))
    done = await reconcile(away.app.reconcile_parts)
    assert (done.analysed_chunks, done.embedded_chunks, done.waiting_chunks) == (1, 0, 1)
    done = await reconcile(bench.app.reconcile_parts)
    assert (done.analysed_chunks, done.embedded_chunks, done.waiting_chunks) == (0, 1, 0)


async def test_what_is_whole_in_part_is_tried_again_when_asked(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(broken="numbat"))
    (result,) = await bench.ingest(source("a", paragraphs(["quokka", "numbat"])))
    assert result.status == "partial"
    done = await reconcile(bench.app.reconcile_parts)
    assert (done.embedded_chunks, done.waiting_chunks) == (0, 0), "it was given up"
    well = await make_bench(pool, database_url, tmp_path)
    assert await well.app.catalogue.jobs.retry(OPERATOR, result.id) == [result.id]
    await once(well.app)
    document = await well.documents.get(OPERATOR, result.id)
    assert (document.state, document.revision) == ("ready", 2)
    assert well.in_force("chunk_vector") == 2


async def test_one_document_of_another_tenant_does_not_wait_for_a_thousand(bench: Bench) -> None:
    many, few = Scope.for_operator("many"), Scope.for_operator("few")
    for number in range(30):
        await bench.accept(source(f"d{number}", f"Text {number}."), many)
    for number in range(3):
        await bench.accept(source(f"d{number}", f"Text {number}."), few)
    order: list[str] = []

    async def note(tenant: Tenant, _revision: object) -> None:
        order.append(tenant)

    await bench.app.catalogue.jobs.drain({"ingest": note})
    assert len(order) == 33
    last_of_few = max(position for position, tenant in enumerate(order) if tenant == "few")
    assert last_of_few < 9, "its three come with the other's first ones"


async def test_too_many_waiting_documents_are_refused_until_there_is_room(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_rows, "MOST_WAITING", 3)
    sources = [source(f"d{number}", f"Text {number}.") for number in range(9)]
    with pytest.raises(QueueFull):
        await bench.app.ingest(sources, scope=OPERATOR, wait=False)
    assert len(await bench.app.catalogue.jobs.pending(OPERATOR)) == 3
    # Whoever waits makes room by working.
    results = await bench.app.ingest(sources, scope=OPERATOR)
    assert [r.status for r in results] == ["ready"] * 9
