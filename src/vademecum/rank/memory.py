"""How much does a memory matter now? The formula of memories, signal by signal."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from vademecum.model.ids import MemoryId
from vademecum.model.memory import Memory, MemorySignals, Recalled, Relationship, Stage

SIMILARITY_WEIGHT = 0.65
IMPORTANCE_WEIGHT = 0.12
EMOTION_WEIGHT = 0.08
RECENCY_WEIGHT = 0.10
USAGE_WEIGHT = 0.05
HALF_LIFE_DAYS = 90.0
# So many uses count in full.
_MOST_USES = 20

CANDIDATES = 30
FLOOR = 0.45
EARLY_FLOOR = 0.05
MOST_IN_PROMPT = 12
_EARLY_SHARE, _FEWEST_EARLY = 0.6, 2
_CLOSE_SHARE = 1.25
EARLY_TURNS = 20
CLOSE_TURNS = 200
_CLOSE_DAYS = 14

MOST_PROFILE_FACTS = 5
PROFILE_IMPORTANCE = 0.75
PROFILE_KINDS = frozenset(["profile_fact", "boundary"])
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a cosine of one embedding space becomes 0..1: (cosine - low) / width, cut."""

    low: float
    width: float

    def __call__(self, cosine: float) -> float:
        return min(1.0, max(0.0, (cosine - self.low) / self.width))


# Cosines of multilingual-e5-small lie in .70-.92; other models use the whole range.
E5_SMALL = Calibration(low=0.70, width=0.22)
WHOLE_RANGE = Calibration(low=0.0, width=1.0)


def similarity(calibrated_cosine: float | None, share: float | None) -> float:
    """Return the better of what both legs say, 0..1: the calibrated cosine, and U (the share of
    the text's idf mass that the memory holds); None is a leg that did not find it."""
    return max(calibrated_cosine or 0.0, share or 0.0)


def recency(touched_at: datetime, now: datetime) -> float:
    """0.5 ^ (days / 90) since the last change, use or confirmation; days as a fraction. 1.0 where
    that lies in the future by another machine's clock."""
    days = (now - touched_at).total_seconds() / _SECONDS_PER_DAY
    return float(0.5 ** (max(0.0, days) / HALF_LIFE_DAYS))


def usage(uses: int) -> float:
    """min(1, ln(1 + uses) / ln 21): twenty uses count in full."""
    return min(1.0, math.log(1 + uses) / math.log(1 + _MOST_USES))


def score(signals: MemorySignals) -> float:
    """.65 similarity + .12 importance + .08 emotion + .10 recency + .05 usage, 0..1."""
    return (
        SIMILARITY_WEIGHT * signals.similarity
        + IMPORTANCE_WEIGHT * signals.importance
        + EMOTION_WEIGHT * signals.emotion
        + RECENCY_WEIGHT * signals.recency
        + USAGE_WEIGHT * signals.usage
    )


def scored(memory: Memory, own_similarity: float, now: datetime) -> Recalled:
    """Return the memory with its signals at `now` and their score."""
    signals = MemorySignals(
        similarity=own_similarity,
        importance=memory.importance,
        emotion=memory.emotion,
        recency=recency(memory.touched_at, now),
        usage=usage(memory.uses),
    )
    return Recalled(memory=memory, score=score(signals), signals=signals)


def ranked(
    memories: Sequence[Memory],
    similarities: Mapping[MemoryId, float],
    now: datetime,
    *,
    floor: float,
    limit: int,
) -> tuple[Recalled, ...]:
    """Return at most `limit` of the memories whose similarity, by id, reaches `floor`: those of the
    best score first, of equal ones the newest (the greatest id)."""
    near = [m for m in memories if similarities.get(m.id, 0.0) >= floor]
    found = [scored(m, similarities[m.id], now) for m in near]
    found.sort(key=lambda r: (r.score or 0.0, r.memory.id), reverse=True)
    return tuple(found[: max(0, limit)])


def floor_of(stage: Stage, floor: float = FLOOR) -> float:
    """Return the least similarity that counts: higher while a person is hardly known."""
    return floor + EARLY_FLOOR if stage == "early" else floor


def prompt_limit(stage: Stage) -> int:
    """Return how many memories a prompt may hold, the profile included: 12; early 7, close 15."""
    if stage == "early":
        return max(_FEWEST_EARLY, int(_EARLY_SHARE * MOST_IN_PROMPT))
    return int(_CLOSE_SHARE * MOST_IN_PROMPT) if stage == "close" else MOST_IN_PROMPT


def stage_of(relationship: Relationship) -> Stage:
    """Return the stage: early under 20 turns of the person's own, close from 200 over at least 14
    days."""
    if relationship.turns < EARLY_TURNS:
        return "early"
    close = relationship.turns >= CLOSE_TURNS and relationship.days >= _CLOSE_DAYS
    return "close" if close else "normal"


def profile_of(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return those that are always shown: what is pinned, then up to 5 profile facts or boundaries
    of importance .75 or more, the most important first, of equal ones the newest."""
    order = sorted(memories, key=lambda m: (m.importance, m.id), reverse=True)
    pinned = [memory for memory in order if memory.pinned]
    facts = [
        memory
        for memory in order
        if not memory.pinned
        and memory.kind in PROFILE_KINDS
        and memory.importance >= PROFILE_IMPORTANCE
    ]
    return (*pinned, *facts[:MOST_PROFILE_FACTS])
