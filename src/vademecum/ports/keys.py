"""Where are keys kept?"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from vademecum.model.ids import KeyId
from vademecum.model.principal import Scope
from vademecum.model.serving.key import ApiKey, Caller, KeyKind, Permission, Rate


class KeyStore(Protocol):
    """Keys by the sha256 of their secrets, which are nowhere else."""

    async def admit(self, key_id: KeyId, digest: bytes, rate: Rate | None) -> Caller | None:
        """Return who a living key of this secret stands for, and count one request of a rate.
        None for every other: unknown, revoked, over, or of another secret."""
        ...

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
        """Keep a key that acts as `scope`, in its tenant; it is over with its parent."""
        ...

    async def first(
        self, scope: Scope, key_id: KeyId, digest: bytes, publish: Callable[[], None]
    ) -> bool:
        """Keep the first key that may do everything, where there is none that lives: whoever comes
        second waits, and gets False. `publish` runs before the key counts."""
        ...

    async def all(self, scope: Scope, kind: KeyKind | None) -> list[ApiKey]:
        """Return the keys of a tenant, oldest first; those of the principal for who is none of its
        operators."""
        ...

    async def revoke(self, scope: Scope, key_id: KeyId) -> ApiKey:
        """End a key at once, with all sessions made from it. Raises: KeyNotFound."""
        ...

    async def let_go(self, scope: Scope) -> int:
        """Delete sessions that are over; return how many."""
        ...
