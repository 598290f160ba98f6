"""Which proposals are true? PostgreSQL decides: alive, in force, visible."""

from collections.abc import Mapping

from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage, Signals
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.ports.store import DocumentStore


async def confirm(
    store: DocumentStore, scope: Scope, candidates: Mapping[ChunkId, Signals], query: Query
) -> tuple[Passage, ...]:
    """Return the best candidates that the store confirms, with their text, ranked from 1."""
    confirmed = (
        await store.confirm(scope, list(candidates), query.as_of) if candidates and query.k else {}
    )
    kept = [(confirmed[item], signals) for item, signals in candidates.items() if item in confirmed]
    return tuple(
        Passage(rank=rank, score=signals.final, source=source, signals=signals)
        for rank, (source, signals) in enumerate(kept[: query.k], start=1)
    )
