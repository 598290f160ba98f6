"""What changed in a folder since it was read?"""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from vademecum.adapters.sources import files
from vademecum.adapters.sources.files import Facts
from vademecum.adapters.sources.places import Place, read
from vademecum.errors import UsageError
from vademecum.model.document import Deletion, Document, Refused, Source

Batch = list[Source | Refused | Deletion]


def folders(words: Sequence[str]) -> list[Path]:
    """Return the folders among the words of a call, absolute."""
    return [
        Path(word).expanduser().absolute() for word in words if Path(word).expanduser().is_dir()
    ]


def gone(
    documents: Sequence[Document], within: Sequence[Path], found: Sequence[Place], collection: str
) -> list[Deletion]:
    """Return the end of each known document of a collection whose file is gone from its folder.

    Raises: UsageError for a folder without any file: more likely it is not mounted.
    """
    uris = {place.uri for place in found}
    ended = []
    for folder in within:
        inside = [
            document.uri
            for document in documents
            if document.collection == collection and Path(document.uri).is_relative_to(folder)
        ]
        if inside and not any(Path(uri).is_relative_to(folder) for uri in uris):
            raise UsageError(
                f"there is no file in {folder}, of which {len(inside)} documents are known",
                hint="if that is right, delete them with `vade documents delete`",
            )
        ended += [uri for uri in inside if uri not in uris]
    return [Deletion(uri=uri, collection=collection, version=None) for uri in dict.fromkeys(ended)]


async def changes(within: Sequence[Path], facts: Facts) -> AsyncIterator[Batch]:
    """Yield what changes in folders, from now on, a batch at a time."""
    import watchfiles

    async for changed in watchfiles.awatch(*within):
        batch: Batch = []
        for _, name in sorted(changed, key=lambda entry: entry[1]):
            path = Path(name)
            if any(part.startswith(".") for part in _below(path, within).parts):
                continue
            if path.is_file():
                place = Place(uri=str(path), read=partial(files.content, path))
                batch += read([place], facts)
            elif not path.exists():
                batch.append(Deletion(uri=str(path), collection=facts.collection, version=None))
        if batch:
            yield batch


def _below(path: Path, within: Sequence[Path]) -> Path:
    for folder in within:
        if path.is_relative_to(folder):
            return path.relative_to(folder)
    return path
