"""What proves a deletion, and what is written down of it?"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from vademecum.model.ids import Principal, Tenant

DeletedKind = Literal["document", "conversation", "memory", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReceipt:
    """One store's part: how many things were found, deleted and left, and why any were left."""

    store: str
    found: int
    deleted: int
    left: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A deletion's proof. `complete` = nothing is left in any store that we hold. `scrubbed` = the
    bytes have also gone from table, index and log files."""

    purge_id: str
    stores: tuple[StoreReceipt, ...]
    scrubbed: bool = False

    @property
    def complete(self) -> bool:
        return all(store.left == 0 for store in self.stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An entry of the ledger: that a person was forgotten, without saying who. It is open while
    `completed_at` is None; `blobs_left` are keys of originals whose bytes would not go yet."""

    tenant: Tenant
    id: UUID
    subject: bytes
    requested_at: datetime
    completed_at: datetime | None
    blobs_left: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """An entry of the ledger: that something was deleted, by its id alone. Of a `turn`, that
    nothing may be learned from it any more."""

    tenant: Tenant
    kind: DeletedKind
    id: UUID
    deleted_at: datetime


def subject_of(tenant: Tenant, principal: Principal) -> bytes:
    """Return the hash by which a person stands in the ledger, 32 bytes of SHA-256. Whoever guesses
    the name can tell that it is there, and nothing else."""
    return hashlib.sha256(f"{tenant}\0{principal}".encode()).digest()


def counted(before: Mapping[str, int], after: Mapping[str, int]) -> list[StoreReceipt]:
    """Return a receipt for each table of the database, from its rows before and after a deletion;
    one that is not counted after it has none left."""
    return [
        StoreReceipt(
            store=f"postgres.{store}",
            found=found,
            deleted=found - after.get(store, 0),
            left=after.get(store, 0),
            why="",
        )
        for store, found in before.items()
    ]


def added_up(receipts: Iterable[StoreReceipt]) -> tuple[StoreReceipt, ...]:
    """Return one receipt a store, in the order of their first mention."""
    total: dict[str, StoreReceipt] = {}
    for own in receipts:
        so_far = total.get(own.store)
        total[own.store] = own if so_far is None else _plus(so_far, own)
    return tuple(total.values())


def _plus(one: StoreReceipt, other: StoreReceipt) -> StoreReceipt:
    return StoreReceipt(
        store=one.store,
        found=one.found + other.found,
        deleted=one.deleted + other.deleted,
        left=one.left + other.left,
        why=one.why or other.why,
    )
