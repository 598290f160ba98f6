"""What is a turn found by, and what is found?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from vademecum.model.conversation import Speaker, Turn
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import ConversationId, TurnId

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedTurn:
    """A turn that the index lacks, with the one before it in its conversation, "" for none."""

    id: TurnId
    text: str
    speaker: str
    role: Speaker
    said_at: datetime
    before: str
    before_speaker: str
    before_role: Speaker
    has_terms: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """A turn as the index holds it: vector (d,) and packed signs, None where a model gave none,
    and its terms and character runs, each as often as it stands there. `given_up` tells that no
    model ever will."""

    language: str
    terms: tuple[int, ...]
    grams: tuple[int, ...]
    vector: FloatArray | None = None
    signs: bytes | None = None
    given_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUnit:
    """One indexed turn of a person, as it is ranked. `speaker` is "" where the role tells it."""

    id: TurnId
    conversation_id: ConversationId
    said_at: datetime
    role: Speaker
    speaker: str
    language: str
    terms: IntArray
    grams: IntArray
    vector: FloatArray | None
    signs: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledTurn:
    """A turn that was found; `score` compares within one recall only, higher is better."""

    turn: Turn
    conversation_id: ConversationId
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledTurns:
    """Turns, best first, and the conversations they stand in, each by its best three turns.
    `degraded` names what did not take part."""

    turns: tuple[RecalledTurn, ...]
    conversations: tuple[tuple[ConversationId, float], ...]
    degraded: tuple[str, ...]
