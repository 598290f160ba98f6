"""Originals in a local folder, under names that come from their content alone."""

import asyncio
import errno
import hashlib
import os
import re
import tempfile
from datetime import datetime
from pathlib import Path

from vademecum.errors import DataFolderUnusable, DiskFull, NotFound
from vademecum.model.ids import Tenant
from vademecum.ports.blobs import content_key

_KEY = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[0-9a-f]{16}/([0-9a-f]{2})/(\1[0-9a-f]{62})")


class FolderBlobs:
    """The BlobStore on a folder: `<hash of tenant>/<two digits>/<sha256 of content>`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, tenant: Tenant, content: bytes) -> str:
        return await asyncio.to_thread(self._put, tenant, content)

    async def get(self, tenant: Tenant, key: str) -> bytes:
        path = self._path(tenant, key)
        try:
            return await asyncio.to_thread(path.read_bytes)
        except FileNotFoundError as error:
            raise NotFound(
                "the original of a document is gone from the blob store",
                hint="ingest the document again",
            ) from error

    async def has(self, tenant: Tenant, key: str) -> bool:
        return await asyncio.to_thread(self._path(tenant, key).exists)

    async def aged(self, tenant: Tenant, before: datetime) -> list[str]:
        return await asyncio.to_thread(self._aged, tenant, before)

    async def delete(self, tenant: Tenant, key: str) -> bool:
        path = self._path(tenant, key)
        try:
            for unfinished in path.parent.glob(f".{key}-*"):  # of a writer that was killed
                await asyncio.to_thread(unfinished.unlink)
            await asyncio.to_thread(path.unlink)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise DataFolderUnusable(
                f"{path} cannot be deleted ({error.strerror})",
                hint="make the data folder writable and delete the file",
            ) from error
        return True

    def names(self) -> list[str]:
        """Return the name below the folder of every original, of all tenants, for a copy. What is
        still being written is none."""
        found = (path for path in self._folder.glob("*/*/*") if path.is_file())
        names = (path.relative_to(self._folder).as_posix() for path in found)
        return sorted(name for name in names if _NAME.fullmatch(name))

    def file(self, name: str) -> Path:
        """Return the file of an original by its name; it may be deleted meanwhile."""
        return self._folder / name

    def bring_back(self, name: str, content: bytes) -> bool:
        """Put an original of a copy in its place. False where that is no name of ours, or not that
        of this content."""
        named = _NAME.fullmatch(name)
        if named is None or named.group(2) != content_key(content):
            return False
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return True

    def _path(self, tenant: Tenant, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError("a blob key is a sha256 in hexadecimal")
        return self._of(tenant) / key[:2] / key

    def _of(self, tenant: Tenant) -> Path:
        return self._folder / hashlib.sha256(tenant.encode()).hexdigest()[:16]

    def _aged(self, tenant: Tenant, before: datetime) -> list[str]:
        return [
            path.name
            for path in self._of(tenant).glob("*/*")
            if _KEY.fullmatch(path.name) and path.stat().st_mtime < before.timestamp()
        ]

    def _put(self, tenant: Tenant, content: bytes) -> str:
        key = content_key(content)
        path = self._path(tenant, key)
        try:
            if path.exists():
                os.utime(path)  # it is wanted now, whatever its age
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                _write_durably(path, content)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise DiskFull(
                    f"no space left in {self._folder}",
                    hint="free some space; the document was not accepted",
                ) from error
            raise DataFolderUnusable(
                f"{self._folder} cannot be written ({error.strerror})",
                hint="set VADE_HOME to a folder that you may write",
            ) from error
        return key


def _write_durably(path: Path, content: bytes) -> None:
    """Write beside, flush to disk, then rename: a reader sees all of it or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).rename(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    # The folders' own names must be safe too: both may be new.
    for folder in path.parents[:3]:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
