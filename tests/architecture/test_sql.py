"""Is all SQL in its place, valid against the live schema, and bound to a tenant?"""

import ast
import re
from pathlib import Path

import psycopg
import pytest
from tenant_predicate import check_folder, faults, tenant_tables

from vademecum.postgres.queries import load, nouns

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vademecum"
_VERB = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|SET)\s+\S+\s")
_PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")


def test_every_query_names_its_tenant() -> None:
    assert check_folder() == []
    assert {"document", "revision", "chunk", "trace", "turn"} <= tenant_tables()


@pytest.mark.parametrize(
    "planted",
    [
        "SELECT text FROM chunk WHERE id = %(id)s",
        "SELECT c.text FROM chunk c JOIN document d ON d.id = c.document WHERE c.tenant = %(t)s",
        "SELECT 1 FROM document d WHERE d.tenant = %(t)s AND EXISTS (SELECT 1 FROM chunk c)",
        "UPDATE document SET title = 'x' WHERE id = %(id)s",
        "DELETE FROM trace WHERE id = %(id)s",
        "INSERT INTO turn (id, text) VALUES (%(id)s, %(text)s)",
        "WITH all_chunks AS (SELECT * FROM chunk) SELECT * FROM all_chunks",
        "SELECT text FROM chunk WHERE tenant <> %(t)s",
    ],
)
def test_a_planted_query_without_its_tenant_is_found(planted: str) -> None:
    assert faults(planted, tenant_tables())


def _numbered(sql: str) -> str:
    """Return the query with $1, $2 … for its named values, as PREPARE takes them."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match.group(1) not in names:
            names.append(match.group(1))
        return f"${names.index(match.group(1)) + 1}"

    return _PLACEHOLDER.sub(number, sql).replace("%%", "%")


def _queries() -> list[tuple[str, str]]:
    return [(noun, name) for noun in nouns() for name in load(noun)]


@pytest.fixture(scope="module")
def schema(server: object) -> psycopg.Connection:
    url = server.url  # type: ignore[attr-defined]
    with psycopg.connect(url, dbname="vademecum_template", autocommit=True) as connection:
        yield connection


def _for_all_tenants(noun: str, name: str) -> bool:
    return noun in {"generation", "scrub", "backup"} or (noun, name) in {
        ("job", "rescue"),
        ("job", "left"),
        ("upkeep", "tenants"),
        ("erasure", "scrubbed"),
    }


@pytest.mark.parametrize(("noun", "name"), _queries())
def test_every_query_is_planned_by_the_live_schema(
    schema: psycopg.Connection, noun: str, name: str
) -> None:
    with schema.transaction():
        schema.execute("SET LOCAL search_path = vademecum, public")
        schema.execute(
            "SELECT 1" if _for_all_tenants(noun, name) else "SET LOCAL ROLE vademecum_app"
        )
        plan = schema.execute(f"EXPLAIN (GENERIC_PLAN) {_numbered(load(noun)[name])}").fetchall()
    assert plan


def test_a_query_on_a_column_that_does_not_exist_is_caught(schema: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn), schema.transaction():
        schema.execute("EXPLAIN (GENERIC_PLAN) SELECT colour FROM vademecum.document")


def _sql_texts(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _VERB.match(node.value)
        and node.value.split()[0].isupper()
    ]


def test_no_sql_outside_its_folder() -> None:
    outside = {
        str(path.relative_to(SOURCE)): texts
        for path in SOURCE.rglob("*.py")
        if "postgres" not in path.relative_to(SOURCE).parts and (texts := _sql_texts(path))
    }
    assert outside == {}


def test_sql_outside_its_folder_would_be_seen(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text('def f(c):\n    c.execute("SELECT id FROM chunk WHERE 1 = 1")\n')
    assert _sql_texts(planted)


def test_no_count_of_rows_is_taken_from_a_cursor() -> None:
    """In a pipeline it is -1 until the rows are read: count what a statement returns."""
    folder = SOURCE / "postgres"
    named = [str(path) for path in folder.rglob("*.py") if ".rowcount" in path.read_text()]
    assert named == []
