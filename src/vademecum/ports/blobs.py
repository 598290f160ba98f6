"""Where do the original bytes lie?"""

import hashlib
from datetime import datetime
from typing import Protocol

from vademecum.model.ids import Tenant


def content_key(content: bytes) -> str:
    """Return the key that every store knows these bytes by: their sha256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


class BlobStore(Protocol):
    """Keep originals under names that we choose; a tenant's blobs are its own."""

    async def put(self, tenant: Tenant, content: bytes) -> str:
        """Store durably and return the `content_key`."""
        ...

    async def get(self, tenant: Tenant, key: str) -> bytes:
        """Return the bytes. Raises NotFound where the key is not there."""
        ...

    async def has(self, tenant: Tenant, key: str) -> bool: ...

    async def aged(self, tenant: Tenant, before: datetime) -> list[str]:
        """Return the keys of blobs that nobody has put since that time."""
        ...

    async def delete(self, tenant: Tenant, key: str) -> bool:
        """Remove; True if it was there. Raises DataFolderUnusable where it cannot go."""
        ...
