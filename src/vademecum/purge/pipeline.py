"""How does a document go, with everything made from it? Rows first, then bytes, then the proof."""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.errors import DataFolderUnusable
from vademecum.model.ids import DocumentId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, StoreReceipt
from vademecum.ports.blobs import BlobStore
from vademecum.ports.store import DocumentStore, Outdated


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeParts:
    """Every store that may hold something of a document."""

    store: DocumentStore
    blobs: BlobStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Bytes:
    """What became of originals: the receipt, and the keys of those that are left."""

    receipt: StoreReceipt
    left: tuple[str, ...]


async def purge_document(parts: PurgeParts, scope: Scope, document_id: DocumentId) -> Receipt:
    """Delete a document from every store; the receipt counts what each held before and after.

    Raises: DocumentNotFound.
    """
    rows = await parts.store.delete(scope, document_id)
    return _receipt(rows.receipts, await purge_bytes(parts, scope, rows.blobs))


async def purge_version(
    parts: PurgeParts, scope: Scope, collection: str, uri: str, version: int
) -> Receipt | Outdated | None:
    """Delete what its source says is gone since `version`; what comes of that version or before
    is never taken again. None where there was nothing to delete. Raises: Forbidden."""
    rows = await parts.store.delete_version(scope, collection, uri, version)
    if rows is None or isinstance(rows, Outdated):
        return rows
    return _receipt(rows.receipts, await purge_bytes(parts, scope, rows.blobs))


async def purge_bytes(parts: PurgeParts, scope: Scope, blobs: Sequence[str]) -> Bytes:
    """Delete originals that no document names any more."""
    deleted = 0
    left: list[str] = []
    why = ""
    async with parts.store.unnamed(scope, blobs) as unnamed:
        for key in unnamed:
            try:
                deleted += await parts.blobs.delete(scope.tenant, key)
            except DataFolderUnusable as error:
                left.append(key)
                why = str(error)
    receipt = StoreReceipt(
        store="blobs", found=deleted + len(left), deleted=deleted, left=len(left), why=why
    )
    return Bytes(receipt=receipt, left=tuple(left))


def _receipt(rows: Sequence[StoreReceipt], gone: Bytes) -> Receipt:
    return Receipt(purge_id=str(new_uuid()), stores=(*rows, gone.receipt))
