"""What is written down of an answer, so that it can be explained later?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from vademecum.model.answer import Answer, Citation
from vademecum.model.filter_json import as_json
from vademecum.model.ids import ConversationId
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Query


def retrieval_record(retrieval: Retrieval) -> dict[str, Any]:
    """Return a search as its trace keeps it: candidates by id with every signal, no text."""
    return {
        "query": retrieval.query,
        "candidates": [candidate(passage) for passage in retrieval.passages],
        "abstain": asdict(retrieval.abstention),
        "degraded": list(retrieval.degraded),
        "timings_ms": dict(retrieval.timings_ms),
        "plan": retrieval.plan,
        "fusion": dict(retrieval.fusion),
        "filter": as_json(retrieval.filter) if retrieval.filter else None,
    }


def candidate(passage: Passage) -> dict[str, Any]:
    source = passage.source
    return {
        "rank": passage.rank,
        "chunk_id": str(source.chunk.id),
        "document_id": str(source.document_id),
        "uri": source.uri,
        "signals": asdict(passage.signals),
    }


def query_record(scope: Scope, query: Query) -> dict[str, Any]:
    """Return on whose behalf and for what a search was made, so that it can be made again."""
    return _sight(scope, query.collections, query.as_of) | {"k": query.k, "mode": query.mode}


def asked_record(scope: Scope, ask: Ask, conversation_id: ConversationId | None) -> dict[str, Any]:
    """Return on whose behalf and how a question was asked, so that it can be asked again."""
    return _sight(scope, ask.collections, ask.as_of) | {
        "filter": as_json(ask.filter) if ask.filter else None,
        "persona": ask.persona,
        "stage": ask.stage,
        "zone": ask.zone,
        "conversation_id": str(conversation_id) if conversation_id else None,
    }


def _sight(scope: Scope, collections: frozenset[str] | None, as_of: date | None) -> dict[str, Any]:
    return {
        "labels": sorted(scope.labels),
        "operator": scope.operator,
        "scope_collections": None if scope.collections is None else sorted(scope.collections),
        "collections": None if collections is None else sorted(collections),
        "as_of": as_of.isoformat() if as_of else None,
    }


def answer_record(
    answer: Answer,
    retrievals: Sequence[Retrieval],
    versions: Mapping[str, Any],
    removed: Sequence[str] = (),
    rewrite: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an ask as its trace keeps it; `removed` says why sentences were not shown, `rewrite`
    how the question became what was searched for."""
    return {
        "question": answer.question,
        "given_before": str(answer.given_before) if answer.given_before else None,
        "rewrite": dict(rewrite or {}),
        "searches": [retrieval_record(retrieval) for retrieval in retrievals],
        "mode": answer.mode,
        "abstained": answer.abstained,
        "sentences": [
            {
                "markers": list(s.markers),
                "support": s.support,
                "why": s.why,
                "letters": len(s.text),
            }
            for s in answer.sentences
        ],
        "citations": [_place(c) | {"support": c.support} for c in answer.citations],
        "conflicts": [
            {"sentence": c.sentence, "kind": c.kind} | _place(c.other) for c in answer.conflicts
        ],
        "memories": [
            {
                "memory_id": str(recalled.memory.id),
                "score": recalled.score,
                "signals": asdict(recalled.signals) if recalled.signals else None,
            }
            for recalled in answer.memories
        ],
        "removed": list(removed),
        "usage": asdict(answer.usage),
        "degraded": list(answer.degraded),
        "timings_ms": dict(answer.timings_ms),
        "versions": dict(versions),
    }


def _place(citation: Citation) -> dict[str, Any]:
    return {
        "marker": citation.marker,
        "chunk_id": str(citation.chunk_id),
        "document_id": str(citation.document_id),
        "start": citation.start,
        "end": citation.end,
    }
