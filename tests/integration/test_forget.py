"""Is a person forgotten everywhere, is it proved, and is nobody else touched?"""

import base64
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from support import Bench, make_bench, source

from vademecum.errors import DataFolderUnusable
from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, Principal, Tenant, TurnId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, subject_of
from vademecum.postgres import embedded
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import Pool, open_pool
from vademecum.postgres.scrub import scrub
from vademecum.purge.person import PersonParts, purge_person, replay, resume
from vademecum.purge.pipeline import PurgeParts
from vademecum.worker.loop import once, works_of

TENANT = Tenant("default")
ANY = frozenset[str]()
READER = Scope.for_principal(TENANT, "user:reader", ANY)
OTHER = Scope.for_principal(TENANT, "user:other", ANY)
CANARY = "zyxquokka"
PUBLIC = "The doors of the hall open two hours before the concert."


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def live(bench: Bench, scope: Scope, canary: str) -> None:
    """Ask, search, and bring in a private document, each with a word that nobody else uses."""
    await bench.app.ask(f"When do the doors open for {canary}?", scope=scope)
    await bench.app.search(f"doors {canary}", scope=scope)
    private = replace(
        source(f"{canary}.txt", f"The locker of {canary} is number 217 on the second floor."),
        access=(scope.principal,),
    )
    await bench.ingest(private, scope=scope)


def stores(receipt: Receipt) -> dict[str, tuple[int, int, int]]:
    return {s.store: (s.found, s.deleted, s.left) for s in receipt.stores}


async def test_everything_of_a_person_goes_at_once(bench: Bench) -> None:
    await bench.ingest(source("public.txt", PUBLIC))
    await live(bench, READER, CANARY)
    await live(bench, OTHER, "otherword")
    assert {"vademecum.turn", "vademecum.trace", "vademecum.chunk", "vademecum.revision"} <= set(
        bench.tables_with(CANARY)
    )
    receipt = await bench.app.forget(scope=READER)
    assert receipt.complete
    found = stores(receipt)
    assert found["documents"] == (1, 1, 0)
    assert found["blobs"] == (1, 1, 0)
    assert found["postgres.conversation"] == (1, 1, 0)
    assert found["postgres.turn"] == (2, 2, 0)
    assert found["postgres.trace"] == (2, 2, 0)
    assert bench.tables_with(CANARY) == []
    # Who retrieved which ids is kept, and says no more than that.
    assert bench.tables_with("user:reader") == ["vademecum.audit_event"]
    assert CANARY not in " ".join(await bench.found(CANARY))


async def converse(bench: Bench, scope: Scope, canary: str) -> None:
    """A long conversation, folded into a summary and indexed, and memories with a history."""
    conversation = ConversationId(new_uuid())
    turns = [
        Turn(
            id=TurnId(new_uuid()),
            position=0,
            role="assistant" if number % 2 else "user",
            text=f"Turn {number}: the locker {canary} on floor {number} costs {number} coins.",
            state="complete",
            created_at=datetime.now(UTC),
        )
        for number in range(24)
    ]
    await bench.app.catalogue.conversations.keep(scope, conversation, turns)
    await bench.app.catalogue.jobs.drain(works_of(bench.app))
    kept = await bench.app.remember(f"I like the {canary} tea", scope=scope)
    await bench.app.edit_memory(kept.memory.id, scope=scope, text=f"I like the {canary} coffee")
    gone = await bench.app.remember(f"My bag is the {canary} one", scope=scope)
    await bench.app.forget_memory(gone.memory.id, scope=scope)


