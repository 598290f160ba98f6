"""What does a test of evaluation begin with? Results, answers and runs with the values it names."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from vademecum.model.answer import Answer, Citation, Sentence, Usage
from vademecum.model.evaluation import Result, Run
from vademecum.model.ids import (
    ChunkId,
    DocumentId,
    EvaluationId,
    Principal,
    TraceId,
)

DOCUMENT = DocumentId(UUID(int=99))


def chunk(number: int) -> ChunkId:
    return ChunkId(UUID(int=number))


def result(question: str, **values: Any) -> Result:
    """A result of a question with an answer, unless told otherwise."""
    known: dict[str, Any] = {
        "question": question,
        "kind": "concept",
        "language": "en",
        "answerable": True,
        "scores": {},
        "apart": {},
        "chunks": (),
        "abstained": False,
        "confidence": 0.9,
        "trace_id": TraceId(UUID(int=1)),
        "degraded": (),
        "milliseconds": 1.0,
    }
    return Result(**(known | values))


def run(**values: Any) -> Run:
    known: dict[str, Any] = {
        "id": EvaluationId(UUID(int=5)),
        "name": "golden.jsonl",
        "sha256": "0" * 64,
        "principal": Principal("user:local"),
        "created_at": datetime(2026, 5, 1, tzinfo=UTC),
        "seconds": 1.0,
        "questions": 2,
        "skipped": 0,
        "settings": {},
        "versions": {"code": "1"},
        "summaries": (),
    }
    return Run(**(known | values))


def sentence(support: str) -> Sentence:
    return Sentence(text="It is so.", markers=(1,), support=support)  # type: ignore[arg-type]


def citation(start: int, end: int, document: DocumentId = DOCUMENT) -> Citation:
    return Citation(
        marker=1, chunk_id=chunk(1), document_id=document, uri="a.md", title="a", page_start=None,
        page_end=None, start=start, end=end, quote="x" * (end - start), support="supported",
    )  # fmt: skip


def answer(text: str = "", **values: Any) -> Answer:
    known: dict[str, Any] = {
        "question": "?",
        "text": text,
        "abstained": False,
        "mode": "extractive",
        "sentences": (),
        "citations": (),
        "passages": (),
        "degraded": (),
        "usage": Usage(prompt_tokens=0, completion_tokens=0),
        "timings_ms": {},
        "conversation_id": None,
        "turn_id": None,
        "trace_id": TraceId(UUID(int=2)),
        "asked_turn_id": None,
    }
    return Answer(**(known | values))
