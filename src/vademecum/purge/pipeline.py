"""How does a document go, with everything made from it? Rows first, then bytes, then the proof."""

from dataclasses import dataclass

from vademecum.errors import DataFolderUnusable
from vademecum.model.ids import DocumentId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, StoreReceipt
from vademecum.ports.blobs import BlobStore
from vademecum.ports.store import Deleted, DocumentStore, Outdated


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeParts:
    """Every store that may hold something of a document."""

    store: DocumentStore
    blobs: BlobStore


async def purge_document(parts: PurgeParts, scope: Scope, document_id: DocumentId) -> Receipt:
    """Delete a document from every store; the receipt counts what each held before and after.

    Raises: DocumentNotFound.
    """
    return await _with_bytes(parts, scope, await parts.store.delete(scope, document_id))


async def purge_version(
    parts: PurgeParts, scope: Scope, collection: str, uri: str, version: int
) -> Receipt | Outdated | None:
    """Delete what its source says is gone since `version`; what comes of that version or before
    is never taken again. None where there was nothing to delete. Raises: Forbidden."""
    deleted = await parts.store.delete_version(scope, collection, uri, version)
    if deleted is None or isinstance(deleted, Outdated):
        return deleted
    return await _with_bytes(parts, scope, deleted)


async def _with_bytes(parts: PurgeParts, scope: Scope, rows: Deleted) -> Receipt:
    deleted = left = 0
    why = ""
    async with parts.store.unnamed(scope, rows.blobs) as unnamed:
        for key in unnamed:
            try:
                deleted += await parts.blobs.delete(scope.tenant, key)
            except DataFolderUnusable as error:
                left, why = left + 1, str(error)
    blobs = StoreReceipt(store="blobs", found=deleted + left, deleted=deleted, left=left, why=why)
    return Receipt(purge_id=str(new_uuid()), stores=(*rows.receipts, blobs))
