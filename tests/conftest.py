"""What do tests share? One real database server, and a fresh database for each test."""

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from vademecum.postgres import embedded
from vademecum.postgres.migrate import migrate
from vademecum.postgres.pool import Pool, open_pool

TEMPLATE = "vademecum_template"
HOME_OF_TESTS = "VADE_TEST_HOME"
_OF_TESTS = {
    HOME_OF_TESTS,
    "VADE_SHARED_DATA",
    "VADE_REQUIRE_SHARED_DATA",
    "VADE_REQUIRE_PROGRAMS",
}


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The evaluation sets, which are never part of the repository."""
    named = os.environ.get("VADE_SHARED_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("VADE_REQUIRE_SHARED_DATA"):
            pytest.fail(f"the evaluation sets are missing: {folder}")
        pytest.skip("the evaluation sets are not on this machine")
    return folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that the database's account can enter, unlike pytest's own under root."""
    folder = Path(tempfile.mkdtemp(prefix="vade-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    embedded.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder of the run's server once; the workers of a parallel run inherit it."""
    if not hasattr(config, "workerinput"):
        home = Path(tempfile.mkdtemp(prefix="vade-tests-", dir="/tmp"))
        home.chmod(0o755)
        os.environ[HOME_OF_TESTS] = str(home)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        home = Path(os.environ[HOME_OF_TESTS])
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[embedded.Server]:
    """The one server of this test run, shared by its workers, with a migrated template."""
    home = Path(os.environ[HOME_OF_TESTS])
    running = embedded.start(home)
    with (home / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make_template(running.url)
    yield running
    running.close()


def _make_template(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        known = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s AND datistemplate", (TEMPLATE,)
        ).fetchone()
        if known:
            return
        # Tests kill servers of their own; nothing of this one outlives the machine.
        for name in ("fsync", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {name} = off")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
        migrate(_to_database(url, TEMPLATE))
        connection.execute(f"ALTER DATABASE {TEMPLATE} IS_TEMPLATE true")


def _to_database(url: str, name: str) -> str:
    return psycopg.conninfo.make_conninfo(url, dbname=name)


@pytest.fixture
def database_url(server: embedded.Server) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    name = f"test_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield _to_database(server.url, name)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, size=4) as opened:
        yield opened


@pytest.fixture
def superuser_sql(database_url: str) -> Callable[..., list[tuple[Any, ...]]]:
    """Run a statement past both walls, as nobody in the product can."""

    def run(statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(database_url, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture(autouse=True)
def _no_setting_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests start from defaults, whatever the shell has set."""
    for name in list(os.environ):
        if name.startswith("VADE_") and name not in _OF_TESTS:
            monkeypatch.delenv(name)
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
