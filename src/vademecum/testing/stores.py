"""Where can a test keep passages and records without a database?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast

import numpy as np

from vademecum.errors import ConversationNotFound, TraceNotFound
from vademecum.model.answer import Answer
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ChunkId, ConversationId, Principal, TraceId
from vademecum.model.index import TermStatistics
from vademecum.model.passage import ConfirmedChunk, Hit
from vademecum.model.principal import TENANT_LABEL, Scope
from vademecum.model.trace import Trace
from vademecum.ports.embedder import Embedder
from vademecum.ports.store import DocumentStore
from vademecum.rank.bm25 import TERM_SPACE, document_weights
from vademecum.text.analyse import term_id, terms

_AVERAGE_LENGTH = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    """A chunk as the shelf keeps it: with its labels, its vector and its keyword weights."""

    source: ConfirmedChunk
    access: frozenset[str]
    vector: FloatArray
    weights: Mapping[int, float]


class Shelf:
    """Index, and that part of a DocumentStore which answering uses, over chunks in memory."""

    def __init__(self) -> None:
        self._rows: dict[ChunkId, Shelved] = {}

    async def add(
        self,
        sources: Sequence[ConfirmedChunk],
        embedder: Embedder,
        access: frozenset[str] = frozenset({TENANT_LABEL}),
    ) -> None:
        """Put chunks where `embedder` and the keyword analysis find them."""
        texts = [source.chunk.embedded_text for source in sources]
        vectors = await embedder.embed(texts, "passage")
        for source, text, vector in zip(sources, texts, vectors, strict=True):
            held = (term_id(term, TERM_SPACE) for term in terms(text, source.chunk.language))
            self._rows[source.chunk.id] = Shelved(
                source=source,
                access=access,
                vector=vector,
                weights=document_weights(held, _AVERAGE_LENGTH),
            )

    @property
    def store(self) -> DocumentStore:
        """The shelf as a DocumentStore of which only `languages` and `confirm` may be called."""
        return cast(DocumentStore, self)

    async def languages(self, scope: Scope) -> frozenset[str]:
        return frozenset(row.source.chunk.language for row in self._visible(scope))

    async def confirm(
        self, scope: Scope, chunk_ids: Sequence[ChunkId], as_of: date | None
    ) -> dict[ChunkId, ConfirmedChunk]:
        wanted = set(chunk_ids)
        seen = (row.source for row in self._visible(scope))
        return {source.chunk.id: source for source in seen if source.chunk.id in wanted}

    async def search_dense(
        self, scope: Scope, query: FloatArray, k: int, as_of: date | None
    ) -> list[Hit]:
        return _best(
            {r.source.chunk.id: float(np.dot(r.vector, query)) for r in self._visible(scope)}, k
        )

    async def term_statistics(
        self, scope: Scope, terms: Sequence[int], as_of: date | None
    ) -> TermStatistics:
        rows = self._visible(scope)
        frequencies = {term: sum(term in row.weights for row in rows) for term in terms}
        return TermStatistics(chunks=len(rows), frequencies=frequencies)

    async def search_keyword(
        self, scope: Scope, query_weights: Mapping[int, float], k: int, as_of: date | None
    ) -> list[Hit]:
        scores = {
            row.source.chunk.id: sum(
                weight * row.weights.get(term, 0.0) for term, weight in query_weights.items()
            )
            for row in self._visible(scope)
        }
        return _best({chunk_id: score for chunk_id, score in scores.items() if score > 0}, k)

    def _visible(self, scope: Scope) -> list[Shelved]:
        return [
            row
            for row in self._rows.values()
            if (scope.operator or row.access & scope.labels)
            and (scope.collections is None or row.source.collection in scope.collections)
        ]


def _best(scores: Mapping[ChunkId, float], k: int) -> list[Hit]:
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [Hit(chunk_id=chunk_id, score=scores[chunk_id]) for chunk_id in order[:k]]


class InMemoryRecords:
    """RecordStore in memory: `answers` and `traces` in the order of recording."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.traces: list[Trace] = []
        self._owners: dict[ConversationId, Principal] = {}

    async def record_answer(self, scope: Scope, answer: Answer, trace: Trace) -> None:
        """See `RecordStore.record_answer`."""
        owner = self._owners.setdefault(answer.conversation_id, scope.principal)
        if owner != scope.principal:
            raise ConversationNotFound(f"there is no conversation {answer.conversation_id}")
        self.answers.append(answer)
        await self.record_trace(scope, trace)

    async def record_trace(self, scope: Scope, trace: Trace) -> None:
        """See `RecordStore.record_trace`."""
        self.traces.append(trace)

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        """See `RecordStore.trace`."""
        for trace in self.traces:
            if trace.id == trace_id and (scope.operator or trace.principal == scope.principal):
                return trace
        raise TraceNotFound(f"there is no trace {trace_id}")

    async def turns(self, scope: Scope, conversation_id: ConversationId) -> list[tuple[str, str]]:
        """See `RecordStore.turns`."""
        if self._owners.get(conversation_id) != scope.principal:
            raise ConversationNotFound(f"there is no conversation {conversation_id}")
        said = [a for a in self.answers if a.conversation_id == conversation_id]
        return [turn for a in said for turn in (("user", a.question), ("assistant", a.text))]
