"""Which proposals are true? PostgreSQL decides: alive, of the current revision, visible."""

from collections.abc import Mapping
from datetime import date

from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage, Signals
from vademecum.model.principal import Scope
from vademecum.ports.store import DocumentStore


async def confirm(
    store: DocumentStore, scope: Scope, candidates: Mapping[ChunkId, Signals], k: int, day: date
) -> tuple[Passage, ...]:
    """Return the best k candidates that the store confirms, with their text, ranked from 1."""
    confirmed = await store.confirm(scope, list(candidates), day) if candidates and k else {}
    kept = [(confirmed[item], signals) for item, signals in candidates.items() if item in confirmed]
    return tuple(
        Passage(rank=rank, score=signals.final, source=source, signals=signals)
        for rank, (source, signals) in enumerate(kept[:k], start=1)
    )
