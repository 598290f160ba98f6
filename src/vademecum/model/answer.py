"""What does a person get back, and what backs each sentence?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from vademecum.model.ids import (
    ChunkId,
    ConversationId,
    DocumentId,
    MemoryId,
    TraceId,
    TurnId,
)
from vademecum.model.memory import Recalled
from vademecum.model.passage import Passage

Support = Literal["supported", "partly", "unsupported"]
AnswerMode = Literal["extractive", "generated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A pointer to evidence: code points `start:end` of the document's extracted text."""

    marker: int
    chunk_id: ChunkId
    document_id: DocumentId
    uri: str
    title: str
    page_start: int | None
    page_end: int | None
    start: int
    end: int
    quote: str
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of the answer with the markers of the citations that back it.

    `why` names what kept it from being supported: number, unit, date, code, name, negation, roles,
    quotation, similarity, instruction, too short, no source, or "". `memories` are those of the
    person that say it, where no source does.
    """

    text: str
    markers: tuple[int, ...]
    support: Support
    why: str = ""
    memories: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another document that says otherwise than the sentence of that number, from 0: what it says
    is `other`, whose marker is that of the citation it stands against. `kind` is number, date or
    denial; each side is in force since its day."""

    sentence: int
    kind: str
    since: datetime
    other: Citation
    other_since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; 0 where no language model was used."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A checked answer, or an abstention (`abstained`, no citations).

    `memories` are those that were recalled for it; `asked_turn_id` is the turn of the question,
    `turn_id` that of the answer. These and `conversation_id` are None where nothing is kept of it.
    `given_before` is the trace of the answer that is given again here, None for a fresh one;
    `reworded` tells that it was given to another wording of the question, perhaps to somebody else;
    `conflicts` are other sources that say otherwise; `as_of` is the day that was asked about, None
    for now. `searched` are the texts that were searched for, and `collections` where, None for
    everywhere: an abstention says so, and `passages` are then what came nearest.
    """

    question: str
    text: str
    abstained: bool
    mode: AnswerMode
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    passages: tuple[Passage, ...]
    degraded: tuple[str, ...]
    usage: Usage
    timings_ms: Mapping[str, float]
    conversation_id: ConversationId | None
    turn_id: TurnId | None
    trace_id: TraceId
    asked_turn_id: TurnId | None
    memories: tuple[Recalled, ...] = ()
    given_before: TraceId | None = None
    conflicts: tuple[Conflict, ...] = ()
    as_of: date | None = None
    searched: tuple[str, ...] = ()
    collections: frozenset[str] | None = None
    reworded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """Event: what was found, before an answer is written."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Event: a sentence that has passed the citation check, with the citations it brings."""

    mode: AnswerMode
    sentence: Sentence
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Event: the whole answer; always the last one."""

    answer: Answer


Event = Retrieved | Checked | Done