async def test_conversations_summaries_memories_and_their_vectors_go(bench: Bench) -> None:
    """PR-01, PR-03: not only the profile, and not only what is shown."""
    await converse(bench, READER, CANARY)
    await converse(bench, OTHER, "otherword")
    assert {"vademecum.conversation", "vademecum.memory", "vademecum.memory_version"} <= set(
        bench.tables_with(CANARY)
    )
    held = ("turn", "turn_unit", "conversation", "memory", "memory_version", "memory_index",
            "memory_tombstone")  # fmt: skip
    counts = {table: bench.count(table) for table in held}
    assert all(count > 0 and count % 2 == 0 for count in counts.values()), counts
    receipt = await bench.app.forget(scope=READER)
    assert receipt.complete
    found = stores(receipt)
    for table in held:
        half = counts[table] // 2
        assert found[f"postgres.{table}"] == (half, half, 0)
        assert bench.count(table) == half
    assert bench.tables_with(CANARY) == []
    assert bench.tables_with("user:reader") == []
    assert await bench.app.memories(scope=READER) == []
    assert (await bench.app.recall_turns("locker", scope=READER)).turns == ()
    assert len(await bench.app.memories(scope=OTHER)) == 1


async def test_nobody_else_is_touched(bench: Bench) -> None:
    await bench.ingest(source("public.txt", PUBLIC))
    await live(bench, OTHER, "otherword")
    before = {t: bench.count(t) for t in ("turn", "conversation", "trace", "chunk", "document")}
    await live(bench, READER, CANARY)
    await bench.app.forget(scope=READER)
    assert {t: bench.count(t) for t in before} == before
    assert "otherword" in " ".join(await bench.found("locker otherword", scope=OTHER))


async def test_another_tenant_s_person_of_the_same_name_stays(bench: Bench) -> None:
    namesake = Scope.for_principal("elsewhere", "user:reader", ANY)
    await bench.app.ask("When do the doors open?", scope=namesake)
    await bench.app.forget(scope=READER)
    assert bench.count("turn") == 2


async def test_what_others_may_see_stays_without_the_name(bench: Bench) -> None:
    shared = replace(source("shared.txt", PUBLIC), access=("user:reader", "group:staff"))
    await bench.ingest(shared, scope=Scope.for_principal(TENANT, "user:reader", {"group:staff"}))
    receipt = await bench.app.forget(scope=READER)
    assert "documents" not in stores(receipt)
    assert stores(receipt)["postgres.access_set"] == (1, 1, 0)
    assert stores(receipt)["postgres.revision"] == (1, 1, 0)
    assert bench.tables_with("user:reader") == []
    staff = Scope.for_principal(TENANT, "user:other", frozenset({"group:staff"}))
    assert await bench.found("doors", scope=staff) == [PUBLIC]
    assert await bench.found("doors", scope=READER) == []


async def test_a_dry_run_counts_and_changes_nothing(bench: Bench) -> None:
    await bench.ingest(source("public.txt", PUBLIC))
    await live(bench, READER, CANARY)
    held = await bench.app.catalogue.would_forget(scope=READER)
    assert (held["documents"], held["postgres.turn"], held["postgres.trace"]) == (1, 2, 2)
    assert bench.count("erasure") == 0
    assert bench.count("turn") == 2


async def test_one_principal_may_not_forget_another(bench: Bench) -> None:
    await live(bench, READER, CANARY)
    with psycopg.connect(bench.superuser) as connection:
        connection.execute("SET ROLE vademecum_app")
        connection.execute("SELECT set_config('vademecum.tenant', 'default', true)")
        connection.execute("SELECT set_config('vademecum.principal', 'user:other', true)")
        connection.execute("SELECT vademecum.erase_person('user:reader', NULL)")
        held = connection.execute(
            "SELECT * FROM vademecum.person_rows('user:reader', NULL)"
        ).fetchall()
    assert held == []
    assert bench.count("turn") == 2


class StuckBlobs:
    """A BlobStore whose folder cannot be written for a while."""

    def __init__(self, blobs: object) -> None:
        self.blobs = blobs

    async def delete(self, tenant: Tenant, key: str) -> bool:
        raise DataFolderUnusable("the folder is read-only", hint="make it writable")


