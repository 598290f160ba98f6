"""Where can a test keep passages and records without a database?"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal, cast

import numpy as np

from vademecum.errors import ConversationNotFound, TraceNotFound
from vademecum.model.conversation import Begun, Finished, Past, Turn
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import (
    ChunkId,
    ConversationId,
    Principal,
    Tenant,
    TraceId,
    TurnId,
    new_uuid,
)
from vademecum.model.index import DenseHits, Selection, TermStatistics
from vademecum.model.memory import DEFAULT_PERSONA
from vademecum.model.passage import ConfirmedChunk, Hit
from vademecum.model.principal import TENANT_LABEL, Scope
from vademecum.model.trace import Trace
from vademecum.ports.embedder import TokenEncoder
from vademecum.ports.store import DocumentStore
from vademecum.rank.bm25 import document_weights
from vademecum.rank.maxsim import packed_signs
from vademecum.text.analyse import term_id, terms

_AVERAGE_LENGTH = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    """A chunk as the shelf keeps it: with its labels, its vector and its keyword weights."""

    source: ConfirmedChunk
    access: frozenset[str]
    vector: FloatArray
    signs: bytes
    terms: tuple[str, ...]


class Shelf:
    """Index, and that part of a DocumentStore which answering uses, over chunks in memory. It knows
    no filter and no past."""

    def __init__(self) -> None:
        self._rows: dict[ChunkId, Shelved] = {}

    @asynccontextmanager
    async def reading(self, scope: Scope) -> AsyncIterator["ShelfReader"]:
        """See `Index.reading`."""
        yield ShelfReader(self._visible(scope), scope.tenant)

    async def add(
        self,
        sources: Sequence[ConfirmedChunk],
        encoder: TokenEncoder,
        access: frozenset[str] = frozenset({TENANT_LABEL}),
    ) -> None:
        """Put chunks where the encoder's vectors and states and the keyword analysis find them."""
        texts = [source.chunk.embedded_text for source in sources]
        states = await encoder.encode(texts, "passage")
        for source, text, state in zip(sources, texts, states, strict=True):
            language = source.chunk.language
            self._rows[source.chunk.id] = Shelved(
                source=source,
                access=access,
                vector=state.vector,
                signs=packed_signs(state.states, encoder.centre(language)),
                terms=tuple(terms(text, language)),
            )

    @property
    def store(self) -> DocumentStore:
        """The shelf as a DocumentStore of which only `confirm` may be called."""
        return cast(DocumentStore, self)

    async def confirm(
        self,
        scope: Scope,
        chunk_ids: Sequence[ChunkId],
        as_of: date | None,
        *,
        sections: bool = False,
    ) -> dict[ChunkId, ConfirmedChunk]:
        wanted = set(chunk_ids)
        seen = (row.source for row in self._visible(scope))
        return {source.chunk.id: source for source in seen if source.chunk.id in wanted}

    def _visible(self, scope: Scope) -> list[Shelved]:
        return [
            row
            for row in self._rows.values()
            if (scope.operator or row.access & scope.labels)
            and (scope.collections is None or row.source.collection in scope.collections)
        ]


