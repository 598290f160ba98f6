"""Does a document come in once, whole, and go whole, whoever else works meanwhile?"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from support import OPERATOR, TODAY, Bench, make_bench, paragraphs, source

from vademecum.adapters.clock import SystemClock
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.answer.cite import citation
from vademecum.answer.record import answer_record
from vademecum.errors import DiskFull, DocumentNotFound, EmbeddingInvalid, Forbidden, ProviderAway
from vademecum.ingest.pipeline import ingest_revision
from vademecum.model.conversation import Finished
from vademecum.model.document import State
from vademecum.model.ids import ConversationId, RevisionId, Tenant, TraceId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.trace import Trace
from vademecum.ports.store import Claim, Publication
from vademecum.postgres.pool import Pool, open_pool
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.worker.loop import once

# Where the id of what is gone stays: whoever keeps a copy learns of it, and so does a restore.
DELETED = ["vademecum.change_event", "vademecum.deletion"]

TEN = [f"w{number}x" for number in range(10)]
DEFAULT = Tenant("default")


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs")


async def test_a_document_is_accepted_published_found_and_deleted(bench: Bench) -> None:
    (result,) = await bench.ingest(source("rules.txt", paragraphs(["quokka", "numbat"])))
    assert (result.status, result.revision, result.chunks, result.embedded) == ("ready", 1, 2, 2)
    assert "quokka" in (await bench.found("quokka"))[0]
    document = await bench.documents.get(OPERATOR, result.id)
    assert (document.state, document.chunks, document.language) == (State.READY, 2, "en")
    text = await bench.documents.text(OPERATOR, document.id)
    for chunk in await bench.documents.chunks(OPERATOR, document.id):
        assert text[chunk.start : chunk.end] == chunk.text
    answer = await bench.app.ask("What does the quokka rule say?", scope=OPERATOR)
    assert answer.passages[0].source.document_id == document.id
    receipt = await bench.app.catalogue.delete(document.id, scope=OPERATOR)
    assert receipt.complete
    assert await bench.found("quokka") == []
    with pytest.raises(DocumentNotFound):
        await bench.documents.get(OPERATOR, document.id)


async def test_the_child_process_reads_the_same(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    parser = ChildParser()
    bench = await make_bench(pool, database_url, tmp_path, parser=parser)
    (result,) = await bench.ingest(source("a.md", "# Title\n\nA paragraph on quokkas."))
    await parser.aclose()
    assert (result.status, result.title, result.chunks) == ("ready", "Title", 1)


async def test_unchanged_bytes_cost_nothing(bench: Bench) -> None:
    await bench.ingest(source("a", paragraphs(TEN)))
    calls, rows = len(bench.embedder.calls), bench.count("revision")
    (again,) = await bench.ingest(source("a", paragraphs(TEN)))
    assert (again.status, again.new_chunks, again.embedded, again.chunks) == ("unchanged", 0, 0, 10)
    assert len(bench.embedder.calls) == calls
    assert bench.count("revision") == rows
    assert bench.count("chunk") == bench.count("chunk_vector") == bench.count("chunk_terms") == 10


async def test_only_changed_chunks_are_embedded(bench: Bench) -> None:
    await bench.ingest(source("a", paragraphs(TEN), title="T"))
    before = bench.embedded
    changed = [*TEN[:4], "quokka", *TEN[5:]]
    (result,) = await bench.ingest(source("a", paragraphs(changed), title="T"))
    assert (result.revision, result.chunks, result.new_chunks, result.embedded) == (2, 10, 1, 1)
    assert bench.embedded == before + 1
    assert await bench.found(TEN[4])
    assert all(TEN[4] not in text for text in await bench.found("x"))
    assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == 10
    kept = bench.sql("SELECT embedding::text FROM vademecum.chunk_vector")
    assert (len(kept), len(set(kept))) == (20, 11), "the old revision keeps its rows"


async def test_a_shorter_version_leaves_no_tail(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", paragraphs(TEN)))
    old = [chunk.id for chunk in await bench.documents.chunks(OPERATOR, first.id)]
    (result,) = await bench.ingest(source("a", paragraphs(TEN[:3])))
    assert result.chunks == 3
    for table in ("chunk", "chunk_vector", "chunk_terms"):
        assert bench.in_force(table) == 3, table
    assert await bench.documents.confirm(OPERATOR, old, TODAY) == {}
    assert not any(TEN[9] in text for text in await bench.found(TEN[9]))
    history = await bench.documents.history(OPERATOR, first.id)
    assert [(r.number, r.state, r.current) for r in history] == [
        (1, State.READY, False),
        (2, State.READY, True),
    ]


async def test_a_version_without_text_leaves_no_tail(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", paragraphs(TEN)))
    (second,) = await bench.ingest(source("a", "   \n"))
    assert (second.status, second.chunks) == ("empty", 0)
    assert await bench.found(TEN[0]) == []
    for table in ("chunk", "chunk_vector", "chunk_terms"):
        assert bench.in_force(table) == 0, table
    assert await bench.documents.text(OPERATOR, first.id) == "   \n"
    (third,) = await bench.ingest(source("a", paragraphs(TEN)))
    assert (third.status, third.revision, third.chunks) == ("ready", 3, 10)


async def test_a_version_that_cannot_be_read_leaves_the_old_one(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    (second,) = await bench.ingest(source("a", b"\x89PNG"))
    assert second.status == "rejected"
    assert "quokka" in (await bench.found("quokka"))[0]
    document = await bench.documents.get(OPERATOR, first.id)
    assert (document.state, document.chunks) == (State.REJECTED, 1)


async def test_equal_bytes_under_two_uris_are_two_documents(bench: Bench) -> None:
    text = paragraphs(["quokka"])
    a, b = await bench.ingest(
        source("a/readme.md", text, access=["group:a"], metadata={"n": 1}),
        source("b/readme.md", text, access=["group:b"], metadata={"n": 2}),
    )
    assert a.id != b.id
    both = {d.id: d for d in await bench.documents.all(OPERATOR)}
    assert (both[a.id].access, both[a.id].metadata) == (("group:a",), {"n": 1})
    assert (both[b.id].access, both[b.id].metadata) == (("group:b",), {"n": 2})
    assert len(bench.stored_files()) == 1
    await bench.app.catalogue.delete(a.id, scope=OPERATOR)
    assert len(bench.stored_files()) == 1, "the other document still names these bytes"
    assert len(await bench.found("quokka")) == 1
    await bench.app.catalogue.delete(b.id, scope=OPERATOR)
    assert bench.stored_files() == []


async def test_one_uri_in_two_collections_is_two_documents(bench: Bench) -> None:
    a, b = await bench.ingest(
        source("a", paragraphs(["quokka"]), collection="one"),
        source("a", paragraphs(["numbat"]), collection="two"),
    )
    assert a.id != b.id
    found = await bench.app.search("rule", scope=OPERATOR, collections=frozenset({"two"}))
    assert {p.source.document_id for p in found.retrieval.passages} == {b.id}


async def test_one_uri_of_two_tenants_is_two_documents(bench: Bench) -> None:
    other = Scope.for_operator("other")
    (a,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    (b,) = await bench.ingest(source("a", paragraphs(["quokka"])), scope=other)
    assert a.id != b.id
    assert [d.id for d in await bench.documents.all(other)] == [b.id]
    await bench.app.catalogue.delete(a.id, scope=OPERATOR)
    assert len(await bench.found("quokka", scope=other)) == 1
    assert len(bench.stored_files()) == 1


async def test_a_change_of_labels_or_metadata_alone_is_no_new_revision(bench: Bench) -> None:
    text = paragraphs(["quokka"])
    (first,) = await bench.ingest(source("a", text, access=["group:a"], metadata={"v": 1}))
    a = Scope.for_principal("default", "user:a", frozenset({"group:a"}))
    b = Scope.for_principal("default", "user:b", frozenset({"group:b"}))
    assert len(await bench.found("quokka", scope=a)) == 1
    assert await bench.found("quokka", scope=b) == []
    (second,) = await bench.ingest(source("a", text, access=["group:b"], metadata={"v": True}))
    assert (second.status, second.revision) == ("unchanged", 1)
    assert await bench.found("quokka", scope=a) == []
    assert len(await bench.found("quokka", scope=b)) == 1
    document = await bench.documents.get(OPERATOR, first.id)
    assert (document.access, document.metadata) == (("group:b",), {"v": True})
    sets = {
        table: bench.sql(f"SELECT DISTINCT access_set FROM vademecum.{table}")
        for table in ("document", "chunk_vector", "chunk_terms")
    }
    assert sets["document"] == sets["chunk_vector"] == sets["chunk_terms"]
    assert bench.embedded == 1


async def test_a_change_of_type_in_metadata_is_a_change(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", "A text.", metadata={"v": 1}))
    await bench.ingest(source("a", "A text.", metadata={"v": True}))
    assert (await bench.documents.get(OPERATOR, first.id)).metadata == {"v": True}
    assert (await bench.documents.get(OPERATOR, first.id)).metadata["v"] is True


async def test_another_title_or_language_is_read_again(bench: Bench) -> None:
    await bench.ingest(source("a", "Os ingressos mudaram.", language="en"))
    (second,) = await bench.ingest(source("a", "Os ingressos mudaram.", language="pt"))
    assert (second.status, second.revision, second.language) == ("ready", 2, "pt")
    (third,) = await bench.ingest(source("a", "Os ingressos mudaram.", language="pt", title="T"))
    assert (third.status, third.revision, third.title) == ("ready", 3, "T")
    (fourth,) = await bench.ingest(source("a", "Os ingressos mudaram.", language="pt", title="T"))
    assert fourth.status == "unchanged"


async def test_the_callers_values_are_not_touched(bench: Bench) -> None:
    metadata = {"season": 2026}
    first, second = source("a", "One.", metadata=metadata), source("b", "Two.", metadata=metadata)
    await bench.ingest(first, second)
    await bench.ingest(source("a", "One.", metadata={"season": 2027}))
    assert metadata == {"season": 2026}
    by_uri = {d.uri: d.metadata for d in await bench.documents.all(OPERATOR)}
    assert by_uri == {"a": {"season": 2027}, "b": {"season": 2026}}


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"\x89PNG....", "rejected"), (b"", "empty"), (b" \n\n ", "empty")],
)
async def test_a_verdict_is_remembered(bench: Bench, content: bytes, status: str) -> None:
    (first,) = await bench.ingest(source("a", content))
    (again,) = await bench.ingest(source("a", content))
    assert (first.status, again.status) == (status, status)
    assert again.reason == first.reason
    assert bench.count("revision") == 1


async def test_what_failed_is_tried_again(bench: Bench) -> None:
    accepted = await bench.accept(source("a", paragraphs(["quokka"])))
    claim = await bench.revisions.claim(DEFAULT, accepted.revision_id)
    assert claim
    await bench.revisions.finish(claim, State.FAILED, "the disk was away", None)
    (again,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    assert (again.status, again.revision, again.id) == ("ready", 2, accepted.document_id)


async def test_one_bad_document_costs_itself_only(bench: Bench) -> None:
    results = await bench.ingest(
        source("a", "One text."),
        source("", "A document without a name."),
        source("b", b"\x89PNG"),
        source("c", "x", access=["l" * 201]),
        source("d", "x", metadata={"v": float("nan")}),
        source("e", "x", access=["a\x00b"]),
        source("f", "x", collection="c\ud800"),
        source("g", "x", metadata={"k\x00": 1}),
        source("z", "Another text."),
    )
    assert [r.status for r in results] == ["ready", *["rejected"] * 7, "ready"]
    assert all(r.reason for r in results[1:8])


async def _publication(bench: Bench, claim: Claim, text: str) -> Publication:
    """What the line makes of a text, without its writes."""
    made: list[Publication] = []

    class Held:
        async def claim(self, tenant: Tenant, revision_id: RevisionId) -> Claim:
            return claim

        async def publish(self, claim: Claim, publication: Publication) -> bool:
            made.append(publication)
            return True

        def __getattr__(self, name: str) -> object:
            return getattr(bench.revisions, name)

    parts = replace(bench.app.ingest_parts, revisions=Held())  # type: ignore[arg-type]
    await ingest_revision(parts, claim.tenant, claim.revision_id)
    return made[0]


async def _claimed(bench: Bench, uri: str, text: str) -> tuple[Claim, Publication]:
    accepted = await bench.accept(source(uri, text))
    claim = await bench.revisions.claim(DEFAULT, accepted.revision_id)
    assert claim
    return claim, await _publication(bench, claim, text)


async def test_an_older_revision_that_ends_late_does_not_win(bench: Bench) -> None:
    old = await _claimed(bench, "a", paragraphs(["quokka", "bilby"]))
    new = await _claimed(bench, "a", paragraphs(["numbat"]))
    assert await bench.revisions.publish(*new)
    assert await bench.revisions.publish(*old)
    texts = await bench.chunk_texts(old[0].document_id)
    assert len(texts) == 1
    assert "numbat" in texts[0]
    assert await bench.found("quokka") == await bench.found("numbat") == texts
    history = await bench.documents.history(OPERATOR, old[0].document_id)
    assert [r.current for r in history] == [False, True]
    document = await bench.documents.get(OPERATOR, old[0].document_id)
    assert (document.revision, document.chunks) == (2, 1)


async def test_an_older_revision_that_waits_for_the_newer_ones_lock_does_not_win(
    bench: Bench,
) -> None:
    """The older worker blocks on the document's row while the newer one publishes."""
    (first,) = await bench.ingest(source("a", paragraphs(["bilby"])))
    old = await _claimed(bench, "a", paragraphs(["quokka"]))
    new = await _claimed(bench, "a", paragraphs(["numbat"]))
    async with await psycopg.AsyncConnection.connect(bench.superuser) as holder:
        await holder.execute("SELECT 1 FROM vademecum.document FOR UPDATE")
        newer = asyncio.create_task(bench.revisions.publish(*new))
        await _until_blocked(bench, 1)
        older = asyncio.create_task(bench.revisions.publish(*old))
        await _until_blocked(bench, 2)
        await holder.rollback()
    assert await newer
    assert await older
    texts = await bench.chunk_texts(first.id)
    assert len(texts) == 1
    assert "numbat" in texts[0]