async def test_what_could_not_go_is_said_and_tried_again(bench: Bench) -> None:
    """PR-05: half-done is never told as done, and what is left is served no more."""
    await live(bench, READER, CANARY)
    catalogue = bench.app.catalogue
    stuck = PersonParts(
        people=catalogue.people,
        documents=PurgeParts(store=catalogue.documents, blobs=StuckBlobs(catalogue.blobs)),  # type: ignore[arg-type]
    )
    receipt = await purge_person(stuck, READER)
    assert not receipt.complete
    assert stores(receipt)["blobs"] == (1, 0, 1)
    assert bench.tables_with(CANARY) == []
    assert len(bench.stored_files()) == 1
    assert await resume(stuck, TENANT) == 0
    await once(bench.app)
    assert bench.stored_files() == []
    [entry] = await catalogue.people.erasures(TENANT, open_only=False)
    assert entry.completed_at is not None
    assert entry.blobs_left == ()


async def test_the_ledger_names_nobody(bench: Bench) -> None:
    await live(bench, READER, CANARY)
    await bench.app.forget(scope=READER)
    [entry] = await bench.app.catalogue.people.erasures(TENANT, open_only=False)
    assert entry.subject == hashlib.sha256(b"default\0user:reader").digest()
    assert entry.subject == subject_of(TENANT, Principal("user:reader"))
    assert "vademecum.erasure" not in bench.tables_with("reader")


async def test_the_ledger_forgets_again_after_a_restore(bench: Bench) -> None:
    """P4: a backup from before the erasure is restored; what came back goes, what is new stays."""
    await live(bench, READER, CANARY)
    people = bench.app.catalogue.people
    await bench.app.forget(scope=READER)
    ledger = await people.erasures(TENANT, open_only=False)
    # The backup knows nothing of the erasure, and holds the person as they were before it.
    bench.sql("DELETE FROM vademecum.erasure")
    await live(bench, READER, CANARY)
    before = ledger[0].requested_at - timedelta(days=1)
    for table in ("conversation", "turn", "trace", "document"):
        bench.sql(f"UPDATE vademecum.{table} SET created_at = %s", before)
    bench.sql("UPDATE vademecum.revision SET accepted_at = %s", before)
    came_back = await bench.app.search("umbrella", scope=READER, collections=frozenset({"none"}))
    assert await replay(bench.app.catalogue.person_parts, TENANT, ledger) == 1
    assert bench.tables_with(CANARY) == []
    kept = bench.sql("SELECT id FROM vademecum.trace")
    assert kept == [(came_back.trace_id,)]
    [entry] = await people.erasures(TENANT, open_only=False)
    assert entry.completed_at is not None
    assert await replay(bench.app.catalogue.person_parts, TENANT, ledger) == 1


async def test_whoever_came_back_keeps_what_is_new_and_the_replay_is_complete(
    bench: Bench,
) -> None:
    """Index rows tell no time: those of what was remembered since are not counted as left."""
    await bench.app.remember(f"I like the {CANARY} tea", scope=READER)
    people = bench.app.catalogue.people
    await bench.app.forget(scope=READER)
    await bench.app.remember("I like the new tea", scope=READER)
    ledger = await people.erasures(TENANT, open_only=False)
    assert await replay(bench.app.catalogue.person_parts, TENANT, ledger) == 1
    assert [m.text for m in await bench.app.memories(scope=READER)] == ["I like the new tea"]


def forms(canary: str) -> dict[str, bytes]:
    """The ways in which a word may lie in a file."""
    return {
        "utf-8": canary.encode(),
        "utf-16": canary.encode("utf-16-le"),
        "base64": base64.b64encode(canary.encode())[:-4],
        "percent": quote(canary).encode(),
        "escaped": "".join(f"\\u{ord(letter):04x}" for letter in canary).encode(),
        "upper": canary.upper().encode(),
    }


def files_with(folder: Path, needles: Sequence[bytes]) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            held = path.read_bytes()
            found += [str(path.relative_to(folder)) for needle in needles if needle in held]
    return found


