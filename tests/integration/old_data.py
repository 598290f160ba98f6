"""What did a database of an earlier release hold? Makes the dump that the upgrade is tested with.

    python tests/integration/old_data.py 0008_learning > tests/integration/old_0008.sql

Run it on a commit whose code still works on that schema: it applies the steps up to the named one,
fills every table through the product itself, and prints the rows as INSERTs (none of its own
tables of a queue, none of the steps).
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from support import Bench, make_bench, source

from vademecum.ingest.reconcile import reconcile
from vademecum.memory.upkeep import index_waiting
from vademecum.model.document import Deletion
from vademecum.model.principal import Scope
from vademecum.postgres import embedded
from vademecum.postgres import migrate as migrate_module
from vademecum.postgres.migrate import migrate, migrations
from vademecum.postgres.pool import open_pool
from vademecum.postgres.server.program import installed_programs
from vademecum.testing.language_models import ScriptedModel
from vademecum.worker.loop import learn_all, works_of

LIFT = "Lift 4 goes to sector C. It stands beside gate 2."
CAMERAS = "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
OLDER = "Cameras with a lens of at most 100 mm are allowed in Hall Norte."
PRIVATE = "The locker of the reader is number 31."
READER = Scope.for_principal("default", "user:reader", frozenset())
GONE = Scope.for_principal("default", "user:gone", frozenset())
# The queue's own, and what is folded away when nothing waits.
EMPTY = {"term_delta"}


async def fill(bench: Bench) -> None:
    """Leave at least one row in every table, in two tenants."""
    app = bench.app
    for tenant in ("default", "other"):
        operator = Scope.for_operator(tenant)
        await app.ingest([source("rules.md", OLDER, collection="venues")], scope=operator)
        await app.ingest(
            [
                source("rules.md", CAMERAS, collection="venues", metadata={"season": 2026}),
                source("lift.md", LIFT),
                source("elevador.md", "O elevador 4 vai ao setor C.", language="pt"),
                source("private.md", PRIVATE, access=["user:reader"]),
                source("old.md", "An old page."),
            ],
            scope=operator,
        )
        await app.ingest([Deletion(uri="old.md", collection="default", version=7)], scope=operator)
    await app.search("lift", scope=READER)
    for scope in (READER, GONE):
        said = await app.ask("Which lift goes to sector C?", scope=scope)
        await app.ask("And where does it stand?", scope=scope, conversation_id=said.conversation_id)
        kept = await app.remember("I like jazz.", scope=scope, pinned=True)
        await app.edit_memory(kept.memory.id, scope=scope, text="I like jazz and fado.")
        lost = await app.remember("I like tea.", scope=scope)
        await app.forget_memory(lost.memory.id, scope=scope)
    await app.ask("Remember that I use a wheelchair.", scope=READER)
    # The worker's work, but for letting go: that reads tables which are newer.
    await reconcile(app.reconcile_parts)
    await index_waiting(app.memory_upkeep_parts)
    await app.catalogue.jobs.drain(works_of(app))
    await learn_all(app)
    await app.forget(scope=GONE)


async def make(url: str, folder: Path) -> None:
    model = ScriptedModel(["Lift 4 goes to sector C [1]."])
    async with open_pool(url, size=4) as pool:
        bench = await make_bench(
            pool, url, folder, language_model=model, quiet=0.0, keep_revisions=timedelta(days=400)
        )
        await fill(bench)


def rows_of(url: str) -> dict[str, int]:
    """Return how many rows each table of the schema has."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'vademecum'::regnamespace"
                " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
            )
        ]
        return {
            name: connection.execute(f'SELECT count(*) FROM vademecum."{name}"').fetchone()[0]  # type: ignore[index]  # a count
            for name in names
        }


def main() -> None:
    last = sys.argv[1]
    steps = migrations()
    until = [step.name for step in steps].index(last) + 1
    migrate_module.migrations = lambda: steps[:until]  # type: ignore[assignment]
    home = Path(tempfile.mkdtemp(prefix="vade-old-", dir="/tmp"))
    home.chmod(0o755)
    server = embedded.start(home)
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE old TEMPLATE template0")
        url = make_conninfo(server.url, dbname="old")
        migrate(url)
        asyncio.run(make(url, home / "blobs"))
        empty = {name for name, count in rows_of(url).items() if not count}
        print("empty:", sorted(empty), file=sys.stderr)
        dumped = subprocess.run(
            [
                installed_programs() / "pg_dump", "--data-only", "--column-inserts",
                "--rows-per-insert=50", "--schema=vademecum", "--exclude-table=*.migration",
                "--exclude-table=*.procrastinate_*", "--no-comments", url,
            ],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = (line for line in dumped.stdout.splitlines() if not line.startswith(("--", "\\")))
        print(f"-- Made by tests/integration/old_data.py {last}")
        print("\n".join(line for line in lines if line.strip()))
    finally:
        server.close()
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
