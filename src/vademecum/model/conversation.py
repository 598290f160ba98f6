"""What was said, by whom, and what is left of it in short?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from vademecum.model.ids import ChunkId, ConversationId, DocumentId, Principal, TraceId, TurnId

Speaker = Literal["user", "assistant"]
TurnState = Literal["writing", "complete", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message. `position` is its place in the order of saving, never used twice.

    An answer names its question in `reply_to`; `variant` counts the answers to one question, from
    0. While it is `writing` its text is empty; `interrupted` is as far as it was written. `speaker`
    is a name, where the role does not tell who spoke. `language` is an ISO 639-1 code, `und` or
    empty where it is not known; `zone` is the speaker's time zone, an IANA name, or empty.
    """

    id: TurnId
    position: int
    role: Speaker
    text: str
    state: TurnState
    created_at: datetime
    speaker: str = ""
    reply_to: TurnId | None = None
    variant: int = 0
    language: str = ""
    used_chunks: tuple[ChunkId, ...] = ()
    used_memories: tuple[UUID, ...] = ()
    trace_id: TraceId | None = None
    zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A stored dialogue. `summary` tells of its turns up to the position `summary_through`, 0
    where there is none; the turns themselves stay. `turns` counts them all."""

    id: ConversationId
    principal: Principal
    persona: str
    title: str
    summary: str
    summary_through: int
    summary_version: int
    created_at: datetime
    last_at: datetime
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a conversation has said so far: its summary, and every turn that is not in it."""

    summary: str
    turns: tuple[Turn, ...]


NO_PAST = Past(summary="", turns=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A question that is safe with us, the place kept for its answer, and what was said before."""

    conversation_id: ConversationId
    persona: str
    question_id: TurnId
    answer_id: TurnId
    past: Past


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What takes the kept place: the answer, or as much of it as was written. `documents` are
    those whose text it may hold."""

    text: str
    state: TurnState
    language: str
    used_chunks: Sequence[ChunkId]
    documents: Sequence[DocumentId]
    used_memories: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfolded:
    """What a fold begins with; it holds only if `version` is still the conversation's when it is
    written. `saved_through` is the position of the last saved turn."""

    principal: Principal
    past: Past
    version: int
    saved_through: int
