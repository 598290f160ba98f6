"""Who may come in from outside, as whom, and for what?"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from vademecum.model.ids import KeyId, Tenant
from vademecum.model.principal import Scope

Permission = Literal["read", "write", "memory", "admin"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
KeyKind = Literal["key", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as its tenant's operator sees it; nobody sees its secret again. `session` is one that
    the pages made for a browser. `used_at` is true to about a minute."""

    id: KeyId
    kind: KeyKind
    principal: str
    labels: tuple[str, ...]
    permissions: frozenset[Permission]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A new key and its text, `vade_<id>.<secret>`, which is shown once."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often something may be done: `burst` at once, then `per_minute`."""

    kind: str
    per_minute: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever stands behind a credential that was found good. `wait` is how many seconds too early
    a request came, 0 where it may go on."""

    key_id: KeyId
    kind: KeyKind
    scope: Scope
    permissions: frozenset[Permission]
    expires_at: datetime | None
    wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A key that was ended, for the ledger: a backup from before must not open it again."""

    tenant: Tenant
    id: KeyId
