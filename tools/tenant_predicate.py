"""Does every query on a tenant's table name the tenant? `python tools/tenant_predicate.py`.

Row-level security is the second wall; this holds the first. Each table reference must have an
equality on its own tenant column in the same SELECT, UPDATE or DELETE; an INSERT must list it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import sqlglot
from sqlglot import exp

SQL_FOLDER = Path(__file__).parent.parent / "src" / "vademecum" / "postgres" / "sql"
MIGRATIONS = SQL_FOLDER.parent / "migrations"

_NAME = re.compile(r"^-- name: ([a-z_]+)\n", re.MULTILINE)
_PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")
_TABLE = re.compile(r"CREATE TABLE (\w+) \(\s+tenant text NOT NULL")
# The walls themselves are examined by a query that must see without a tenant.
EXEMPT = {("health", "visible_without_tenant")}
# A backup is of all tenants at once: its queries run as the owner, and never in the service.
EXEMPT_NOUNS = {"backup"}
_STATEMENTS = (exp.Select, exp.Update, exp.Delete, exp.Insert)


def tenant_tables(migrations: Path = MIGRATIONS) -> set[str]:
    """Return the tables whose first column is the tenant."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in migrations.glob("*.sql"))
    return set(_TABLE.findall(text))


def faults(sql: str, tables: set[str]) -> list[str]:
    """Return what is wrong with one statement: each table reference without its predicate."""
    found: list[str] = []
    for tree in sqlglot.parse(_PLACEHOLDER.sub(r":\1", sql).replace("%%", "%"), read="postgres"):
        if tree is None:
            continue
        for table in tree.find_all(exp.Table):
            if table.name in tables:
                found += _fault(table)
    return found


def _fault(table: exp.Table) -> Iterator[str]:
    statement = table.find_ancestor(*_STATEMENTS)
    if isinstance(statement, exp.Insert) and table.find_ancestor(exp.Schema):
        columns = [column.name for column in statement.this.expressions]
        if "tenant" not in columns:
            yield f"INSERT INTO {table.name} does not set the tenant"
        return
    name = table.alias_or_name
    if statement is None or name not in _compared(statement):
        yield f"{table.name} AS {name} is read without its tenant"


def _compared(statement: exp.Expression) -> set[str]:
    """Return the names whose tenant column is compared by = in this statement itself."""
    names: set[str] = set()
    only = [table.alias_or_name for table in _own(statement, exp.Table)]
    for equality in _own(statement, exp.EQ):
        for side in (equality.left, equality.right):
            if isinstance(side, exp.Column) and side.name == "tenant":
                names.add(side.table or (only[0] if only else ""))
    return names


def _own(statement: exp.Expression, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    """Yield the nodes of a kind that belong to the statement and not to one inside it."""
    for node in statement.find_all(kind):
        if node.find_ancestor(*_STATEMENTS) is statement:
            yield node


def check_folder(folder: Path = SQL_FOLDER) -> list[str]:
    """Return the faults of every named query."""
    tables = tenant_tables()
    found = []
    for path in sorted(folder.glob("*.sql")):
        parts = _NAME.split(path.read_text(encoding="utf-8"))[1:]
        for name, sql in zip(parts[::2], parts[1::2], strict=True):
            if path.stem not in EXEMPT_NOUNS and (path.stem, name) not in EXEMPT:
                found += [f"{path.name}: {name}: {fault}" for fault in faults(sql, tables)]
    return found


if __name__ == "__main__":
    lines = check_folder()
    print("\n".join(lines) or "every query names its tenant")
    sys.exit(bool(lines))
