"""What does an index propose (Hit), and what has been confirmed and may be read (Passage)?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vademecum.model.chunk import Chunk
from vademecum.model.filter import Filter
from vademecum.model.ids import ChunkId, DocumentId, TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An index's proposal. `score` is higher-is-better within one list."""

    chunk_id: ChunkId
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Every number that ranked a passage. None = that leg did not see it.

    `dense` is a cosine (less that of the mean of the chunk's language, where a search goes over
    several languages), `keyword` BM25 with the (k1 + 1) factor, `keyword_share` the share U of
    the query's idf mass that the passage carries (0..1), ranks count from 1. `fused` is the first
    order's score, `maxsim` late interaction (-1..1), `reranked` the score of a reranker that was
    asked, on its own scale, `final` what the passages are ordered by.
    """

    dense: float | None = None
    dense_rank: int | None = None
    keyword: float | None = None
    keyword_rank: int | None = None
    keyword_share: float | None = None
    ngram_share: float | None = None
    fused: float = 0.0
    maxsim: float | None = None
    reranked: float | None = None
    final: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedChunk:
    """A chunk that the store says is alive, of a revision in force, and visible to the scope.

    `revision` is that revision's number, in force since `since`; `metadata` are its own.
    """

    chunk: Chunk
    document_id: DocumentId
    uri: str
    title: str
    collection: str
    metadata: Mapping[str, Any]
    revision: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A confirmed chunk with its place in one answer's ranking (`rank` from 1)."""

    rank: int
    score: float
    source: ConfirmedChunk
    signals: Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """Whether the passages look unable to answer. `confidence` of answering lies in 0..1;
    `signals` are what late interaction and cosines told it by, {} where words or nothing did."""

    would: bool
    reason: str
    confidence: float
    signals: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What retrieval found, with everything a trace needs: `plan` tells how the dense leg searched,
    `fusion` how the legs were merged, `filter` which documents were asked, None for all."""

    query: str
    passages: tuple[Passage, ...]
    abstention: Abstention
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    plan: str
    fusion: Mapping[str, Any]
    filter: Filter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search's result and the trace that explains it."""

    retrieval: Retrieval
    trace_id: TraceId
