"""How are keys kept? By the sha256 of their secrets."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from vademecum.errors import KeyNotFound
from vademecum.model.ids import KeyId
from vademecum.model.principal import Scope
from vademecum.model.serving.key import PERMISSIONS, ApiKey, Caller, KeyKind, Permission, Rate
from vademecum.postgres.pool import Pool, clear_errors
from vademecum.postgres.queries import load
from vademecum.postgres.unit_of_work import drop_to_app, transaction

_SQL = load("key")


class PostgresKeys:
    """The KeyStore on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(self, key_id: KeyId, digest: bytes, rate: Rate | None) -> Caller | None:
        values: dict[str, Any] = {"id": key_id, "digest": digest}
        values["rate"] = rate.kind if rate else None
        values["spacing"] = timedelta(minutes=1) / rate.per_minute if rate else timedelta()
        values["burst"] = rate.burst if rate else 0
        with clear_errors():
            # Nobody is told to the transaction yet: the one function that may say who it is.
            async with (
                self._pool.connection() as connection,
                connection.pipeline(),
                connection.transaction(),
            ):
                await drop_to_app(connection)
                row = await (await connection.execute(_SQL["admit"], values)).fetchone()
        return _caller(key_id, row) if row else None

    async def insert(
        self,
        scope: Scope,
        key_id: KeyId,
        digest: bytes,
        *,
        kind: KeyKind,
        permissions: frozenset[Permission],
        expires_at: datetime | None,
        parent: KeyId | None = None,
    ) -> ApiKey:
        values = _values(scope, key_id, digest, kind, permissions, expires_at, parent)
        async with transaction(self._pool, scope) as connection:
            row = await (await connection.execute(_SQL["insert"], values)).fetchone()
        return _key({**values, **(row or {})})

    async def first(
        self, scope: Scope, key_id: KeyId, digest: bytes, publish: Callable[[], None]
    ) -> bool:
        values = _values(scope, key_id, digest, "key", frozenset(PERMISSIONS), None, None)
        async with transaction(self._pool, scope) as connection:
            await connection.execute(_SQL["lock_first"], values)
            if await (await connection.execute(_SQL["living_admin"], values)).fetchone():
                return False
            await connection.execute(_SQL["insert"], values)
            publish()
        return True

    async def all(self, scope: Scope, kind: KeyKind | None) -> list[ApiKey]:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["keys"], {"tenant": scope.tenant, "kind": kind})
            return [_key(row) async for row in cursor]

    async def revoke(self, scope: Scope, key_id: KeyId) -> ApiKey:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(
                _SQL["revoke"], {"tenant": scope.tenant, "id": key_id}
            )
            row = await cursor.fetchone()
        if row is None:
            raise KeyNotFound(f"no key {key_id}", hint="`vade keys list` shows the ids")
        return _key(row)

    async def let_go(self, scope: Scope) -> int:
        async with transaction(self._pool, scope) as connection:
            cursor = await connection.execute(_SQL["let_go"], {"tenant": scope.tenant})
            return len(await cursor.fetchall())


def _values(
    scope: Scope,
    key_id: KeyId,
    digest: bytes,
    kind: KeyKind,
    permissions: frozenset[Permission],
    expires_at: datetime | None,
    parent: KeyId | None,
) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "id": key_id,
        "kind": kind,
        "principal": scope.principal,
        "labels": sorted(scope.labels),
        "scopes": sorted(permissions),
        "digest": digest,
        "parent": parent,
        "expires_at": expires_at,
        "revoked_at": None,
        "used_at": None,
    }


def _caller(key_id: KeyId, row: Mapping[str, Any]) -> Caller:
    permissions: frozenset[Permission] = frozenset(row["scopes"])
    return Caller(
        key_id=key_id,
        kind=row["kind"],
        scope=Scope(
            tenant=row["tenant"],
            principal=row["principal"],
            labels=frozenset(row["labels"]),
            collections=None,
            operator="admin" in permissions,
        ),
        permissions=permissions,
        expires_at=row["expires_at"],
        wait=row["wait"],
    )


def _key(row: Mapping[str, Any]) -> ApiKey:
    return ApiKey(
        id=KeyId(row["id"]),
        kind=row["kind"],
        principal=row["principal"],
        labels=tuple(row["labels"]),
        permissions=frozenset(row["scopes"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        used_at=row["used_at"],
    )
