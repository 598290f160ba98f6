"""How good was it on somebody's own questions, and with what?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vademecum.model.ids import ChunkId, EvaluationId, Principal, TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one question: numbers and ids, no text of a document or an answer.

    `scores` maps each metric that could be measured to its value, `apart` each that could not to
    the reason; what is in neither does not apply. `chunks` are what was found, best first;
    `confidence` (0..1) is that of the search; `trace_id` names its trace.
    """

    question: str
    kind: str
    language: str
    answerable: bool
    scores: Mapping[str, float]
    apart: Mapping[str, str]
    chunks: tuple[ChunkId, ...]
    abstained: bool
    confidence: float
    trace_id: TraceId
    degraded: tuple[str, ...]
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A metric over a group of questions: "" is all of them, else `kind:code`, `language:ne`.

    `mean` is that of the `measured` questions, with the ends of its interval; `apart` counts by
    reason those that could not be measured.
    """

    group: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    measured: int
    apart: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One evaluation: which golden set (`name`, `sha256`), by whom and when, with which versions
    of everything, and `settings` that were set for it alone."""

    id: EvaluationId
    name: str
    sha256: str
    principal: Principal
    created_at: datetime
    seconds: float
    questions: int
    skipped: int
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    summaries: tuple[Summary, ...]