class ShelfReader:
    """The IndexReader of a Shelf."""

    def __init__(self, rows: Sequence[Shelved], tenant: Tenant) -> None:
        self._rows = rows
        self._weights = {
            row.source.chunk.id: document_weights(
                (term_id(term, tenant) for term in row.terms), _AVERAGE_LENGTH
            )
            for row in rows
        }

    async def languages(self) -> Mapping[str, int]:
        """See `IndexReader.languages`."""
        return Counter(row.source.chunk.language for row in self._rows)

    async def term_statistics(self, terms: Sequence[int]) -> TermStatistics:
        """See `IndexReader.term_statistics`."""
        held = Counter(term for weights in self._weights.values() for term in weights)
        return TermStatistics(
            chunks=len(self._rows), frequencies={term: held[term] for term in terms}
        )

    async def search_keyword(
        self,
        weights: Mapping[int, float],
        statistics: TermStatistics,
        selection: Selection,
        k: int,
        budget: int,
    ) -> list[Hit]:
        """See `IndexReader.search_keyword`."""
        scores = {
            chunk_id: sum(weight * own.get(term, 0.0) for term, weight in weights.items())
            for chunk_id, own in self._weights.items()
        }
        return _best({chunk_id: score for chunk_id, score in scores.items() if score > 0}, k)

    async def search_dense(self, query: FloatArray, selection: Selection, k: int) -> DenseHits:
        """See `IndexReader.search_dense`."""
        scores = {row.source.chunk.id: float(np.dot(row.vector, query)) for row in self._rows}
        return DenseHits(hits=tuple(_best(scores, k)), low=None, mixed=False, plan="exact")

    async def token_signs(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """See `IndexReader.token_signs`."""
        wanted = set(chunk_ids)
        return {
            row.source.chunk.id: row.signs for row in self._rows if row.source.chunk.id in wanted
        }


def _best(scores: Mapping[ChunkId, float], k: int) -> list[Hit]:
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [Hit(chunk_id=chunk_id, score=scores[chunk_id]) for chunk_id in order[:k]]


class InMemoryRecords:
    """RecordStore in memory: `traces` in the order of recording."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []

    async def record_trace(self, scope: Scope, trace: Trace) -> None:
        """See `RecordStore.record_trace`."""
        self.traces.append(trace)

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        """See `RecordStore.trace`."""
        for trace in self.traces:
            if trace.id == trace_id and (scope.operator or trace.principal == scope.principal):
                return trace
        raise TraceNotFound(f"there is no trace {trace_id}")


class InMemoryTalk:
    """The part of a ConversationStore that the answering line uses, in memory: `said` holds the
    turns of each conversation in the order of saving. What is finished goes to `records`."""

    def __init__(self, records: InMemoryRecords) -> None:
        self.said: dict[ConversationId, list[Turn]] = {}
        self._records = records
        self._owners: dict[ConversationId, Principal] = {}

    async def begin(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        question: str,
        *,
        persona: str | None,
        language: str,
        zone: str = "",
        again: bool = False,
        new: bool = True,
    ) -> Begun:
        """See `ConversationStore.begin`; nothing is asked again here."""
        if again:
            raise NotImplementedError
        if not new and conversation_id not in self._owners:
            raise ConversationNotFound(f"there is no conversation {conversation_id}")
        if self._owners.setdefault(conversation_id, scope.principal) != scope.principal:
            raise ConversationNotFound(f"there is no conversation {conversation_id}")
        turns = self.said.setdefault(conversation_id, [])
        past = Past(summary="", turns=tuple(turns))
        asked = _turn("user", question, len(turns), language=language)
        answer = replace(_turn("assistant", "", len(turns) + 1), state="writing", reply_to=asked.id)
        turns += [asked, answer]
        return Begun(
            persona=persona or DEFAULT_PERSONA,
            conversation_id=conversation_id,
            question_id=asked.id,
            answer_id=answer.id,
            past=past,
        )

    async def finish(self, scope: Scope, begun: Begun, said: Finished, trace: Trace) -> bool:
        """See `ConversationStore.finish`."""
        turns = self.said[begun.conversation_id]
        at = next(i for i, turn in enumerate(turns) if turn.id == begun.answer_id)
        turns[at] = replace(turns[at], text=said.text, state=said.state, trace_id=trace.id)
        await self._records.record_trace(scope, trace)
        return True


def _turn(role: Literal["user", "assistant"], text: str, place: int, language: str = "") -> Turn:
    return Turn(
        id=TurnId(new_uuid()),
        position=place + 1,
        role=role,
        text=text,
        state="complete",
        language=language,
        created_at=datetime.now(UTC),
    )