async def _until_blocked(bench: Bench, count: int) -> None:
    for _ in range(200):
        waiting = bench.sql(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )[0][0]
        if waiting >= count:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"not {count} sessions wait for a lock")


async def test_two_versions_accepted_at_once_are_two_revisions(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", paragraphs(["bilby"])))
    async with await psycopg.AsyncConnection.connect(bench.superuser) as holder:
        await holder.execute("SELECT 1 FROM vademecum.document FOR UPDATE")
        both = [
            asyncio.create_task(bench.accept(source("a", paragraphs([word]))))
            for word in ("quokka", "numbat")
        ]
        await _until_blocked(bench, 2)
        await holder.rollback()
    accepted = await asyncio.gather(*both)
    assert len({a.revision_id for a in accepted}) == 2
    history = await bench.documents.history(OPERATOR, first.id)
    assert [r.number for r in history] == [1, 2, 3]


async def test_the_same_version_accepted_twice_at_once_is_one_revision(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", paragraphs(["bilby"])))
    async with await psycopg.AsyncConnection.connect(bench.superuser) as holder:
        await holder.execute("SELECT 1 FROM vademecum.document FOR UPDATE")
        both = [
            asyncio.create_task(bench.accept(source("a", paragraphs(["quokka"])))) for _ in range(2)
        ]
        await _until_blocked(bench, 2)
        await holder.rollback()
    one, other = await asyncio.gather(*both)
    assert one == other
    assert len(await bench.documents.history(OPERATOR, first.id)) == 2


async def test_of_two_workers_one_gets_the_work(bench: Bench) -> None:
    accepted = await bench.accept(source("a", paragraphs(["quokka"])))
    claims = await asyncio.gather(
        *(bench.revisions.claim(DEFAULT, accepted.revision_id) for _ in range(4))
    )
    assert sum(claim is not None for claim in claims) == 1


async def test_a_worker_that_lost_its_lease_changes_nothing(bench: Bench) -> None:
    claim, publication = await _claimed(bench, "a", paragraphs(["quokka"]))
    assert await bench.revisions.extend(claim)
    bench.lose_lease(claim.revision_id)
    assert not await bench.revisions.extend(claim)
    second = await bench.revisions.claim(DEFAULT, claim.revision_id)
    assert second
    assert second.attempts == 2
    assert not await bench.revisions.publish(claim, publication)
    assert not await bench.revisions.finish(claim, State.FAILED, "late", None)
    assert bench.count("chunk") == bench.count("chunk_vector") == 0
    assert (await bench.documents.get(OPERATOR, claim.document_id)).state == State.ACCEPTED
    assert await bench.revisions.publish(second, publication)
    assert not await bench.revisions.publish(second, publication), "it has ended"
    assert bench.count("chunk") == 1


async def test_attempts_are_counted_before_the_work_and_end(bench: Bench) -> None:
    """A document that kills its worker every time must not do so for ever."""
    accepted = await bench.accept(source("a", paragraphs(["quokka"])))
    for attempt in range(1, 6):
        claim = await bench.revisions.claim(DEFAULT, accepted.revision_id)
        assert claim
        assert claim.attempts == attempt
        bench.lose_lease(accepted.revision_id)
    await ingest_revision(bench.app.ingest_parts, DEFAULT, accepted.revision_id)
    document = await bench.documents.get(OPERATOR, accepted.document_id)
    assert document.state == State.FAILED
    assert "5 attempts" in document.reason
    assert bench.embedder.calls == []


async def test_a_provider_that_is_away_leaves_the_work_to_be_tried_again(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    away = Fault(error=ProviderAway("the provider is away"))
    empty = Fault(drop_rows=1)  # the whole batch, then each half
    embedder = HashEmbedder(faults={1: away, 2: Fault(drop_rows=2), 3: empty, 4: empty})
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    accepted = await bench.accept(source("a", paragraphs(["quokka", "numbat"])))
    for _ in range(2):
        with pytest.raises((ProviderAway, EmbeddingInvalid), match=r"away|shape"):
            await ingest_revision(bench.app.ingest_parts, DEFAULT, accepted.revision_id)
        assert bench.count("chunk") == 0
        bench.lose_lease(accepted.revision_id)
    (result,) = await bench.ingest(source("a", paragraphs(["quokka", "numbat"])))
    assert (result.status, result.chunks) == ("ready", 2)


async def test_rescue_queues_what_lost_its_worker_and_nothing_else(bench: Bench) -> None:
    async def accept(tenant: str, uri: str) -> RevisionId:
        return (await bench.accept(source(uri, uri), Scope.for_operator(tenant))).revision_id

    lost = {tenant: await accept(tenant, "lost") for tenant in ("one", "two", "three")}
    working = await accept("one", "working")
    expired = await accept("two", "expired")
    fetched = await accept("three", "fetched")
    orphan = await accept("three", "orphan")
    waiting = await accept("three", "waiting")
    alive = bench.sql("INSERT INTO vademecum.procrastinate_workers DEFAULT VALUES RETURNING id")
    dead = bench.sql(
        "INSERT INTO vademecum.procrastinate_workers (last_heartbeat)"
        " VALUES (now() - interval '1 h') RETURNING id"
    )
    bench.sql(
        "DELETE FROM vademecum.procrastinate_jobs WHERE queueing_lock = ANY (%s)",
        [str(item) for item in (*lost.values(), working, expired)],
    )
    for revision, worker in ((fetched, alive), (orphan, dead)):
        bench.sql(
            "UPDATE vademecum.procrastinate_jobs SET status = 'doing', worker_id = %s"
            " WHERE queueing_lock = %s",
            worker[0][0],
            str(revision),
        )
    await bench.revisions.claim(Tenant("one"), working)
    await bench.revisions.claim(Tenant("two"), expired)
    bench.lose_lease(expired)
    assert await bench.app.catalogue.jobs.rescue() == 5
    queued = {
        row[0]
        for row in bench.sql(
            "SELECT queueing_lock FROM vademecum.procrastinate_jobs WHERE status = 'todo'"
        )
    }
    assert queued == {str(item) for item in (*lost.values(), expired, orphan, waiting)}
    assert await bench.app.catalogue.jobs.rescue() == 0
    doing = bench.sql(
        "SELECT queueing_lock FROM vademecum.procrastinate_jobs WHERE status = 'doing'"
    )
    assert doing == [(str(fetched),)], "what a dead worker held is not kept for ever"


async def test_the_queue_is_worked_off_and_left_empty(bench: Bench) -> None:
    for tenant in ("one", "two"):
        for number in range(3):
            await bench.accept(source(f"{number}", f"Text {number}."), Scope.for_operator(tenant))
    await bench.ingest(source("a", "One more."))
    await once(bench.app)  # who waits for one document need not wait for all
    assert bench.count("procrastinate_jobs") == 0
    states = bench.sql("SELECT state, count(*) FROM vademecum.revision GROUP BY state")
    assert states == [("ready", 7)]


async def test_a_full_disk_below_the_queue_is_said_in_one_line(bench: Bench) -> None:
    await bench.accept(source("a", "One more."), OPERATOR)
    bench.sql(
        "CREATE FUNCTION vademecum.full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION 'No space left' USING ERRCODE = 'disk_full'; END$$;"
        "CREATE TRIGGER full_disk BEFORE UPDATE ON vademecum.procrastinate_jobs"
        " EXECUTE FUNCTION vademecum.full_disk()"
    )
    with pytest.raises(DiskFull, match="no space left"):
        await once(bench.app)
    bench.sql("DROP FUNCTION vademecum.full_disk CASCADE")
    await once(bench.app)
    assert bench.sql("SELECT state FROM vademecum.revision") == [("ready",)], "and nothing is lost"


async def test_parallel_writers_and_readers(database_url: str, tmp_path: Path) -> None:
    """20 ingests (10 of one document, 10 different) while 20 searches run."""
    async with open_pool(database_url, size=10) as pool:
        bench = await make_bench(pool, database_url, tmp_path)

        async def search(number: int) -> list[str]:
            return await bench.found(f"rule w{number}x")

        same = [bench.ingest(source("same", paragraphs(["quokka"]))) for _ in range(10)]
        others = [bench.ingest(source(f"n{n}", paragraphs([f"w{n}x"]))) for n in range(10)]
        results, _ = await asyncio.gather(
            asyncio.gather(*same, *others), asyncio.gather(*(search(n) for n in range(20)))
        )
    assert {r.status for (r,) in results} <= {"ready", "unchanged"}
    assert bench.count("document") == 11
    assert bench.count("revision") == 11
    assert bench.count("chunk") == bench.count("chunk_vector") == bench.count("chunk_terms") == 11


async def test_parallel_versions_of_one_document(database_url: str, tmp_path: Path) -> None:
    """Writers of different versions and readers: always one whole version, at the end the last."""
    async with open_pool(database_url, size=10) as pool:
        bench = await make_bench(pool, database_url, tmp_path)
        (first,) = await bench.ingest(source("a", paragraphs(["v0x"] * 3)))
        seen: set[frozenset[str]] = set()

        async def read() -> None:
            for _ in range(30):
                texts = await bench.chunk_texts(first.id)
                seen.add(frozenset(text.split()[1] for text in texts))
                assert len(texts) == 3
                await asyncio.sleep(0.005)

        writes = [bench.ingest(source("a", paragraphs([f"v{n}x"] * 3))) for n in range(1, 9)]
        await asyncio.gather(*writes, read(), read())
        history = await bench.documents.history(OPERATOR, first.id)
        assert [r.number for r in history] == list(range(1, 10))
        assert [r.number for r in history if r.current] == [9]
        assert all(len(words) == 1 for words in seen), "a mix of two versions was read"
        assert bench.in_force("chunk") == bench.in_force("chunk_vector") == 3


async def test_a_deletion_leaves_nothing_and_its_receipt_counts_true(bench: Bench) -> None:
    canary = "zqcanary"
    kept_text = paragraphs(["numbat"])
    (gone,) = await bench.ingest(source("gone", paragraphs([canary, canary + "two", "bilby"])))
    await bench.ingest(source("gone", paragraphs([canary, "bilby"])))
    (kept,) = await bench.ingest(source("kept", kept_text))
    reader = Scope.for_principal("default", "user:reader", frozenset())
    await bench.app.search(canary, scope=reader)
    await bench.app.search("numbat", scope=reader)
    assert await _record_quote(bench, reader, canary)
    ids = [str(gone.id)] + [str(c.id) for c in await bench.documents.chunks(OPERATOR, gone.id)]
    traces = bench.sql("SELECT count(*) FROM vademecum.trace WHERE %s = ANY (documents)", gone.id)
    before = {
        "documents": 1,
        "revisions": 2,
        "chunks": 5,
        "vectors": 5,
        "keywords": 5,
        "traces": traces[0][0],
        "turns": 1,
    }
    assert before["traces"] >= 2
    assert bench.tables_with(canary)
    retrieved = {
        str(chunk)
        for (chunks,) in bench.sql("SELECT chunks FROM vademecum.audit_event")
        for chunk in chunks
    }
    receipt = await bench.app.catalogue.delete(gone.id, scope=OPERATOR)
    assert receipt.complete
    told = {store.store: (store.found, store.deleted, store.left) for store in receipt.stores}
    for name, count in before.items():
        assert told[f"postgres.{name}"] == (count, count, 0), name
    assert told["blobs"] == (2, 2, 0)
    for needle in (*ids, canary):
        # Whoever keeps a copy must learn the id of what is gone, and that chunks were retrieved
        # stays known by their ids; nothing else is left of it.
        told = DELETED if needle == str(gone.id) else []
        if needle in retrieved:
            told = ["vademecum.audit_event"]
        assert bench.tables_with(needle) == told, needle
    assert [path.read_bytes().decode() for path in bench.stored_files()] == [kept_text]
    assert (await bench.documents.get(OPERATOR, kept.id)).chunks == 1
    assert bench.sql("SELECT role, text FROM vademecum.turn") == [("user", "What is the rule?")]
    with pytest.raises(DocumentNotFound):
        await bench.app.catalogue.delete(gone.id, scope=OPERATOR)


async def test_what_is_deleted_while_an_answer_is_written_stands_in_no_turn(bench: Bench) -> None:
    """The last look saw the document; it goes before the answer is written down."""
    canary = "zqcanary"
    (gone,) = await bench.ingest(source("a", f"The {canary} rule is this."))
    scope = Scope.for_principal("default", "user:fan", frozenset())

    async def delete() -> None:
        assert (await bench.app.catalogue.delete(gone.id, scope=OPERATOR)).complete

    assert not await _record_quote(bench, scope, canary, meanwhile=delete)
    assert bench.tables_with(canary) == []
    assert bench.tables_with(str(gone.id)) == DELETED
    assert [role for (role,) in bench.sql("SELECT role FROM vademecum.turn")] == ["user"]
    late = Trace(
        id=TraceId(new_uuid()), kind="search", principal=scope.principal, documents=(gone.id,),
        chunks=(), created_at=SystemClock().now(), record={"query": canary},
    )  # fmt: skip
    await bench.app.catalogue.records.record_trace(scope, late)
    assert (await bench.app.catalogue.records.trace(scope, late.id)).record == {}


async def _nothing() -> None: ...


async def _record_quote(
    bench: Bench,
    scope: Scope,
    canary: str,
    *,
    meanwhile: Callable[[], Awaitable[None]] = _nothing,
) -> bool:
    """Record an answer that quotes the best passage, as the answering line does."""
    (search,) = [(await bench.app.search(canary, scope=scope)).retrieval]
    passage = search.passages[0]
    quoted = passage.source.chunk.text
    cited = citation(1, passage, passage.source.chunk.start, passage.source.chunk.end,
                     support="supported")  # fmt: skip
    asked = await bench.app.ask("nothing", scope=scope)
    answer = replace(
        asked, question="What is the rule?", text=quoted, citations=(cited,), passages=(passage,),
        trace_id=TraceId(new_uuid()),
    )  # fmt: skip
    trace = Trace(
        id=answer.trace_id, kind="ask", principal=scope.principal,
        documents=(passage.source.document_id,), chunks=(passage.source.chunk.id,),
        created_at=SystemClock().now(),
        record=answer_record(answer, [search], {}),
    )  # fmt: skip
    bench.sql("DELETE FROM vademecum.turn")
    conversations = bench.app.catalogue.conversations
    place = await conversations.begin(
        scope, ConversationId(new_uuid()), answer.question, persona=None, language="en"
    )
    said = Finished(
        text=quoted,
        state="complete",
        language="en",
        used_chunks=(cited.chunk_id,),
        documents=(cited.document_id,),
    )
    await meanwhile()
    return await conversations.finish(scope, place, said, trace)


async def test_a_document_may_be_deleted_while_it_is_worked_on(bench: Bench) -> None:
    claim, publication = await _claimed(bench, "a", paragraphs(["quokka"]))
    receipt = await bench.app.catalogue.delete(claim.document_id, scope=OPERATOR)
    assert receipt.complete
    assert not await bench.revisions.extend(claim)
    assert not await bench.revisions.publish(claim, publication)
    assert not await bench.revisions.finish(claim, State.FAILED, "late", None)
    assert bench.tables_with("quokka") == []
    assert bench.tables_with(str(claim.document_id)) == DELETED
    assert bench.stored_files() == []
    (again,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    assert (again.status, again.revision) == ("ready", 1)
    assert bench.count("procrastinate_jobs") == 0


async def test_whoever_may_not_see_a_document_may_not_touch_it(bench: Bench) -> None:
    (mine,) = await bench.ingest(source("a", "Secret.", access=["group:a"]))
    b = Scope.for_principal("default", "user:b", frozenset({"group:b"}))
    with pytest.raises(DocumentNotFound):
        await bench.app.catalogue.delete(mine.id, scope=b)
    with pytest.raises(Forbidden):
        await bench.accept(source("a", "Overwritten.", access=["group:b"]), b)
    with pytest.raises(Forbidden):
        await bench.accept(source("new", "Written for others.", access=["group:a"]), b)
    (own,) = await bench.ingest(source("own", "Mine.", access=["group:b"]), scope=b)
    with pytest.raises(Forbidden):
        await bench.accept(source("own", "Mine.", access=["group:a"]), b)
    assert (await bench.documents.get(OPERATOR, own.id)).access == ("group:b",)
    assert await bench.documents.text(OPERATOR, mine.id) == "Secret."


async def test_a_scope_of_one_collection_reaches_no_other(bench: Bench) -> None:
    (pt,) = await bench.ingest(
        source("a", "Os ingressos mudaram.", collection="one", language="pt")
    )
    (en,) = await bench.ingest(source("b", "The tickets changed.", collection="two"))
    two = replace(OPERATOR, collections=frozenset({"two"}))
    assert [d.id for d in await bench.documents.all(two)] == [en.id]
    async with bench.app.answer_parts.retrieve.index.reading(two) as reader:
        assert await reader.languages() == {"en": 1}
    assert (await bench.documents.counts(two))["documents"] == 1
    for read in (bench.documents.get, bench.documents.text, bench.documents.chunks,
                 bench.documents.history, bench.documents.delete):  # fmt: skip
        with pytest.raises(DocumentNotFound):
            await read(two, pt.id)
    with pytest.raises(Forbidden):
        await bench.accept(source("a", "Overwritten.", collection="one"), two)
    assert len(await bench.documents.all(OPERATOR)) == 2


async def test_a_document_of_many_chunks(bench: Bench) -> None:
    words = [f"w{number}x" for number in range(1500)]
    (result,) = await bench.ingest(source("big", paragraphs(words)))
    assert (result.status, result.chunks, result.embedded) == ("ready", 1500, 1500)
    (again,) = await bench.ingest(source("big", paragraphs([*words[:-1], "quokka"])))
    assert (again.chunks, again.embedded) == (1500, 1)
    assert await bench.found("w1499x", k=1) != await bench.found("quokka", k=1)


async def test_a_text_of_marks_only_is_kept(bench: Bench) -> None:
    (result,) = await bench.ingest(source("a", "!!! ??? ..."))
    assert (result.status, result.chunks) == ("ready", 1)


@pytest.mark.parametrize("question", ["a\x00b", "lone \ud800 half", "' OR 1=1 --", "", "%s %(x)s"])
async def test_no_question_breaks_the_store(bench: Bench, question: str) -> None:
    await bench.ingest(source("a", paragraphs(["quokka"])))
    await bench.app.search(question, scope=OPERATOR)
    await bench.app.ask(question, scope=OPERATOR)


async def test_only_what_is_in_force_today_is_found(bench: Bench) -> None:
    yesterday, tomorrow = (TODAY + timedelta(days=n) for n in (-1, 1))
    cases = {
        "past": {"effective_until": yesterday.isoformat()},
        "future": {"effective_from": tomorrow.isoformat()},
        "last day": {"effective_until": TODAY.isoformat()},
        "first day": {"effective_from": TODAY.isoformat()},
        "always": {},
    }
    sources = [
        replace(source(name, "The gate opens at nine."), metadata=metadata)
        for name, metadata in cases.items()
    ]
    results = await bench.ingest(*sources)
    assert {r.status for r in results} == {"ready"}
    found = await bench.app.search("gate opens", scope=OPERATOR, k=10)
    assert {p.source.uri for p in found.retrieval.passages} == {"last day", "first day", "always"}
    (result,) = await bench.ingest(replace(sources[0], metadata={}))
    assert result.status == "unchanged"
    found = await bench.app.search("gate opens", scope=OPERATOR, k=10)
    assert "past" in {p.source.uri for p in found.retrieval.passages}


async def test_a_date_that_is_none_is_refused(bench: Bench) -> None:
    (result,) = await bench.ingest(
        replace(source("a", "text"), metadata={"effective_until": "soon"})
    )
    assert (result.status, result.id) == ("rejected", None)
    assert "effective_until" in result.reason