@pytest.fixture
async def own_server(open_folder: Path, tmp_path: Path) -> AsyncIterator[tuple[Bench, str]]:
    """A database server of the test's own: what lies in its files is nobody else's."""
    server = embedded.start(open_folder)
    migrate(server.url)
    with psycopg.connect(server.url, autocommit=True) as connection:
        # Compressed, a long text would hide from the scan.
        for table, column in (("turn", "text"), ("chunk", "text"), ("revision", "text")):
            connection.execute(f"ALTER TABLE vademecum.{table} ALTER {column} SET STORAGE EXTERNAL")
    async with open_pool(server.url, size=4) as pool:
        yield await make_bench(pool, server.url, tmp_path), server.url
    server.close()


async def test_no_byte_is_left_in_any_file(
    own_server: tuple[Bench, str], open_folder: Path
) -> None:
    """P3, with its positive control: before, the word is in tables and in the log of changes."""
    bench, url = own_server
    folder = open_folder / "postgres"
    await bench.ingest(source("public.txt", PUBLIC))
    await live(bench, READER, CANARY)
    long = f"{CANARY} " * 700 + "and where do the doors open?"
    await bench.app.ask(long, scope=READER)
    vectors = [
        bytes(row[0])
        for row in bench.sql(
            "SELECT substr(halfvec_send(v.embedding), 5, 32) FROM vademecum.chunk_vector v"
            " JOIN vademecum.chunk c ON c.id = v.chunk WHERE c.text LIKE %s",
            f"%{CANARY}%",
        )
    ]
    assert vectors
    bench.sql("ANALYZE")
    bench.sql("CHECKPOINT")
    needles = list(forms(CANARY).values())
    places = {Path(name).parts[1] for name in files_with(folder, needles)}
    assert {"base", "pg_wal"} <= places
    assert (await bench.app.forget(scope=READER)).complete
    assert files_with(folder, needles)  # rows are gone, bytes are not
    receipts = await scrub(url)
    assert [(r.store, r.left) for r in receipts] == [("files.tables", 0), ("files.log", 0)]
    assert files_with(folder, needles) == []
    assert files_with(folder, vectors) == []
    assert await bench.found("doors") == [PUBLIC]


async def test_a_scrub_says_what_it_may_not_reach(database_url: str, pool: Pool) -> None:
    """A login that owns the schema, but is no superuser, cannot let go of the log."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = f"owner_{datetime.now(UTC):%H%M%S%f}"
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"GRANT vademecum_owner TO {name}")
        connection.execute(f"GRANT USAGE ON SCHEMA vademecum TO {name}")
    try:
        receipts = await scrub(psycopg.conninfo.make_conninfo(database_url, user=name))
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {name}")
            connection.execute(f"DROP ROLE {name}")
    tables, log = receipts
    assert tables.left == 1
    assert "superuser" in tables.why
    assert (log.left, log.deleted) == (1, 0)
    assert "superuser" in log.why


async def test_every_table_with_a_person_is_known(bench: Bench) -> None:
    """Whoever adds a table that names a person must give it the column `principal`."""
    tables = {row[0] for row in bench.sql("SELECT name FROM vademecum.person_tables()")}
    assert {"conversation", "turn", "trace"} <= tables
    assert "audit_event" not in tables
    linked = {
        row[0]
        for row in bench.sql(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'vademecum'"
            " AND column_name IN ('turn', 'conversation', 'memory', 'source_turn')"
            " AND table_name IN (SELECT relname FROM pg_class WHERE relkind = 'r')"
        )
    }
    assert linked <= tables


async def test_old_traces_and_their_audit_go_and_are_counted(bench: Bench) -> None:
    await bench.ingest(source("public.txt", PUBLIC))
    for _ in range(3):
        await bench.app.search("doors", scope=READER)
    old = datetime.now(UTC) - timedelta(days=10)
    bench.sql("UPDATE vademecum.trace SET created_at = %s", old)
    bench.sql("UPDATE vademecum.audit_event SET occurred_at = %s", old)
    await bench.app.search("doors", scope=READER)
    upkeep = bench.app.retain_parts.upkeep
    assert await upkeep.forget_traces(TENANT, old + timedelta(days=1)) == 3
    assert (bench.count("trace"), bench.count("audit_event")) == (1, 1)
    assert await upkeep.forget_traces(TENANT, old + timedelta(days=1)) == 0
