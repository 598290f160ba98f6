"""How does a document go, with everything made from it? Rows first, then bytes, then the proof."""

from dataclasses import dataclass

from vademecum.model.ids import DocumentId, new_uuid
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt, StoreReceipt
from vademecum.ports.blobs import BlobStore
from vademecum.ports.store import DocumentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeParts:
    """Every store that may hold something of a document."""

    store: DocumentStore
    blobs: BlobStore


async def purge_document(parts: PurgeParts, scope: Scope, document_id: DocumentId) -> Receipt:
    """Delete a document from every store; the receipt counts what each held before and after.

    Raises: DocumentNotFound.
    """
    receipts, unnamed = await parts.store.delete(scope, document_id)
    deleted = 0
    for key in unnamed:
        deleted += await parts.blobs.delete(scope.tenant, key)
    blobs = StoreReceipt(store="blobs", found=len(unnamed), deleted=deleted, left=0, why="")
    return Receipt(purge_id=str(new_uuid()), stores=(*receipts, blobs))
