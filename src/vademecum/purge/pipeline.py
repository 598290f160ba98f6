"""How does a document go, with everything made from it? Rows first, then bytes, then the proof."""

from dataclasses import dataclass

from vademecum.errors import DataFolderUnusable
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
    deleted = left = 0
    why = ""
    for key in unnamed:
        try:
            deleted += await parts.blobs.delete(scope.tenant, key)
        except DataFolderUnusable as error:
            left, why = left + 1, str(error)
    blobs = StoreReceipt(store="blobs", found=deleted + left, deleted=deleted, left=left, why=why)
    return Receipt(purge_id=str(new_uuid()), stores=(*receipts, blobs))
