"""Who may come in from outside? Making keys, ending them, and telling whose one is."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from vademecum.errors import Forbidden, UsageError
from vademecum.model.ids import KeyId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.serving.key import (
    PERMISSIONS,
    ApiKey,
    Caller,
    Issued,
    KeyKind,
    Permission,
    Rate,
)
from vademecum.ports.clock import Clock
from vademecum.ports.keys import KeyStore

PREFIX = "vade_"
ADMIN_PRINCIPAL = "user:admin"
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The keys of every tenant. Only an operator makes, sees and ends them."""

    store: KeyStore
    clock: Clock

    async def enter(self, text: str, rate: Rate | None = None) -> Caller | None:
        """Return whoever a key's text stands for, and count one request; None where it is no key
        that lives."""
        parted = read_key(text)
        if parted is None:
            return None
        key_id, secret = parted
        return await self.store.admit(key_id, digest(secret), rate)

    async def issue(
        self,
        *,
        scope: Scope,
        principal: str,
        labels: frozenset[str] = frozenset(),
        permissions: frozenset[str],
        expires_at: datetime | None = None,
    ) -> Issued:
        """Make a key of the operator's tenant. Raises: Forbidden, UsageError."""
        _check_operator(scope)
        own = Scope.for_principal(scope.tenant, _named(principal), labels)
        known = _known(permissions)
        if expires_at is not None and expires_at <= self.clock.now():
            raise UsageError("the key would be over already", hint="give a later moment")
        key_id, secret = KeyId(new_uuid()), new_secret()
        key = await self.store.insert(
            own, key_id, digest(secret), kind="key", permissions=known,
            expires_at=expires_at,
        )  # fmt: skip
        return Issued(key=key, text=written(key_id, secret))

    async def first(self, tenant: str, publish: Callable[[str], None]) -> bool:
        """Make a tenant's first key for everything, where no such key lives; `publish` takes its
        text before it counts. False where there is one."""
        own = replace(Scope.for_principal(tenant, ADMIN_PRINCIPAL, frozenset()), operator=True)
        key_id, secret = KeyId(new_uuid()), new_secret()
        return await self.store.first(
            own, key_id, digest(secret), lambda: publish(written(key_id, secret))
        )

    async def open_session(self, caller: Caller, lasts: timedelta) -> Issued:
        """Make the key that a browser keeps in its cookie: it may what its key may, and ends with
        it. Raises: Forbidden for a session, which begets none."""
        if caller.kind != "key":
            raise Forbidden("a session makes no other", hint="sign in with a key")
        return await self.begin_session(caller.scope, caller.permissions, lasts, caller.key_id)

    async def begin_session(
        self,
        scope: Scope,
        permissions: frozenset[Permission],
        lasts: timedelta,
        parent: KeyId | None = None,
    ) -> Issued:
        """Make a session for whoever is known already: by a key, its parent, or by an issuer."""
        key_id, secret = KeyId(new_uuid()), new_secret()
        key = await self.store.insert(
            scope, key_id, digest(secret), kind="session", permissions=permissions,
            expires_at=self.clock.now() + lasts, parent=parent,
        )  # fmt: skip
        return Issued(key=key, text=written(key_id, secret))

    async def all(self, *, scope: Scope, kind: KeyKind | None = "key") -> list[ApiKey]:
        """Return the tenant's keys, oldest first. Raises: Forbidden."""
        _check_operator(scope)
        return await self.store.all(scope, kind)

    async def revoke(self, key_id: KeyId, *, scope: Scope) -> ApiKey:
        """End a key at once, with its sessions. Raises: Forbidden, KeyNotFound."""
        _check_operator(scope)
        return await self.store.revoke(scope, key_id)

    async def close_session(self, caller: Caller) -> None:
        """End the session that a caller came with; a key stays."""
        if caller.kind == "session":
            await self.store.revoke(caller.scope, caller.key_id)


def new_secret() -> str:
    """Return 256 random bits as 43 letters of base64url."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def digest(secret: str) -> bytes:
    """Return what is kept of a secret. It has 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode()).digest()


def written(key_id: KeyId, secret: str) -> str:
    return f"{PREFIX}{key_id.hex}.{secret}"


def read_key(text: str) -> tuple[KeyId, str] | None:
    """Return id and secret of a key's text, or None where it is none."""
    name, dot, secret = text.strip().removeprefix(PREFIX).partition(".")
    if not (text.strip().startswith(PREFIX) and dot and secret.isascii()):
        return None
    try:
        return KeyId(UUID(hex=name)), secret
    except ValueError:
        return None


def keep_admin_key(path: Path, text: str) -> None:
    """Write the first key where only its owner may read it."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text + "\n", encoding="ascii")


def _named(principal: str) -> str:
    if not principal.strip():
        raise UsageError("a key needs a principal", hint="for example user:reader")
    return principal if ":" in principal else f"user:{principal}"


def _known(permissions: frozenset[str]) -> frozenset[Permission]:
    if unknown := sorted(permissions - set(PERMISSIONS)):
        raise UsageError(f"there is no scope {unknown[0]!r}", hint=f"use {', '.join(PERMISSIONS)}")
    if not permissions:
        raise UsageError("a key needs a scope", hint=f"one or more of {', '.join(PERMISSIONS)}")
    return frozenset(name for name in PERMISSIONS if name in permissions)


def _check_operator(scope: Scope) -> None:
    if not scope.operator:
        raise Forbidden("keys are the operator's", hint="use a key with the scope admin")
