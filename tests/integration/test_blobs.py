"""Are originals kept whole, apart by tenant, and only where we chose?"""

import asyncio
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from vademecum.adapters.blobs import folder as folder_module
from vademecum.adapters.blobs.folder import FolderBlobs
from vademecum.errors import DataFolderUnusable, DiskFull, NotFound
from vademecum.model.ids import DocumentId, Tenant, new_uuid
from vademecum.model.principal import Scope
from vademecum.ports.store import Deleted
from vademecum.purge.pipeline import PurgeParts, purge_document

RED, BLUE = Tenant("red"), Tenant("../../blue\x00/etc")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_equal_bytes_of_a_tenant_are_kept_once(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    key = await blobs.put(RED, b"content")
    assert key == hashlib.sha256(b"content").hexdigest()
    assert await blobs.put(RED, b"content") == key
    assert await blobs.get(RED, key) == b"content"
    assert len(files(tmp_path)) == 1
    assert await blobs.delete(RED, key)
    assert not await blobs.delete(RED, key)
    with pytest.raises(NotFound):
        await blobs.get(RED, key)
    assert files(tmp_path) == []


async def test_tenants_keep_apart_whatever_their_names(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    key = await blobs.put(RED, b"content")
    assert await blobs.put(BLUE, b"content") == key
    assert len(files(tmp_path / "blobs")) == len(files(tmp_path)) == 2
    await blobs.delete(RED, key)
    assert await blobs.get(BLUE, key) == b"content"


@pytest.mark.parametrize("content", [b"", b"\x00", bytes(range(256)) * 10_000])
async def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    blobs = FolderBlobs(tmp_path)
    assert await blobs.get(RED, await blobs.put(RED, content)) == content


@pytest.mark.parametrize(
    "key", ["../../out", "/etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "/"]
)
async def test_a_key_is_no_path(tmp_path: Path, key: str) -> None:
    blobs = FolderBlobs(tmp_path)
    for call in (blobs.get, blobs.delete):
        with pytest.raises(ValueError, match="sha256"):
            await call(RED, key)


async def test_twenty_writers_of_the_same_bytes(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    content = os.urandom(100_000)
    keys = await asyncio.gather(*(blobs.put(RED, content) for _ in range(20)))
    assert len(set(keys)) == 1
    assert [path.read_bytes() for path in files(tmp_path)] == [content]


async def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    blobs = FolderBlobs(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(folder_module.os, "fsync", full)
        with pytest.raises(DiskFull, match="no space left"):
            await blobs.put(RED, b"content")
    assert files(tmp_path) == []
    assert await blobs.put(RED, b"content")


async def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataFolderUnusable) as caught:
        await FolderBlobs(tmp_path / "file").put(RED, b"content")
    assert "VADE_HOME" in caught.value.hint


async def test_every_new_name_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: set[str] = set()
    fsync = os.fsync

    def seen(handle: int) -> None:
        flushed.add(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(folder_module.os, "fsync", seen)
    await FolderBlobs(tmp_path / "blobs").put(RED, b"content")
    (path,) = files(tmp_path)
    assert {str(folder) for folder in path.parents[:3]} <= flushed
    assert len(flushed) == 4, "the file and its three folders"


async def test_a_writer_that_is_killed_leaves_all_or_nothing(tmp_path: Path) -> None:
    """20 kills at different moments: every file in sight is whole; a deletion takes the rest."""
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from vademecum.adapters.blobs.folder import FolderBlobs\n"
        "async def main():\n"
        "    blobs = FolderBlobs(Path(sys.argv[1])); print('ready', flush=True)\n"
        "    while True:\n"
        "        for n in range(20): await blobs.put('red', bytes([n]) * 3_000_000)\n"
        "        for n in range(20): await blobs.delete('red', await blobs.put('red', bytes([n]) * 3_000_000))\n"
        "asyncio.run(main())"
    )
    blobs = FolderBlobs(tmp_path)
    for kill in range(20):
        await asyncio.to_thread(_killed, [sys.executable, "-c", code, str(tmp_path)], 0.01 * kill)
        for path in files(tmp_path):
            if not path.name.startswith("."):
                assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    for number in range(20):
        await blobs.delete(RED, await blobs.put(RED, bytes([number]) * 3_000_000))
    assert files(tmp_path) == []


def _killed(command: list[str], seconds: float) -> None:
    """Start a command, kill it so long after it has told that it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    process.communicate()


async def test_a_deletion_that_fails_is_told(tmp_path: Path) -> None:
    class Rows:
        async def delete(self, scope: Scope, document_id: DocumentId) -> Deleted:
            return Deleted(document_id=document_id, receipts=[], blobs=[stuck, gone])

        @asynccontextmanager
        async def unnamed(self, scope: Scope, blobs: Sequence[str]) -> AsyncIterator[list[str]]:
            yield list(blobs)

    blobs = FolderBlobs(tmp_path)
    stuck, gone = await blobs.put(RED, b"stuck"), await blobs.put(RED, b"gone")
    (path,) = (path for path in files(tmp_path) if path.name == stuck)
    path.unlink()
    path.mkdir()  # what no unlink removes, also for root
    parts = PurgeParts(store=Rows(), blobs=blobs)  # type: ignore[arg-type]
    receipt = await purge_document(parts, Scope.for_operator("red"), DocumentId(new_uuid()))
    (store,) = receipt.stores
    assert (store.found, store.deleted, store.left) == (2, 1, 1)
    assert "cannot be deleted" in store.why
    assert not receipt.complete


async def test_a_copy_knows_originals_by_name_and_takes_nothing_else_back(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "a")
    keys = [await blobs.put(tenant, b"one") for tenant in (Tenant("red"), Tenant("blue"))]
    names = blobs.names()
    assert len(names) == 2
    assert {name.rpartition("/")[2] for name in names} == set(keys)
    unfinished = blobs.file(names[0]).with_name(f".{keys[0]}-x")
    unfinished.write_bytes(b"half")
    assert blobs.names() == names
    other = FolderBlobs(tmp_path / "b")
    for name in names:
        assert other.bring_back(name, blobs.file(name).read_bytes())
    assert await other.get(Tenant("red"), keys[0]) == b"one"
    assert not other.bring_back(names[0], b"another")
    for climbing in ("../../etc/passwd", f"../{names[0]}", keys[0], "", names[0].upper()):
        assert not other.bring_back(climbing, b"one")
    assert other.names() == names
