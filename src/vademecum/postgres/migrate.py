"""How does the schema come to be? Numbered SQL files, applied once, in order, under a lock."""

import hashlib
import importlib.metadata
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources

import psycopg
from procrastinate import App
from procrastinate.psycopg_connector import PsycopgConnector
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from vademecum.errors import ExtensionUnusable, MigrationFailed, ServerVersionWrong
from vademecum.postgres.pool import clear_errors
from vademecum.postgres.unit_of_work import APP_ROLE

OWNER_ROLE = "vademecum_owner"
# What a login needs beside the app role where another login owns the schema: the job queue,
# the rescue of lost work, the index generations. No tenant's rows.
WORKER_ROLE = "vademecum_worker"
OLDEST_SERVER = 15
OLDEST_VECTOR = (0, 8, 4)
_LOCK_KEY = 0x7661_6465  # "vade"
_LOCK_SECONDS = 60
_STATEMENT_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return every step in order: the job queue's own schema, then our files by number."""
    folder = resources.files(__package__) / "migrations"
    ours = [
        Migration(name=entry.name[:-4], text=entry.read_text(encoding="utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    ]
    queue = App(connector=PsycopgConnector()).schema_manager.get_schema()
    version = importlib.metadata.version("procrastinate")
    return [Migration(name=f"0000_procrastinate_{version}", text=queue), *ours]


def migrate(url: str, *, login: str | None = None) -> list[str]:
    """Bring the database at `url` to the newest schema; return the names that were applied.

    `login` names another login that will use the database without owning its schema.

    Every step and its record are one transaction, so a kill leaves the step before. Two
    processes may call this at once: the second waits. Raises: DatabaseAway, DiskFull,
    ServerVersionWrong, ExtensionUnusable, MigrationFailed.
    """
    with clear_errors(), psycopg.connect(url, connect_timeout=10, autocommit=True) as connection:
        _check_server(connection)
        if login is None and _is_current(connection):
            return []  # needs no right to change anything
        connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        connection.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK_KEY,))
            _prepare(connection)
            applied = _apply(connection)
            if login:
                _let_in(connection, login)
            return applied
        except psycopg.errors.LockNotAvailable as error:
            raise MigrationFailed(
                f"another process held the schema for over {_LOCK_SECONDS} s",
                hint="wait for it to end, then run `vade migrate`",
            ) from error


def _check_server(connection: Connection[TupleRow]) -> None:
    version = connection.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise ServerVersionWrong(
            f"the server is PostgreSQL {version}",
            hint=f"Vademecum needs PostgreSQL {OLDEST_SERVER} or newer",
        )
    offered = connection.execute(
        "SELECT default_version, installed_version FROM pg_available_extensions"
        " WHERE name = 'vector'"
    ).fetchone()
    if offered is None:
        raise ExtensionUnusable(
            "the server has no pgvector",
            hint="install the extension `vector` (0.8.4 or newer) on the server, "
            "or unset DATABASE_URL to use the embedded one",
        )
    check_vector_version(str(offered[1] or offered[0]))


def check_vector_version(version: str) -> None:
    """Refuse a pgvector with known faults (a parallel index build leaked other relations)."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:3]]
    if tuple(numbers) < OLDEST_VECTOR:
        oldest = ".".join(map(str, OLDEST_VECTOR))
        raise ExtensionUnusable(
            f"the server's pgvector is {version}",
            hint=f"versions before {oldest} have security faults: update it, then run "
            "`ALTER EXTENSION vector UPDATE`",
        )


def _is_current(connection: Connection[TupleRow]) -> bool:
    """Tell whether every step was applied as it stands, as far as this login may see."""
    readable = connection.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'vademecum' AND c.relname = 'migration'"
        " AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
    ).fetchone()
    if readable is None:
        return False
    rows = connection.execute("SELECT name, checksum FROM vademecum.migration").fetchall()
    done = {str(name): str(checksum) for name, checksum in rows}
    ours = {step.name: step.checksum for step in migrations() if not _is_queue(step.name)}
    # The queue's own upgrades come as migrations of ours.
    return len(done) > len(ours) and ours == {n: c for n, c in done.items() if not _is_queue(n)}


def _is_queue(name: str) -> bool:
    return name.startswith("0000_")


def _prepare(connection: Connection[TupleRow]) -> None:
    """Make the roles, the extension and the schema, as whoever logged in."""
    row = connection.execute(
        "SELECT rolsuper, rolname FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    superuser, login = row or (False, "")
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        for role in (APP_ROLE, WORKER_ROLE, OWNER_ROLE)[: 3 if superuser else 2]:
            _create_role(connection, role)
        if superuser:
            connection.execute(
                sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
                    sql.Identifier(connection.info.dbname), sql.Identifier(OWNER_ROLE)
                )
            )
            # From here on nothing is owned by a superuser, so row-level security binds the owner.
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(OWNER_ROLE)))
        else:
            _grant(connection, APP_ROLE, login)
        connection.execute("CREATE SCHEMA IF NOT EXISTS vademecum")
        connection.execute("SET search_path = vademecum, public")
        connection.execute(
            sql.SQL("GRANT USAGE ON SCHEMA vademecum TO {}").format(sql.Identifier(APP_ROLE))
        )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration (name text PRIMARY KEY,"
            " checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        connection.execute(
            sql.SQL("GRANT SELECT ON migration TO {}").format(sql.Identifier(WORKER_ROLE))
        )
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationFailed(
            f"the login {login!r} may not set up the database ({error.diag.message_primary})",
            hint=f"run as a superuser of it: {_wanted_rights(connection, login)}",
        ) from error


def _wanted_rights(connection: Connection[TupleRow], login: str) -> str:
    """Return, on one line, the SQL that lets a login which is no superuser do all the rest."""
    present = {
        str(name)
        for (name,) in connection.execute(
            "SELECT rolname FROM pg_roles UNION ALL SELECT extname FROM pg_extension"
        )
    }
    wanted: list[sql.Composable] = []
    if "vector" not in present:
        wanted.append(sql.SQL("CREATE EXTENSION vector SCHEMA public"))
    wanted += [
        sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role))
        for role in (APP_ROLE, WORKER_ROLE)
        if role not in present
    ]
    wanted += [
        sql.SQL("GRANT {} TO {}").format(sql.Identifier(APP_ROLE), sql.Identifier(login)),
        sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
            sql.Identifier(connection.info.dbname), sql.Identifier(login)
        ),
    ]
    return "; ".join(statement.as_string(connection) for statement in wanted)


def _let_in(connection: Connection[TupleRow], login: str) -> None:
    connection.execute("RESET ROLE")
    try:
        for role in (APP_ROLE, WORKER_ROLE):
            _grant(connection, role, login)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationFailed(
            f"the login of DATABASE_OWNER_URL may not let {login!r} in",
            hint=f'run as a superuser: GRANT {APP_ROLE}, {WORKER_ROLE} TO "{login}"',
        ) from error
    except psycopg.errors.UndefinedObject as error:
        raise MigrationFailed(
            f"there is no login {login!r} on the server",
            hint="make the login that DATABASE_URL names",
        ) from error


def _grant(connection: Connection[TupleRow], role: str, login: str) -> None:
    """Make a login a member, unless it is one: then no right to grant is needed."""
    member = connection.execute("SELECT pg_has_role(%s, %s, 'USAGE')", (login, role)).fetchone()
    if member is None or not member[0]:
        connection.execute(
            sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(login))
        )


def _create_role(connection: Connection[TupleRow], role: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        return
    try:
        connection.execute(
            sql.SQL("CREATE ROLE {} NOLOGIN NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(role))
        )
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        pass  # roles belong to the whole server: another database's migration made it just now


def _apply(connection: Connection[TupleRow]) -> list[str]:
    done = {
        str(name): str(checksum)
        for name, checksum in connection.execute("SELECT name, checksum FROM migration")
    }
    applied = []
    steps = migrations()
    known = {step.name for step in steps}
    newer = [name for name in done if name not in known and not _is_queue(name)]
    if newer:
        raise MigrationFailed(
            f"the database was made by a newer release (it has {max(newer)})",
            hint="use that release or a later one",
        )
    for step in steps:
        if step.name in done:
            if done[step.name] != step.checksum:
                raise MigrationFailed(
                    f"the migration {step.name} is not the one that was applied",
                    hint="restore the released file; a change belongs into a new migration",
                )
            continue
        if _is_queue(step.name) and any(map(_is_queue, done)):
            continue  # the queue's own upgrades come as migrations of ours
        try:
            with connection.transaction():
                with _rows_seen(connection):
                    connection.execute(step.text)
                connection.execute(
                    "INSERT INTO migration (name, checksum) VALUES (%s, %s)",
                    (step.name, step.checksum),
                )
        except psycopg.Error as error:
            raise MigrationFailed(
                f"the migration {step.name} failed ({error.diag.message_primary})",
                hint="nothing of it was kept; report it with the server's version",
            ) from error
        applied.append(step.name)
    return applied


@contextmanager
def _rows_seen(connection: Connection[TupleRow]) -> Iterator[None]:
    """Let the owner see the rows of all tenants while the block runs, inside a transaction.

    Where row-level security is forced, whoever tells no tenant changes no row, the owner too: a
    step would leave what is there as it was.
    """
    forced = _forced(connection)
    for table in forced:
        connection.execute(
            sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(sql.Identifier(table))
        )
    yield
    left = {
        str(name)
        for (name,) in connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'vademecum'::regnamespace"
        )
    }
    for table in forced:
        if table in left:
            connection.execute(
                sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(sql.Identifier(table))
            )


def _forced(connection: Connection[TupleRow]) -> list[str]:
    return [
        str(name)
        for (name,) in connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relforcerowsecurity"
            " AND c.relnamespace = 'vademecum'::regnamespace ORDER BY c.relname"
        )
    ]
