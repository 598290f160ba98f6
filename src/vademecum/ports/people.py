"""Where is what we hold of a person, and how does it go?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from vademecum.model.ids import DocumentId, Principal, Tenant
from vademecum.model.principal import Scope
from vademecum.model.purge import Deleted, Erasure, StoreReceipt


@dataclass(frozen=True, slots=True, kw_only=True)
class ComeBack:
    """What a ledger says was deleted, and is there: documents, and conversations with whose they
    are."""

    documents: Sequence[UUID]
    conversations: Mapping[UUID, Principal]


class PersonStore(Protocol):
    """Everything of one person, but for documents, which go by the document's own deletion; and the
    ledger of what must not come back.

    A scope names the person by its principal. `until` is the moment up to which things were made
    that go; None is all of them.
    """

    async def begin(self, scope: Scope) -> Erasure:
        """Write the ledger's entry, in a transaction of its own: whatever happens then is known."""
        ...

    async def held(self, scope: Scope, until: datetime | None) -> dict[str, int]:
        """Return how many rows each store holds of the person."""
        ...

    async def private_documents(self, scope: Scope, until: datetime | None) -> list[DocumentId]:
        """Return the documents that nobody but the person may see."""
        ...

    async def erase(self, scope: Scope, until: datetime | None) -> list[StoreReceipt]:
        """Delete all rows of the person and take the name out of what stays, in one transaction."""
        ...

    async def settle(self, erasure: Erasure, blobs_left: Sequence[str]) -> None:
        """Close the entry, or keep it open with the originals that are left."""
        ...

    async def erasures(self, tenant: Tenant, *, open_only: bool) -> list[Erasure]:
        """Return the ledger, oldest first."""
        ...

    async def restore(self, erasures: Sequence[Erasure]) -> None:
        """Write entries of an earlier ledger again, open; those that are there are opened."""
        ...

    async def names(self, tenant: Tenant) -> frozenset[Principal]:
        """Return everybody of whom something is held."""
        ...

    async def delete_again(self, tenant: Tenant, ledger: Sequence[Deleted]) -> int:
        """Write entries of an earlier ledger again, delete the memories that they name, and let
        nothing be learned from their turns; return how many memories were there."""
        ...

    async def come_back(self, tenant: Tenant, ledger: Sequence[Deleted]) -> ComeBack:
        """Return which documents and conversations of an earlier ledger are there."""
        ...

    async def let_go(self, tenant: Tenant, before: datetime) -> int:
        """Forget that anything was deleted before a moment; return of how many things."""
        ...
