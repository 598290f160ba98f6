"""Do both walls between tenants stand, and is each missed when it is taken away?"""

import psycopg
import pytest

from vademecum.errors import IsolationBroken
from vademecum.postgres.isolation import check_isolation
from vademecum.postgres.pool import Pool


async def test_a_fresh_database_is_sound(pool: Pool) -> None:
    await check_isolation(pool)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("ALTER TABLE vademecum.chunk NO FORCE ROW LEVEL SECURITY", "chunk is not forced"),
        ("ALTER TABLE vademecum.document DISABLE ROW LEVEL SECURITY", "document is not forced"),
        ("GRANT SELECT ON vademecum.chunk_vector TO vademecum_app", "index table chunk_vector"),
        ("ALTER TABLE vademecum.trace OWNER TO vademecum_app", "owns trace"),
        (
            "ALTER FUNCTION vademecum.search_dense RESET search_path",
            "search_dense has no pinned search_path",
        ),
        (
            "CREATE TABLE vademecum.note (tenant text NOT NULL, text text)",
            "row-level security of note",
        ),
        (
            "CREATE VIEW vademecum.everything AS SELECT * FROM vademecum.chunk",
            "everything reads as its owner",
        ),
        (
            """DROP POLICY visible ON vademecum.access_set;
            CREATE POLICY visible ON vademecum.access_set USING (true);
            INSERT INTO vademecum.access_set (tenant, labels, labels_key)
            VALUES ('a', '{}', 'k')""",
            "access_set shows rows",
        ),
    ],
)
async def test_a_planted_fault_is_named(
    pool: Pool, database_url: str, fault: str, named: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(fault)
    with pytest.raises(IsolationBroken, match=named):
        await check_isolation(pool)
