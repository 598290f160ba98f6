"""How does a whole database go into a file, and come back beside the one in use?"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from vademecum.errors import DatabaseUnusable, UsageError
from vademecum.model.ids import KeyId, Tenant
from vademecum.model.purge import Deleted, Erasure
from vademecum.model.serving.key import Revoked
from vademecum.postgres.pool import SEARCH_PATH, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.server.program import installed_programs

_SQL = load("backup")
RESTORED = "vademecum_restored"


def dump(url: str, path: Path) -> None:
    """Write the database at `url` into a file of pg_dump's own format, as of one moment.

    Raises: DatabaseUnusable, where the login may not read all rows.
    """
    _run("pg_dump", ["--format=custom", f"--file={path}", url])


def load_dump(url: str, path: Path) -> None:
    """Bring a dump into the empty database at `url`, all of it or nothing."""
    _run("pg_restore", ["--exit-on-error", "--single-transaction", f"--dbname={url}", str(path)])


def _run(program: str, arguments: Sequence[str]) -> None:
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    ended = subprocess.run(  # our own program, our own words
        [installed_programs() / program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        told = ended.stderr.strip().splitlines()
        first = told[0].rpartition("error: ")[2] if told else "it said nothing"
        raise DatabaseUnusable(
            f"{program} failed ({first})",
            hint="the login must be a superuser, or own the schema and have BYPASSRLS",
        )


@contextmanager
def restored_beside(url: str) -> Iterator[str]:
    """Make an empty database beside the one at `url`, and yield its address; when the block ends
    well it takes the other's name and place, which is dropped. Nobody may be connected."""
    name = psycopg.conninfo.conninfo_to_dict(url).get("dbname")
    assert isinstance(name, str)  # the embedded server's address names it
    outside = make_conninfo(url, dbname="postgres")
    own, beside = sql.Identifier(name), sql.Identifier(RESTORED)
    with _connected(outside) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(beside))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(beside))
    ended = False
    try:
        yield make_conninfo(url, dbname=RESTORED)
        ended = True
    finally:
        if not ended:
            with _connected(outside) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(beside))
    with _connected(outside) as connection:
        if users := connection.execute(_SQL["others"], {"name": name}).fetchall():
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(beside))
            raise UsageError(
                f"{len(users)} others use the database", hint="stop `vade serve` and the workers"
            )
        connection.execute(sql.SQL("DROP DATABASE {}").format(own))
        connection.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(beside, own))


def holds_data(url: str) -> bool:
    """Tell whether a migrated database has a tenant's data, or a key."""
    with _connected(url) as connection:
        row = connection.execute(_SQL["holds_data"]).fetchone()
    return bool(row and row["held"])


def erasures(url: str) -> list[Erasure]:
    """Return the whole ledger of a migrated database, of all tenants, oldest first."""
    with _connected(url) as connection:
        rows = connection.execute(_SQL["erasures"]).fetchall()
    return [
        Erasure(
            tenant=Tenant(row["tenant"]),
            id=row["id"],
            subject=bytes(row["subject"]),
            requested_at=row["requested_at"],
            completed_at=None,
            blobs_left=(),
        )
        for row in rows
    ]


def deletions(url: str) -> list[Deleted]:
    """Return what was deleted, of all tenants, oldest first."""
    with _connected(url) as connection:
        rows = connection.execute(_SQL["deletions"]).fetchall()
    return [
        Deleted(
            tenant=Tenant(row["tenant"]),
            kind=row["kind"],
            id=row["id"],
            deleted_at=row["deleted_at"],
        )
        for row in rows
    ]


def revoked_keys(url: str) -> list[Revoked]:
    """Return every key that was ended, of all tenants."""
    with _connected(url) as connection:
        rows = connection.execute(_SQL["revoked"]).fetchall()
    return [Revoked(tenant=Tenant(row["tenant"]), id=KeyId(row["id"])) for row in rows]


def end_keys(url: str, revoked: Sequence[Revoked] | None) -> int:
    """End these keys, None for all, every session, and what is kept of answers to be given again;
    return how many keys were ended now."""
    ids = None if revoked is None else [key.id for key in revoked]
    with _connected(url) as connection, connection.transaction():
        connection.execute(_SQL["end_sessions"])
        connection.execute(_SQL["forget_answers"])
        return len(connection.execute(_SQL["end_keys"], {"ids": ids}).fetchall())


def tenants(url: str) -> list[Tenant]:
    """Return every tenant that has a row in the ledger or anywhere else."""
    with _connected(url) as connection:
        return [Tenant(row["tenant"]) for row in connection.execute(_SQL["all_tenants"])]


@contextmanager
def _connected(url: str) -> Iterator[Connection[DictRow]]:
    """Connect past row-level security: what is done here is for all tenants at once."""
    options = f"-c search_path={SEARCH_PATH.replace(' ', '')} -c row_security=off"
    with (
        clear_errors(),
        psycopg.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=10, options=options
        ) as connection,
    ):
        yield connection
