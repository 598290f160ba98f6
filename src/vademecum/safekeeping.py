"""What does a backup hold, and how does it come back without what was forgotten since?

A backup is a tar: `manifest.json`, `ledger.json`, `database.dump`, the originals under `blobs/`.
The ledger says who was forgotten, what was deleted and which keys were ended, by hashes and ids
alone. Whatever is restored is first made to forget and end them again; only then does it take the
place of what is in use.
"""

import asyncio
import hashlib
import importlib.metadata
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vademecum.adapters.blobs.folder import FolderBlobs
from vademecum.catalogue import catalogue_over
from vademecum.errors import DataFolderUnusable, UsageError
from vademecum.ledger import NOTHING, Ledger, ledger_json, read_ledger
from vademecum.model.ids import Tenant
from vademecum.opening import Tell, silent
from vademecum.postgres import backup, embedded
from vademecum.postgres.migrate import migrate, migrations
from vademecum.postgres.pool import open_pool
from vademecum.purge.again import delete_again
from vademecum.purge.person import replay
from vademecum.settings import Loaded

_FORMAT = 1
_MANIFEST, _LEDGER, _DUMP, _BLOBS = "manifest.json", "ledger.json", "database.dump", "blobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A backup that was written: its size in bytes, how many originals, how many erasures."""

    path: Path
    bytes: int
    blobs: int
    erasures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back, and what was made to go again: `forgotten` people, `deleted` documents,
    conversations and memories. `keys_ended` counts keys ended now."""

    made_at: datetime
    blobs: int
    migrated: tuple[str, ...]
    forgotten: int
    deleted: int
    keys_ended: int


def keep(loaded: Loaded, path: Path, *, tell: Tell = silent) -> Kept:
    """Write a backup of everything into a new file. The service may run meanwhile.

    Raises: UsageError where the file is there; DatabaseUnusable, DataFolderUnusable.
    """
    _check_new(path)
    blobs = FolderBlobs(loaded.home / _BLOBS)
    with _database(loaded, tell) as url, tempfile.TemporaryDirectory(dir=path.parent) as folder:
        ledger = ledger_of(url)
        # Originals first, and again what came meanwhile: each one that the dump names is there.
        known = blobs.names()
        tell("writing the database")
        dumped = Path(folder) / _DUMP
        backup.dump(url, dumped)
        unfinished = Path(folder) / "backup.tar"
        with tarfile.open(unfinished, "w") as tar:
            _add(tar, _MANIFEST, _manifest(dumped))
            _add(tar, _LEDGER, ledger_json(ledger))
            tar.add(dumped, _DUMP)
            tell("writing the originals")
            names = sorted({*known, *blobs.names()})
            count = sum(_add_file(tar, blobs.file(name), f"{_BLOBS}/{name}") for name in names)
        unfinished.chmod(0o600)
        unfinished.rename(path)
    return Kept(path=path, bytes=path.stat().st_size, blobs=count, erasures=len(ledger.erasures))


def _check_new(path: Path) -> None:
    """Refuse a file that is there, or whose folder is not. Raises: UsageError."""
    if path.exists():
        raise UsageError(f"{path} is there already", hint="give a name that is not taken")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", hint="make it first")


def ledger_of(url: str) -> Ledger:
    """Return the ledger of a migrated database."""
    return Ledger(
        erasures=tuple(backup.erasures(url)),
        deletions=tuple(backup.deletions(url)),
        revoked=tuple(backup.revoked_keys(url)),
    )


def keep_ledger(loaded: Loaded, path: Path, *, tell: Tell = silent) -> Ledger:
    """Write only the ledger, small enough for every hour. Raises: UsageError."""
    _check_new(path)
    with _database(loaded, tell) as url:
        ledger = ledger_of(url)
    path.write_bytes(ledger_json(ledger))
    return ledger


def restore(
    loaded: Loaded,
    path: Path,
    *,
    ledger: Path | None,
    without_ledger: bool,
    replace: bool,
    tell: Tell = silent,
) -> Restored:
    """Bring a backup back into the embedded server, without whom was forgotten since.

    What was forgotten is known from the database in use, from `ledger`, and from the backup. Where
    there is neither of the first two, `without_ledger` must say that this is known; then every key
    is ended, since some may have been. `replace` allows that something is in use now.

    Raises: UsageError, DataFolderUnusable, DatabaseUnusable, MigrationFailed.
    """
    if loaded.settings.database.url is not None:
        raise UsageError(
            "a backup comes back into the embedded server",
            hint="unset DATABASE_URL; move it on with pg_dump then",
        )
    with (
        _database(loaded, tell) as url,
        _opened(path) as tar,
        tempfile.TemporaryDirectory(dir=loaded.home) as folder,
    ):
        manifest = _checked_manifest(tar, path)
        used = backup.holds_data(url)
        if used and not replace:
            raise UsageError(
                "there is something in this data folder", hint="give --replace to lose it"
            )
        if not (used or ledger or without_ledger):
            raise UsageError(
                "nothing tells who was forgotten since this backup",
                hint="give --ledger FILE, or --without-ledger if there is none",
            )
        since = read_ledger(ledger.read_bytes(), ledger) if ledger else NOTHING
        now = ledger_of(url) if used else NOTHING
        own = read_ledger(_member(tar, _LEDGER, path), path)
        known = own + now + since
        dumped = Path(folder) / _DUMP
        _extract_dump(tar, dumped, manifest, path)
        with backup.restored_beside(url) as beside:
            tell("loading the database")
            backup.load_dump(beside, dumped)
            migrated = migrate(beside)
            ended = backup.end_keys(beside, known.revoked if used or ledger else None)
            tell("bringing the originals")
            blobs = _extract_blobs(tar, FolderBlobs(loaded.home / _BLOBS))
            forgotten, deleted = asyncio.run(_forget_again(beside, loaded.home / _BLOBS, known))
    return Restored(
        made_at=datetime.fromisoformat(manifest["made_at"]),
        blobs=blobs,
        migrated=tuple(migrated),
        forgotten=forgotten,
        deleted=deleted,
        keys_ended=ended,
    )


async def _forget_again(url: str, blobs: Path, ledger: Ledger) -> tuple[int, int]:
    """Return how many people were forgotten again, and how many things were deleted again."""
    forgotten = deleted = 0
    async with open_pool(url, size=2) as pool:
        catalogue = catalogue_over(pool, blobs)
        for tenant in _tenants(url, ledger):
            forgotten += await replay(catalogue.person_parts, tenant, ledger.erasures)
            deleted += await delete_again(catalogue.again_parts, tenant, ledger.deletions)
    return forgotten, deleted


def _tenants(url: str, ledger: Ledger) -> list[Tenant]:
    named = {entry.tenant for entry in ledger.erasures}
    named |= {entry.tenant for entry in ledger.deletions}
    return sorted({*backup.tenants(url), *named})


@contextmanager
def _database(loaded: Loaded, tell: Tell) -> Iterator[str]:
    """Yield the address of a login that sees all rows; the schema is up to date."""
    database = loaded.settings.database
    if database.url is not None:
        url = (database.owner_url or database.url).get_secret_value()
        migrate(url)
        yield url
        return
    server = embedded.start(loaded.home, progress=tell)
    try:
        migrate(server.url)
        yield server.url
    finally:
        server.close()


def _manifest(dumped: Path) -> bytes:
    return _json(
        {
            "format": _FORMAT,
            "version": importlib.metadata.version("vademecum"),
            "schema": migrations()[-1].name,
            "made_at": datetime.now(UTC).isoformat(),
            "database_sha256": _sha256(dumped),
        }
    )


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    tar.addfile(member, io.BytesIO(content))


def _add_file(tar: tarfile.TarFile, path: Path, name: str) -> bool:
    """Add a file; False where it was deleted meanwhile, with its document."""
    try:
        tar.add(path, name)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        tar = tarfile.open(path, "r:")  # noqa: SIM115  # closed below
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}", hint="check the path") from error
    except (tarfile.TarError, OSError) as error:
        raise _damaged(path) from error
    with tar:
        yield tar


def _damaged(path: Path) -> DataFolderUnusable:
    return DataFolderUnusable(f"{path} is no whole backup", hint="take another one")


def _member(tar: tarfile.TarFile, name: str, path: Path) -> bytes:
    try:
        file = tar.extractfile(name)
    except (KeyError, tarfile.TarError, OSError) as error:
        raise _damaged(path) from error
    if file is None:
        raise _damaged(path)
    return file.read()


def _checked_manifest(tar: tarfile.TarFile, path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(_member(tar, _MANIFEST, path))
        known = manifest["format"] == _FORMAT
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path) from error
    if not known or manifest["schema"] not in {step.name for step in migrations()}:
        raise UsageError(
            f"{path} was made by a newer release ({manifest.get('version', '')})",
            hint="restore it with that release or a later one",
        )
    return manifest


def _extract_dump(tar: tarfile.TarFile, target: Path, manifest: dict[str, Any], path: Path) -> None:
    try:
        file = tar.extractfile(_DUMP)
        if file is None:
            raise _damaged(path)
        with target.open("wb") as out:
            shutil.copyfileobj(file, out)
    except (KeyError, tarfile.TarError, OSError) as error:
        raise _damaged(path) from error
    if _sha256(target) != manifest["database_sha256"]:
        raise _damaged(path)


def _extract_blobs(tar: tarfile.TarFile, blobs: FolderBlobs) -> int:
    """Bring back the originals, each under the name that its content gives it, and no other."""
    count = 0
    for member in tar:
        place, _, name = member.name.partition("/")
        if place != _BLOBS or not member.isfile():
            continue
        file = tar.extractfile(member)
        if not blobs.bring_back(name, file.read() if file else b""):
            raise DataFolderUnusable(
                f"the original {name.rpartition('/')[2][:12]} is damaged in this backup",
                hint="take another one",
            )
        count += 1
    return count


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, indent=2).encode() + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
