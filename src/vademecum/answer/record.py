"""What is written down of an answer, so that it can be explained later?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vademecum.model.answer import Answer
from vademecum.model.filter_json import as_json
from vademecum.model.passage import Passage, Retrieval


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
        "citations": [
            {
                "marker": c.marker,
                "chunk_id": str(c.chunk_id),
                "document_id": str(c.document_id),
                "start": c.start,
                "end": c.end,
                "support": c.support,
            }
            for c in answer.citations
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
