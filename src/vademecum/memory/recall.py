"""What is known of the person that may matter now? Read `recall` from top to bottom.

No language model is asked. What is away is named in `degraded`; the profile is plain rows.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.memory.profile import Profile, load_profile, reached
from vademecum.memory.words import keyword_shares
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import MemoryId
from vademecum.model.memory import DEFAULT_PERSONA, Memory, Recall, Recalled, Stage
from vademecum.model.principal import Scope
from vademecum.ports.clock import Clock
from vademecum.ports.embedder import Embedder, embedded
from vademecum.ports.memory import MemoryStore
from vademecum.rank.memory import (
    CANDIDATES,
    Calibration,
    floor_of,
    prompt_limit,
    ranked,
    similarity,
)

_MOST_LETTERS = 1_000
# Of the time for all; what is left reads the rows without a vector.
_EMBED_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParts:
    """What remembering and recalling need from outside, and how a recall ranks.

    `average_length` (terms) is the index generation's; `floor` is the least similarity that
    counts; an answer waits at most `seconds` for a recall once its searches have ended.
    """

    store: MemoryStore
    embedder: Embedder
    clock: Clock
    calibration: Calibration
    floor: float
    average_length: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is recalled for: the message, the one before it, the persona, and the stage of the
    relationship where the application gives it."""

    text: str
    previous: str | None = None
    persona: str = DEFAULT_PERSONA
    stage: Stage | None = None


@dataclass(slots=True, kw_only=True)
class _Notes:
    degraded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What plain rows and words give: the profile, and U of the memories that hold words."""

    profile: Profile
    shares: Mapping[MemoryId, float]


def search_text(text: str, previous: str | None) -> str:
    """Return the message preceded by the one before it, each cut to 1,000 characters."""
    before = (previous or "")[:_MOST_LETTERS].strip()
    return f"{before}\n{text[:_MOST_LETTERS].strip()}".strip()


async def recall(parts: MemoryParts, scope: Scope, asked: Asked) -> Recall:
    """Return the profile and the best other memories of the scope's person, best first.

    Raises: DatabaseAway where not even the profile can be read.
    """
    started = parts.clock.monotonic()
    notes = _Notes()
    text = search_text(asked.text, asked.previous)
    encoding = asyncio.create_task(_encode(parts, text, notes))
    try:
        ground = await _ground(parts, scope, asked, text, notes)
        vector = await encoding
    finally:
        encoding.cancel()
    similarities, found = await _nearest(parts, scope, asked, ground, vector, notes)
    profile = ground.profile
    shown = {memory.id for memory in profile.memories}
    best = ranked(
        [memory for memory in found if memory.id not in shown],
        similarities,
        parts.clock.now(),
        floor=floor_of(profile.stage, parts.floor),
        limit=prompt_limit(profile.stage) - len(shown),
    )
    return Recall(
        profile=tuple(Recalled(memory=m, score=None, signals=None) for m in profile.memories),
        memories=best,
        stage=profile.stage,
        degraded=tuple(notes.degraded),
        timings_ms={"recall": 1000 * (parts.clock.monotonic() - started)},
    )


async def _encode(parts: MemoryParts, text: str, notes: _Notes) -> FloatArray | None:
    """Return the vector of the text, shape (d,), None where no embedder gives one."""
    if not text:
        return None
    try:
        rows = await asyncio.wait_for(
            embedded(parts.embedder, [text], "query"), _EMBED_SHARE * parts.seconds
        )
    except TimeoutError:
        notes.degraded.append("memory embedder: DEADLINE")
        return None
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        notes.degraded.append(f"memory embedder: {error.code}")
        return None
    vector: FloatArray = rows[0]
    return vector


async def _ground(
    parts: MemoryParts, scope: Scope, asked: Asked, text: str, notes: _Notes
) -> _Ground:
    """Read the profile, then what the words find; the profile stands where the index is away."""
    ground: _Ground | None = None
    try:
        async with parts.store.reading(scope, asked.persona) as reader:
            profile = await load_profile(reader, asked.stage)
            ground = _Ground(profile=profile, shares={})
            stages = reached(profile.stage)
            shares = await keyword_shares(reader, scope, text, stages, CANDIDATES)
            return _Ground(profile=profile, shares=shares)
    except ServiceAway as error:
        if ground is None:
            raise
        notes.degraded.append(f"memory words: {error.code}")
        return ground


async def _nearest(
    parts: MemoryParts,
    scope: Scope,
    asked: Asked,
    ground: _Ground,
    vector: FloatArray | None,
    notes: _Notes,
) -> tuple[dict[MemoryId, float], list[Memory]]:
    """Return the similarity of the best candidates of both legs, and those that may be used at
    this moment."""
    stages = reached(ground.profile.stage)
    for query in dict.fromkeys([vector is not None, False]):
        try:
            async with parts.store.reading(scope, asked.persona) as reader:
                cosines = {}
                if query and vector is not None:
                    cosines = await reader.search_dense(stages, vector, CANDIDATES)
                similarities = _similarities(parts.calibration, cosines, ground.shares)
                return similarities, await reader.usable(stages, list(similarities))
        except ServiceAway as error:
            notes.degraded.append(f"memory index: {error.code}")
    return {}, []


def _similarities(
    calibration: Calibration, cosines: Mapping[MemoryId, float], shares: Mapping[MemoryId, float]
) -> dict[MemoryId, float]:
    """Return the similarity of the best candidates, at most 30."""
    found = {
        memory_id: similarity(
            calibration(cosines[memory_id]) if memory_id in cosines else None,
            shares.get(memory_id),
        )
        for memory_id in {**cosines, **shares}
    }
    order = sorted(found, key=lambda memory_id: (-found[memory_id], memory_id))
    return {memory_id: found[memory_id] for memory_id in order[:CANDIDATES]}
