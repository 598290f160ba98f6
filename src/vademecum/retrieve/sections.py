"""Which larger stretch answers in the place of a chunk that was found?"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from vademecum.deadline import answered
from vademecum.model.ids import ChunkId
from vademecum.model.passage import ConfirmedChunk, Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.ports.store import DocumentStore


async def in_sections(
    store: DocumentStore,
    scope: Scope,
    searches: Sequence[Retrieval],
    as_of: date | None,
    seconds: float,
) -> list[Retrieval]:
    """Return the searches of one question with the sections of their passages, each once in a
    search, at the place of its best chunk and under that chunk's id in all of them.

    The store confirms each again as it reads its section, so what was hidden or replaced meanwhile
    is left out. Chunks without a section stay as they are; where none has one, the store, which
    has `seconds`, is not asked. Raises: DatabaseAway.
    """
    passages = sorted((p for s in searches for p in s.passages), key=lambda p: p.rank)
    parts = {p.source.chunk.id: None for p in passages if p.source.chunk.section is not None}
    if not parts:
        return list(searches)
    confirming = store.confirm(scope, list(parts), as_of, sections=True)
    found = await answered(confirming, seconds)
    # A section goes by the name of its best chunk of all searches, so that it is one source.
    shown: dict[tuple[object, ...], ConfirmedChunk] = {}
    for item in parts:
        if item in found:
            shown.setdefault(_place(found[item]), found[item])
    named = {item: shown[_place(own)] for item, own in found.items()}
    return [_with_sections(search, parts.keys() - found.keys(), named) for search in searches]


def _place(source: ConfirmedChunk) -> tuple[object, ...]:
    return source.document_id, source.revision, source.chunk.start, source.chunk.end


def _with_sections(
    search: Retrieval, gone: set[ChunkId], named: dict[ChunkId, ConfirmedChunk]
) -> Retrieval:
    kept: dict[ChunkId, Passage] = {}
    for passage in search.passages:
        own = passage.source.chunk.id
        source = named.get(own, passage.source)
        if own not in gone and source.chunk.id not in kept:
            kept[source.chunk.id] = replace(passage, rank=len(kept) + 1, source=source)
    return replace(search, passages=tuple(kept.values()))
