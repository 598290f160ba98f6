"""Does a deletion reach every store, and say what it could not?"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import DataFolderUnusable, DocumentNotFound
from vademecum.model.ids import DocumentId, Tenant, new_uuid
from vademecum.model.purge import StoreReceipt
from vademecum.postgres.pool import Pool
from vademecum.purge.pipeline import PurgeParts, purge_document

TEXT = "The quokka sleeps beside the north gate until the doors open at nine."


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def ingested(bench: Bench, uri: str, text: str = TEXT) -> DocumentId:
    [result] = await bench.ingest(source(uri, text))
    assert result.id is not None
    return result.id


@dataclass(frozen=True)
class StuckBlobs:
    """A BlobStore whose folder cannot be written, but for the keys that are gone already."""

    error: Exception

    async def put(self, tenant: Tenant, content: bytes) -> str:
        raise self.error

    async def get(self, tenant: Tenant, key: str) -> bytes:
        raise self.error

    async def delete(self, tenant: Tenant, key: str) -> bool:
        raise self.error


async def test_the_receipt_counts_what_was_there(bench: Bench) -> None:
    document = await ingested(bench, "a")
    await ingested(bench, "a", f"{TEXT} And a second revision.")
    chunks = bench.count("chunk")
    await bench.app.search("quokka", scope=OPERATOR)
    receipt = await bench.app.catalogue.delete(document, scope=OPERATOR)
    found = {store.store: (store.found, store.deleted, store.left) for store in receipt.stores}
    assert found["postgres.documents"] == (1, 1, 0)
    assert found["postgres.revisions"] == (2, 2, 0)
    assert found["postgres.chunks"] == (chunks, chunks, 0)
    assert found["postgres.traces"] == (1, 1, 0)
    assert found["blobs"] == (2, 2, 0)
    assert receipt.complete
    assert all(store.why == "" for store in receipt.stores)
    assert bench.stored_files() == []
    assert bench.tables_with("quokka") == []


async def test_bytes_that_another_document_has_are_kept(bench: Bench) -> None:
    first, second = await ingested(bench, "a"), await ingested(bench, "b")
    receipt = await bench.app.catalogue.delete(first, scope=OPERATOR)
    assert receipt.stores[-1] == StoreReceipt(store="blobs", found=0, deleted=0, left=0, why="")
    assert receipt.complete
    assert len(bench.stored_files()) == 1
    assert await bench.found("quokka") == [TEXT]
    receipt = await bench.app.catalogue.delete(second, scope=OPERATOR)
    assert (receipt.stores[-1].found, receipt.stores[-1].deleted) == (1, 1)
    assert bench.stored_files() == []


async def test_bytes_that_cannot_go_are_named_and_served_no_more(bench: Bench) -> None:
    document = await ingested(bench, "a")
    await ingested(bench, "a", f"{TEXT} And a second revision.")
    stuck = StuckBlobs(DataFolderUnusable("the folder is read-only", hint="make it writable"))
    parts = PurgeParts(store=bench.documents, blobs=stuck)
    receipt = await purge_document(parts, OPERATOR, document)
    assert not receipt.complete
    assert receipt.stores[-1] == StoreReceipt(
        store="blobs", found=2, deleted=0, left=2, why="the folder is read-only. make it writable"
    )
    assert sum(store.left for store in receipt.stores[:-1]) == 0
    assert await bench.found("quokka") == []
    with pytest.raises(DocumentNotFound):
        await bench.documents.text(OPERATOR, document)


async def test_a_fault_of_ours_is_not_taken_for_a_full_disk(bench: Bench) -> None:
    parts = PurgeParts(store=bench.documents, blobs=StuckBlobs(ValueError("a key of ours")))
    document = await ingested(bench, "a")
    with pytest.raises(ValueError, match="a key of ours"):
        await purge_document(parts, OPERATOR, document)


async def test_a_blob_that_is_gone_already_is_no_fault(bench: Bench) -> None:
    document = await ingested(bench, "a")
    for path in bench.stored_files():
        path.unlink()
    receipt = await bench.app.catalogue.delete(document, scope=OPERATOR)
    assert (receipt.stores[-1].found, receipt.stores[-1].deleted) == (0, 0)
    assert receipt.complete


async def test_what_is_not_there_cannot_be_deleted(bench: Bench) -> None:
    with pytest.raises(DocumentNotFound):
        await bench.app.catalogue.delete(DocumentId(new_uuid()), scope=OPERATOR)
