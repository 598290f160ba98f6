"""Who comes in with a key, who does not, and how soon is a key dead?"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vademecum.adapters.clock import SystemClock
from vademecum.errors import Forbidden, KeyNotFound, UsageError
from vademecum.keyring import Keyring, keep_admin_key, read_key
from vademecum.model.ids import KeyId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.serving.key import PERMISSIONS, Rate
from vademecum.postgres.pool import Pool
from vademecum.postgres.serving.key import PostgresKeys

OPERATOR = Scope.for_operator("default")
READ = frozenset({"read"})


@pytest.fixture
def keyring(pool: Pool) -> Keyring:
    return Keyring(store=PostgresKeys(pool), clock=SystemClock())


async def test_a_key_is_its_principal_and_no_more(keyring: Keyring) -> None:
    issued = await keyring.issue(
        scope=OPERATOR, principal="reader", labels=frozenset({"group:staff"}), permissions=READ
    )
    caller = await keyring.enter(issued.text)
    assert caller is not None
    assert caller.scope == Scope.for_principal("default", "user:reader", frozenset({"group:staff"}))
    assert caller.permissions == READ
    assert caller.wait == 0


async def test_admin_sees_its_tenant_as_the_operator(keyring: Keyring) -> None:
    issued = await keyring.issue(
        scope=Scope.for_operator("other"), principal="boss", permissions=frozenset({"admin"})
    )
    caller = await keyring.enter(issued.text)
    assert caller is not None
    assert (caller.scope.tenant, caller.scope.operator) == ("other", True)


async def test_what_is_no_living_key_is_nobody(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    name = issued.text.partition(".")[0]
    for text in ("", "vade_", issued.text + "x", f"{name}.", f"{name}.é", issued.text[5:]):
        assert await keyring.enter(text) is None, text
    assert await keyring.enter(f"vade_{new_uuid().hex}.{'x' * 43}") is None
    assert await keyring.enter(f"  {issued.text}\n") is not None


async def test_a_revoked_key_is_dead_at_once_with_its_sessions(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    caller = await keyring.enter(issued.text)
    assert caller is not None
    session = await keyring.open_session(caller, timedelta(hours=1))
    inside = await keyring.enter(session.text)
    assert inside is not None
    assert (inside.kind, inside.scope, inside.permissions) == ("session", caller.scope, READ)
    with pytest.raises(Forbidden):
        await keyring.open_session(inside, timedelta(hours=1))
    await keyring.revoke(issued.key.id, scope=OPERATOR)
    assert await keyring.enter(issued.text) is None
    assert await keyring.enter(session.text) is None


async def test_a_session_ends_alone(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    caller = await keyring.enter(issued.text)
    assert caller is not None
    await keyring.close_session(caller)  # a key is no session: it stays
    session = await keyring.open_session(caller, timedelta(hours=1))
    inside = await keyring.enter(session.text)
    assert inside is not None
    await keyring.close_session(inside)
    assert await keyring.enter(session.text) is None
    assert await keyring.enter(issued.text) is not None


async def test_a_key_ends_by_itself(keyring: Keyring, superuser_sql: Callable[..., object]) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    issued = await keyring.issue(
        scope=OPERATOR, principal="reader", permissions=READ, expires_at=soon
    )
    caller = await keyring.enter(issued.text)
    assert caller is not None
    assert caller.expires_at == soon
    session = await keyring.open_session(caller, timedelta(hours=8))
    superuser_sql("UPDATE vademecum.api_key SET expires_at = now() WHERE id = %s", issued.key.id)
    assert await keyring.enter(issued.text) is None
    assert await keyring.enter(session.text) is None, "a session outlives no key"


async def test_what_is_wrong_with_a_key_is_said(keyring: Keyring) -> None:
    for principal, permissions in ((" ", READ), ("x", frozenset()), ("x", frozenset({"root"}))):
        with pytest.raises(UsageError):
            await keyring.issue(scope=OPERATOR, principal=principal, permissions=permissions)
    with pytest.raises(UsageError):
        await keyring.issue(
            scope=OPERATOR, principal="x", permissions=READ, expires_at=datetime.now(UTC)
        )


async def test_only_the_operator_of_its_tenant_sees_and_ends_a_key(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    reader = Scope.for_principal("default", "user:reader", frozenset())
    with pytest.raises(Forbidden):
        await keyring.issue(scope=reader, principal="reader", permissions=READ)
    with pytest.raises(Forbidden):
        await keyring.all(scope=reader)
    with pytest.raises(Forbidden):
        await keyring.revoke(issued.key.id, scope=reader)
    other = Scope.for_operator("other")
    assert await keyring.all(scope=other) == []
    with pytest.raises(KeyNotFound):
        await keyring.revoke(issued.key.id, scope=other)
    with pytest.raises(KeyNotFound):
        await keyring.revoke(KeyId(new_uuid()), scope=OPERATOR)
    assert [key.id for key in await keyring.all(scope=OPERATOR)] == [issued.key.id]
    assert await keyring.enter(issued.text) is not None


async def test_the_secret_is_nowhere(
    keyring: Keyring, superuser_sql: Callable[..., list[tuple[str]]]
) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    parted = read_key(issued.text)
    assert parted is not None
    rows = superuser_sql("SELECT k::text FROM vademecum.api_key k")
    assert len(rows) == 1
    assert parted[1] not in rows[0][0]


async def test_too_many_requests_wait(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    other = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    rate = Rate(kind="work", per_minute=6, burst=3)
    waits = [(await keyring.enter(issued.text, rate)) for _ in range(5)]
    assert [caller is not None and caller.wait > 0 for caller in waits] == [
        False, False, False, True, True,
    ]  # fmt: skip
    last = waits[-1]
    assert last is not None
    assert 8 < last.wait <= 10, "one each ten seconds after the first three"
    again = await keyring.enter(issued.text, Rate(kind="upload", per_minute=6, burst=3))
    assert again is not None
    assert again.wait == 0, "each kind counts for itself"
    elsewhere = await keyring.enter(other.text, rate)
    assert elsewhere is not None
    assert elsewhere.wait == 0, "each key counts for itself"


async def test_a_wrong_secret_counts_against_nobody(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    rate = Rate(kind="work", per_minute=1, burst=1)
    for _ in range(5):
        assert await keyring.enter(issued.text + "x", rate) is None
    caller = await keyring.enter(issued.text, rate)
    assert caller is not None
    assert caller.wait == 0


async def test_many_at_once_get_exactly_the_burst(keyring: Keyring) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    rate = Rate(kind="work", per_minute=1, burst=7)
    callers = await asyncio.gather(*(keyring.enter(issued.text, rate) for _ in range(30)))
    assert sum(caller is not None and caller.wait == 0 for caller in callers) == 7


async def test_there_is_one_first_key(keyring: Keyring, tmp_path: Path) -> None:
    path = tmp_path / "admin.key"
    made = await asyncio.gather(
        *(keyring.first("default", lambda text: keep_admin_key(path, text)) for _ in range(8))
    )
    assert sorted(made) == [False] * 7 + [True]
    assert path.stat().st_mode & 0o777 == 0o600
    caller = await keyring.enter(path.read_text())
    assert caller is not None
    assert caller.permissions == frozenset(PERMISSIONS)
    assert caller.scope.principal == "user:admin"
    await keyring.revoke(caller.key_id, scope=OPERATOR)
    assert await keyring.first("default", lambda text: keep_admin_key(path, text))
    assert await keyring.enter(path.read_text()) is not None


async def test_sessions_that_are_over_go(
    keyring: Keyring, superuser_sql: Callable[..., object]
) -> None:
    issued = await keyring.issue(scope=OPERATOR, principal="reader", permissions=READ)
    caller = await keyring.enter(issued.text)
    assert caller is not None
    over = await keyring.open_session(caller, timedelta(hours=1))
    stays = await keyring.open_session(caller, timedelta(hours=1))
    superuser_sql("UPDATE vademecum.api_key SET expires_at = now() WHERE id = %s", over.key.id)
    assert await keyring.store.let_go(OPERATOR) == 1
    assert [key.id for key in await keyring.all(scope=OPERATOR, kind="session")] == [stays.key.id]
