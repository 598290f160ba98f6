"""What is remembered of a person, and what comes back when it is recalled?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, get_args

from vademecum.errors import UsageError
from vademecum.model.ids import MemoryId, Principal, TurnId

Kind = Literal["profile_fact", "preference", "boundary", "relationship", "episodic_event", "task"]
Origin = Literal["explicit", "extracted", "manual"]
State = Literal["active", "pending", "held", "superseded", "archived", "expired"]
Confidence = Literal["high", "medium", "low"]
Stage = Literal["early", "normal", "close"]
SourceKind = Literal["turn", "person", "client"]

KINDS: tuple[Kind, ...] = get_args(Kind)
STATES: tuple[State, ...] = get_args(State)
STAGES: tuple[Stage, ...] = get_args(Stage)
DEFAULT_PERSONA = "default"
DEFAULT_IMPORTANCE = 0.5
# A memory is a statement, not a document; more than this is no single fact.
MOST_LETTERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where a memory comes from: a turn of its owner, the person by hand, or a client program.

    `words` are the exact words that state it; `turn_id` is set for a turn, `client` names the
    program for a client, and neither is set otherwise.
    """

    kind: SourceKind
    words: str
    turn_id: TurnId | None = None
    client: str | None = None

    def __post_init__(self) -> None:
        if (self.kind == "turn") != (self.turn_id is not None):
            raise ValueError("a turn's id belongs to a memory of a turn, and to no other")
        if (self.kind == "client") != (self.client is not None):
            raise ValueError("a client's name belongs to a memory of a client, and to no other")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory as it is offered. `importance` and `emotion` (significance) lie in 0..1.

    `held_until` keeps it unused before the relationship has reached that stage. `sensitive` names
    the kinds of sensitive content, `consented` that the person agreed to keep them.
    """

    persona: str
    kind: Kind
    text: str
    language: str
    importance: float
    emotion: float
    confidence: Confidence
    reason: str
    origin: Origin
    source: MemorySource
    pinned: bool
    pending: bool
    sensitive: frozenset[str]
    consented: bool
    true_from: date | None = None
    true_until: date | None = None
    expires_at: datetime | None = None
    held_until: Stage | None = None

    def __post_init__(self) -> None:
        check_text(self.text)
        check_shares(importance=self.importance, emotion=self.emotion)
        if self.kind not in KINDS:
            raise UsageError(f"there is no kind {self.kind!r}", hint=f"use {', '.join(KINDS)}")
        if self.expires_at is not None and self.expires_at.tzinfo is None:
            raise UsageError("the time of expiry has no time zone", hint="give one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as it is kept. `true_from` to `true_until` is when it holds, `known_from` to
    `known_until` when we believed it. `state` is as of the moment it was read: what is past
    `expires_at` is `expired`. Each change of it raises `version`; `uses` alone do not."""

    id: MemoryId
    principal: Principal
    persona: str
    kind: Kind
    text: str
    language: str
    importance: float
    emotion: float
    confidence: Confidence
    reason: str
    origin: Origin
    state: State
    held_until: Stage | None
    pinned: bool
    sensitive: frozenset[str]
    consented_at: datetime | None
    source: MemorySource
    true_from: date | None
    true_until: date | None
    known_from: datetime
    known_until: datetime | None
    expires_at: datetime | None
    uses: int
    last_used_at: datetime | None
    created_at: datetime
    changed_at: datetime
    confirmed_at: datetime | None
    version: int
    superseded_by: MemoryId | None

    @property
    def touched_at(self) -> datetime:
        """When it was last changed, used or confirmed, whichever is newest."""
        times = (self.changed_at, self.last_used_at, self.confirmed_at)
        return max(time for time in times if time is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """What a memory said in an earlier version, and when we believed it."""

    version: int
    kind: Kind
    text: str
    true_from: date | None
    true_until: date | None
    known_from: datetime
    known_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySignals:
    """What a memory's score is made of, each 0..1. See `rank.memory`."""

    similarity: float
    importance: float
    emotion: float
    recency: float
    usage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A memory that came back, with its score (0..1) and signals; None for those of the profile,
    which are always there."""

    memory: Memory
    score: float | None
    signals: MemorySignals | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What is known of a person that may matter now: the profile, and the best others, best first.

    `degraded` names the parts that were missing.
    """

    profile: tuple[Recalled, ...]
    memories: tuple[Recalled, ...]
    stage: Stage
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]

    @property
    def all(self) -> tuple[Recalled, ...]:
        return (*self.profile, *self.memories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """How well a person is known: `turns` of their own, counted to 200 at most, and the days from
    the first of them to the newest."""

    turns: int
    days: float


Outcome = Literal["added", "confirmed", "updated", "superseded", "pending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a memory that was offered: `memory` is the one that stands for it now.

    added: it is new. confirmed: it was known. updated: a known one says more now. superseded:
    `replaced` is history now. pending: it waits for the person's word, for the reason `why`.
    """

    outcome: Outcome
    memory: Memory
    replaced: tuple[MemoryId, ...] = ()
    why: str = ""


def check_text(text: str) -> None:
    """Raise UsageError for what can be no memory."""
    if not text.strip():
        raise UsageError("there is nothing to remember", hint="say what")
    if len(text) > MOST_LETTERS:
        raise UsageError(
            f"a memory has {MOST_LETTERS} characters at most, this one {len(text)}",
            hint="say it in one sentence, or ingest it as a document",
        )


def check_shares(**shares: float) -> None:
    """Raise UsageError for a value outside 0..1."""
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise UsageError(f"{name} lies in 0..1, not {share}", hint="give such a number")
