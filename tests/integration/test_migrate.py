"""Does the schema come to be, once, whole, with whatever login there is?"""

import contextlib
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from support import OPERATOR, make_bench, paragraphs, source

from vademecum.catalogue import open_catalogue
from vademecum.errors import (
    DatabaseAway,
    DiskFull,
    ExtensionUnusable,
    MigrationFailed,
    ServerVersionWrong,
)
from vademecum.postgres import embedded
from vademecum.postgres import migrate as migrate_module
from vademecum.postgres.isolation import check_isolation
from vademecum.postgres.migrate import Migration, check_vector_version, migrate, migrations
from vademecum.postgres.pool import open_pool
from vademecum.settings import load


def _run(url: str, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def empty_url(server: embedded.Server) -> Iterator[str]:
    """A superuser's address of a database that holds nothing."""
    name = f"empty_{uuid.uuid4().hex[:16]}"
    _run(server.url, f"CREATE DATABASE {name} TEMPLATE template0")
    yield make_conninfo(server.url, dbname=name)
    _run(server.url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def logins(server: embedded.Server, empty_url: str) -> Iterator[list[str]]:
    """Two fresh logins that may do nothing yet; the roles of the app are there already."""
    names = [f"login_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    _run(server.url, *(f"CREATE ROLE {name} LOGIN" for name in names))
    yield names
    _run(empty_url, f"DROP OWNED BY {', '.join(names)} CASCADE")
    _run(server.url, *(f"DROP ROLE {name}" for name in names))


def test_a_full_disk_is_said_in_one_line(empty_url: str) -> None:
    _run(
        empty_url,
        "CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE EXCEPTION 'No space left' USING ERRCODE = 'disk_full'; END$$",
        "CREATE EVENT TRIGGER full_disk ON ddl_command_end WHEN TAG IN ('CREATE TABLE')"
        " EXECUTE FUNCTION full_disk()",
    )
    with pytest.raises(DiskFull, match="no space left"):
        migrate(empty_url)
    _run(empty_url, "DROP EVENT TRIGGER full_disk")
    assert migrate(empty_url) == [step.name for step in migrations()], "and nothing is half done"


def test_from_nothing_and_then_nothing(empty_url: str) -> None:
    names = [step.name for step in migrations()]
    assert migrate(empty_url) == names
    assert names[1] == "0001_documents"
    assert migrate(empty_url) == []
    rows = _run(empty_url, "SELECT name, checksum FROM vademecum.migration ORDER BY name")
    assert rows == [(step.name, step.checksum) for step in migrations()]


def test_the_schema_has_no_owner_who_passes_row_level_security(empty_url: str) -> None:
    migrate(empty_url)
    owners = _run(
        empty_url,
        "SELECT DISTINCT r.rolname, r.rolsuper, r.rolbypassrls FROM pg_class c"
        " JOIN pg_roles r ON r.oid = c.relowner WHERE c.relnamespace = 'vademecum'::regnamespace",
    )
    assert owners == [("vademecum_owner", False, False)]


def test_two_processes_at_once(empty_url: str) -> None:
    code = "import sys; from vademecum.postgres.migrate import migrate; print(migrate(sys.argv[1]))"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, empty_url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    told = sorted(process.communicate(timeout=60) for process in running)
    assert [process.returncode for process in running] == [0, 0, 0], told
    assert [out.strip() for out, _ in told].count("[]") == 2


def test_a_changed_step_is_refused(empty_url: str) -> None:
    migrate(empty_url)
    _run(empty_url, "UPDATE vademecum.migration SET checksum = 'x' WHERE name = '0001_documents'")
    with pytest.raises(MigrationFailed, match="0001_documents is not the one that was applied"):
        migrate(empty_url)


def test_a_database_of_a_newer_release_is_refused(empty_url: str) -> None:
    migrate(empty_url)
    _run(empty_url, "INSERT INTO vademecum.migration VALUES ('9999_later', 'x')")
    with pytest.raises(MigrationFailed, match=r"newer release .it has 9999_later"):
        migrate(empty_url)


def test_another_release_of_the_queue_is_no_fault(empty_url: str) -> None:
    migrate(empty_url)
    _run(
        empty_url,
        "UPDATE vademecum.migration SET name = '0000_procrastinate_0.1', checksum = 'x'"
        " WHERE name LIKE '0000%'",
    )
    assert migrate(empty_url) == []


def test_a_step_that_fails_leaves_nothing_of_itself(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = migrations()
    broken = Migration(
        name="0099_broken", text="CREATE TABLE half (id int); SELECT 1 / 0; CREATE TABLE rest ();"
    )
    monkeypatch.setattr(migrate_module, "migrations", lambda: [*steps, broken])
    with pytest.raises(MigrationFailed, match=r"0099_broken failed .division by zero"):
        migrate(empty_url)
    assert _run(empty_url, "SELECT to_regclass('vademecum.half')") == [(None,)]
    assert _run(empty_url, "SELECT count(*) FROM vademecum.migration") == [(len(steps),)]
    mended = replace(broken, text="CREATE TABLE half (id int)")
    monkeypatch.setattr(migrate_module, "migrations", lambda: [*steps, mended])
    assert migrate(empty_url) == ["0099_broken"]


# A document as the first schema kept it, in two tenants.
FIRST = """
INSERT INTO embedding_space (provider, model, revision, dimension, metric, query_prefix,
                             passage_prefix) VALUES ('t', 'm', '1', 2, 'cosine', '', '');
INSERT INTO index_generation (space, analyser, average_length, state)
    SELECT id, '2', 120, 'current' FROM embedding_space;
SET session_replication_role = replica;
INSERT INTO access_set (tenant, labels, labels_key) VALUES ('red', '{tenant}', 'k'),
    ('blue', '{tenant}', 'k');
INSERT INTO document (tenant, id, collection, uri, title, access_set, metadata, language,
                      current_revision, effective_until)
    SELECT s.tenant, md5(s.tenant || 'd')::uuid, 'c', 'u', 't', s.id, '{"season": 2026}', 'pt',
           md5(s.tenant || 'r')::uuid, CASE s.tenant WHEN 'blue' THEN date '2001-01-01' END
    FROM access_set s;
INSERT INTO revision (tenant, id, document, number, state, blob, content_hash, fingerprint,
                      ingested_by, published_at)
    SELECT d.tenant, d.current_revision, d.id, 1, 'ready', 'b', 'h', 'f', 'user:local', now()
    FROM document d;
INSERT INTO chunk (tenant, id, document, revision, ordinal, start_offset, end_offset, tokens,
                   heading_path, language, text, context, text_hash)
    SELECT r.tenant, md5(r.tenant || 'c')::uuid, r.document, r.id, 0, 0, 1, 1, '{}', 'pt', 'x', '',
           'x'
    FROM revision r;
INSERT INTO chunk_vector (tenant, chunk, generation, collection, access_set, language, embedding)
    SELECT c.tenant, c.id, g.id, 'c', d.access_set, 'pt', '[1,0]'
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document
    CROSS JOIN index_generation g;
INSERT INTO chunk_terms (tenant, chunk, generation, collection, access_set, terms, weights)
    SELECT v.tenant, v.chunk, v.generation, 'c', v.access_set, '{7}', '{7:1}/9'
    FROM chunk_vector v;
"""
CARRIED_OVER = """
SELECT d.tenant, d.given_metadata, v.document = d.id, v.valid_until = r.valid_until,
       k.document = d.id, k.language, k.counted,
       (SELECT sum(t.chunks) FROM term_counts t WHERE t.tenant = d.tenant AND t.term = 7)
FROM document d
JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
JOIN chunk_vector v ON v.tenant = d.tenant
JOIN chunk_terms k ON k.tenant = d.tenant
ORDER BY d.tenant
"""


def test_c6_what_is_there_is_carried_over_and_the_walls_stand_again(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row-level security hides every row from the owner, too, unless the steps look past it."""
    steps = migrations()
    monkeypatch.setattr(migrate_module, "migrations", lambda: steps[:2])
    migrate(empty_url)
    path = "SET search_path = vademecum, public"
    _run(empty_url, path, FIRST)
    monkeypatch.undo()
    assert migrate(empty_url) == [step.name for step in steps[2:]]
    assert _run(empty_url, path, CARRIED_OVER) == [
        ("blue", {"season": 2026}, True, True, True, "pt", False, None),
        ("red", {"season": 2026}, True, True, True, "pt", True, 1),
    ]
    unforced = "SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity"
    assert _run(empty_url, unforced) == []
    forced = "SELECT count(*) FROM pg_class WHERE relforcerowsecurity"
    assert _run(empty_url, forced) > [(8,)]


# Two questions and their answers as they were kept before conversations went on; the second
# answer quotes a document.
SAID = """
SET session_replication_role = replica;
INSERT INTO conversation (tenant, id, principal, created_at)
    VALUES ('red', md5('c')::uuid, 'user:a', '2026-01-01 10:00+00');
INSERT INTO trace (tenant, id, principal, kind, documents, record) VALUES
    ('red', md5('x')::uuid, 'user:a', 'ask', ARRAY[md5('d')::uuid, md5('e')::uuid],
     jsonb_build_object('citations', jsonb_build_array(
         jsonb_build_object('document_id', md5('d')::uuid),
         jsonb_build_object('document_id', md5('d')::uuid)))),
    ('red', md5('y')::uuid, 'user:a', 'ask', ARRAY[md5('e')::uuid], '{"citations": []}');
INSERT INTO turn (tenant, id, conversation, principal, role, text, trace, created_at) VALUES
    ('red', md5('1')::uuid, md5('c')::uuid, 'user:a', 'user', 'First?', md5('y')::uuid,
     '2026-01-01 10:00+00'),
    ('red', md5('2')::uuid, md5('c')::uuid, 'user:a', 'assistant', 'No.', md5('y')::uuid,
     '2026-01-01 10:00+00'),
    ('red', md5('3')::uuid, md5('c')::uuid, 'user:a', 'user', 'Second?', md5('x')::uuid,
     '2026-01-02 10:00+00'),
    ('red', md5('4')::uuid, md5('c')::uuid, 'user:a', 'assistant', 'Yes.', md5('x')::uuid,
     '2026-01-02 10:00+00');
"""
SAID_CARRIED_OVER = """
SELECT t.text, t.state, q.text, t.documents = ARRAY[md5('d')::uuid], c.title,
       c.last_at = t.created_at, c.saved_through - t.position, c.tended_through
FROM conversation c
JOIN turn t ON t.tenant = c.tenant AND t.conversation = c.id
LEFT JOIN turn q ON q.tenant = t.tenant AND q.id = t.reply_to
ORDER BY t.position
"""


def test_what_was_said_is_carried_over(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = migrations()
    monkeypatch.setattr(migrate_module, "migrations", lambda: steps[:4])
    assert migrate(empty_url)[-1] == "0003_search"
    path = "SET search_path = vademecum, public"
    _run(empty_url, path, SAID)
    monkeypatch.undo()
    migrate(empty_url)
    assert _run(empty_url, path, SAID_CARRIED_OVER) == [
        ("First?", "complete", None, False, "First?", False, 3, 0),
        ("No.", "complete", "First?", False, "First?", False, 2, 0),
        ("Second?", "complete", None, False, "First?", True, 1, 0),
        ("Yes.", "complete", "Second?", True, "First?", True, 0, 0),
    ]


def test_whoever_waits_too_long_is_told_so(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate_module, "_LOCK_SECONDS", 1)
    with psycopg.connect(empty_url, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", (migrate_module._LOCK_KEY,))
        with pytest.raises(MigrationFailed, match="another process held the schema") as caught:
            migrate(empty_url)
    assert "vade migrate" in caught.value.hint
    assert migrate(empty_url)


@pytest.mark.parametrize(
    "version", ["0.8.4", "0.8.4.1", "0.8.6", "0.9.0", "0.10", "1.0", "0.8.4-dev"]
)
def test_a_sound_pgvector_is_taken(version: str) -> None:
    check_vector_version(version)


@pytest.mark.parametrize(
    "version", ["0.8.3", "0.8.3.9", "0.8", "0.7.4", "0.8.0-rc1", "", "unknown"]
)
def test_an_old_pgvector_is_refused(version: str) -> None:
    with pytest.raises(ExtensionUnusable, match=r"0\.8\.4"):
        check_vector_version(version)


def test_an_old_server_is_refused(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate_module, "OLDEST_SERVER", 99)
    with pytest.raises(ServerVersionWrong, match="the server is PostgreSQL 18"):
        migrate(empty_url)
    assert _run(empty_url, "SELECT to_regnamespace('vademecum')") == [(None,)]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseAway) as caught:
        migrate(f"postgresql://somebody:secret@/nothing?host={tmp_path}")
    assert "secret" not in str(caught.value)


def _least(url: str, login: str) -> list[str]:
    """What a superuser must do for a login that sets up the database; nothing of it is spare."""
    database = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    return [
        "CREATE EXTENSION vector SCHEMA public",
        f'GRANT "vademecum_app" TO "{login}"',
        f'GRANT CREATE ON DATABASE "{database}" TO "{login}"',
    ]


async def test_a_login_without_rights_is_told_what_to_run(
    empty_url: str, logins: list[str], tmp_path: Path
) -> None:
    url = make_conninfo(empty_url, user=logins[0])
    with pytest.raises(MigrationFailed) as caught:
        migrate(url)
    assert "\n" not in str(caught.value)
    assert logins[0] in caught.value.message
    statements = caught.value.hint.split(": ", 1)[1].split("; ")
    assert statements == _least(empty_url, logins[0])
    _run(empty_url, *statements)
    await _works(url, None, tmp_path, empty_url)
    owners = _run(
        empty_url,
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class"
        " WHERE relnamespace = 'vademecum'::regnamespace",
    )
    assert owners == [(logins[0],)]


@pytest.mark.parametrize("left_out", range(3))
def test_each_of_these_rights_is_needed(empty_url: str, logins: list[str], left_out: int) -> None:
    statements = _least(empty_url, logins[0])
    left = statements.pop(left_out)
    _run(empty_url, *statements)
    with pytest.raises(MigrationFailed) as caught:
        migrate(make_conninfo(empty_url, user=logins[0]))
    assert left in caught.value.hint


async def test_a_login_that_may_make_roles_makes_them(open_folder: Path, tmp_path: Path) -> None:
    """On a server that has none of our roles yet, as a hosted one."""
    with contextlib.closing(embedded.start(open_folder)) as fresh:
        _run(
            fresh.url,
            "CREATE ROLE owner LOGIN CREATEROLE",
            "CREATE DATABASE theirs OWNER owner",
            "CREATE ROLE nobody LOGIN",
        )
        superuser = make_conninfo(fresh.url, dbname="theirs")
        with pytest.raises(MigrationFailed) as caught:
            migrate(make_conninfo(superuser, user="nobody"))
        assert 'CREATE ROLE "vademecum_worker" NOLOGIN' in caught.value.hint
        _run(superuser, "CREATE EXTENSION vector SCHEMA public")
        await _works(make_conninfo(superuser, user="owner"), None, tmp_path, superuser)


async def test_a_working_login_apart_from_a_superuser(
    empty_url: str, logins: list[str], tmp_path: Path
) -> None:
    for _ in range(2):
        await _works(make_conninfo(empty_url, user=logins[1]), empty_url, tmp_path, empty_url)


async def test_a_working_login_apart_from_an_owner(
    empty_url: str, logins: list[str], tmp_path: Path
) -> None:
    owner, app = (make_conninfo(empty_url, user=name) for name in logins)
    _run(empty_url, *_least(empty_url, logins[0]))
    with pytest.raises(MigrationFailed, match="may not let") as caught:
        migrate(owner, login=logins[1])
    _run(empty_url, caught.value.hint.split(": ", 1)[1])
    await _works(app, owner, tmp_path, empty_url)
    await _works(app, None, tmp_path, empty_url)  # day by day, the owner's password is not needed
    owned = _run(
        empty_url, f"SELECT count(*) FROM pg_class WHERE relowner = '{logins[1]}'::regrole"
    )
    assert owned == [(0,)]
    for statement in (
        "SELECT * FROM vademecum.chunk_vector",
        "SELECT * FROM vademecum.tenant",
        "ALTER TABLE vademecum.chunk DISABLE ROW LEVEL SECURITY",
        "DROP TABLE vademecum.chunk",
        "CREATE TABLE vademecum.mine (id int)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _run(app, statement)
    assert _run(app, "SELECT count(*) FROM vademecum.chunk") == [(0,)]


def test_a_working_login_that_does_not_exist(empty_url: str) -> None:
    with pytest.raises(MigrationFailed, match="there is no login 'nobody_here'"):
        migrate(empty_url, login="nobody_here")


async def _works(url: str, owner_url: str | None, home: Path, superuser: str) -> None:
    """Migrate, check the walls, ingest, search, delete, rescue: with these logins only."""
    environment = {"DATABASE_URL": url, "VADE_HOME": str(home)}
    if owner_url:
        environment["DATABASE_OWNER_URL"] = owner_url
    loaded = load(config=None, flags={}, environment=environment)
    async with open_catalogue(loaded):
        pass
    async with open_pool(url, size=4) as pool:
        await check_isolation(pool)
        bench = await make_bench(pool, superuser, home / "blobs")
        (result,) = await bench.ingest(source("a", paragraphs(["quokka"])))
        assert result.status == "ready"
        assert len(await bench.found("quokka")) == 1
        await bench.app.ask("quokka", scope=OPERATOR)
        assert await bench.app.catalogue.jobs.rescue() == 0
        accepted = await bench.accept(source("b", paragraphs(["numbat"])))
        bench.sql("DELETE FROM vademecum.procrastinate_jobs")
        # The revision, and each conversation: one more where this runs a second time.
        assert await bench.app.catalogue.jobs.rescue() == 1 + bench.count("conversation")
        (again,) = await bench.ingest(source("b", paragraphs(["numbat"])))
        assert (again.id, again.status) == (accepted.document_id, "ready")
        for document in (result, again):
            assert (await bench.app.catalogue.delete(document.id, scope=OPERATOR)).complete
