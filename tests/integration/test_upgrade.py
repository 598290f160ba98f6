"""Does everything still answer after an earlier release's database was brought up to date?

`old_0008.sql` holds the rows of a database of two tenants as the schema 0008 kept them; `old_data.py`
made it.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from old_data import CAMERAS, EMPTY, GONE, LIFT, PRIVATE, READER, rows_of
from psycopg.conninfo import make_conninfo
from support import OPERATOR, make_bench, source

from vademecum.adapters.blobs.folder import FolderBlobs
from vademecum.model.memory import STATES
from vademecum.model.principal import Scope
from vademecum.postgres import embedded
from vademecum.postgres import migrate as migrate_module
from vademecum.postgres.isolation import check_isolation
from vademecum.postgres.migrate import migrate, migrations
from vademecum.postgres.pool import open_pool
from vademecum.purge.person import replay
from vademecum.worker.loop import once

LAST = "0008_learning"
DUMP = Path(__file__).parent / "old_0008.sql"


@pytest.fixture
def old_url(server: embedded.Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A superuser's address of a database as the earlier release left it."""
    name = f"old_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    url = make_conninfo(server.url, dbname=name)
    steps = migrations()
    until = [step.name for step in steps].index(LAST) + 1
    with monkeypatch.context() as patch:
        patch.setattr(migrate_module, "migrations", lambda: steps[:until])
        migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(DUMP.read_text("utf-8"))  # type: ignore[call-overload]  # our own file
    yield url
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_old_database_has_a_row_of_everything(old_url: str) -> None:
    rows = rows_of(old_url)
    empty = {name for name, count in rows.items() if not count}
    assert {name for name in empty - EMPTY if not name.startswith("procrastinate_")} == set()
    assert len(rows) > 20


async def test_everything_answers_after_the_upgrade(old_url: str, tmp_path: Path) -> None:
    before = rows_of(old_url)
    steps = [step.name for step in migrations()]
    assert migrate(old_url) == steps[steps.index(LAST) + 1 :]
    after = rows_of(old_url)
    lost = {name for name, count in before.items() if after.get(name, 0) < count}
    assert lost == set(), "a step may add rows, and moves none away"
    async with open_pool(old_url, size=4) as pool:
        await check_isolation(pool)
        blobs = FolderBlobs(tmp_path / "blobs")
        for text in (CAMERAS, LIFT, PRIVATE):
            await blobs.put(READER.tenant, text.encode())
        bench = await make_bench(pool, old_url, tmp_path / "blobs")
        app = bench.app
        # What was there is found, by whom it was for, and read.
        assert CAMERAS in await bench.found("cameras lens", scope=READER)
        assert PRIVATE in await bench.found("locker number", scope=READER)
        stranger = Scope.for_principal("default", "user:other", frozenset())
        assert PRIVATE not in await bench.found("locker number", scope=stranger)
        answer = await app.ask("Which lift goes to sector C?", scope=READER)
        assert "Lift 4" in answer.text
        documents = await app.catalogue.documents.all(READER)
        assert {d.uri for d in documents} == {"rules.md", "lift.md", "elevador.md", "private.md"}
        [rules] = [document for document in documents if document.uri == "rules.md"]
        assert len(await app.catalogue.documents.history(READER, rules.id)) == 2
        assert await blobs.get(READER.tenant, rules.content_hash) == CAMERAS.encode()
        # What was said and remembered is still the person's.
        memories = await app.memories(scope=READER, states=STATES)
        assert "I like jazz and fado." in {memory.text for memory in memories}
        [jazz] = [memory for memory in memories if "jazz" in memory.text]
        story = await app.memory(jazz.id, scope=READER)
        assert [version.text for version in story.versions] == ["I like jazz."]
        conversations = await app.talking.list(scope=READER)
        assert max(conversation.turns for conversation in conversations) >= 4
        assert (await app.recall("music", scope=READER)).profile
        # It goes on: bringing in, working behind, letting people in, forgetting.
        await bench.ingest(source("new.md", "Gate 9 opens at noon."))
        assert "Gate 9 opens at noon." in await bench.found("gate noon", scope=READER)
        await once(app)
        issued = await app.catalogue.keyring.issue(
            scope=OPERATOR, principal="user:reader", permissions=frozenset({"read"})
        )
        assert await app.catalogue.keyring.enter(issued.text) is not None
        ledger = await app.catalogue.people.erasures(GONE.tenant, open_only=False)
        assert len(ledger) == 1
        assert await replay(app.catalogue.person_parts, GONE.tenant, ledger) == 1
        assert (await app.forget(scope=READER)).complete
        held = await app.catalogue.would_forget(scope=READER)
        assert not any(held.values()), held
