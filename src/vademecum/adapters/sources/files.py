"""Documents from files, folders and patterns."""

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vademecum.errors import SourceNotFound, UsageError
from vademecum.ingest.accept import MOST_BYTES
from vademecum.model.document import MetadataValue, Refused, Source

_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the caller says of all documents of one call."""

    collection: str
    access: tuple[str, ...]
    metadata: Mapping[str, MetadataValue]
    language: str | None
    chunker: str | None = None


def find(paths: Sequence[str]) -> list[Path]:
    """Return the files that paths, folders and patterns name, each once, in a stable order.

    Hidden files and folders inside a folder are left out. Raises SourceNotFound for a path or
    pattern that names nothing.
    """
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text).expanduser()
        if path.is_dir():
            matches = list(_walk(path))
        elif path.exists():
            matches = [path]
        elif _PATTERN & set(text):
            matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            matches = [match for match in matches if match.is_file()]
            if not matches:
                raise SourceNotFound(f"nothing matches {text}", hint="check the pattern")
        else:
            raise SourceNotFound(f"there is no file or folder {text}", hint="check the path")
        found |= dict.fromkeys(Path(os.path.abspath(match)) for match in matches)
    return list(found)


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file():
                yield path


def read(
    paths: Sequence[Path], facts: Facts, *, base: Path | None = None
) -> Iterator[Source | Refused]:
    """Read files one by one; one that cannot be read costs itself only.

    The uri is the absolute path, or the path below `base` where that is given.
    """
    for path in paths:
        uri = path.relative_to(base).as_posix() if base else str(path)
        try:
            yield make(uri, content(path), facts)
        except OSError as error:
            yield Refused(uri=shown(uri), reason=f"it cannot be read ({error.strerror})")
        except UsageError as error:
            yield Refused(uri=shown(uri), reason=str(error))


def content(path: Path) -> bytes:
    """Return a file's bytes, or a little more than may be ingested. Raises: OSError."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)  # more is refused, whatever its size


def shown(uri: str) -> str:
    return uri.encode(errors="backslashreplace").decode()


def make(uri: str, content: bytes, facts: Facts) -> Source:
    """Return a Source of bytes under a uri. Raises UsageError for a uri that is not text."""
    try:
        uri.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "the name of a file is not valid text", hint="rename it, or give --uri"
        ) from error
    return Source(
        uri=uri,
        content=content,
        collection=facts.collection,
        access=facts.access,
        metadata=dict(facts.metadata),
        language=facts.language,
        title=None,
        chunker=facts.chunker,
    )
