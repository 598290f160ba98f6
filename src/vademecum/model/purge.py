"""What proves a deletion?"""

from dataclasses import dataclass


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
    """A deletion's proof. `complete` = nothing is left in any store that we hold."""

    purge_id: str
    stores: tuple[StoreReceipt, ...]

    @property
    def complete(self) -> bool:
        return all(store.left == 0 for store in self.stores)
