"""What did we believe of a person at a moment, and what of it matters for a text?

A question of audits, not of every turn: texts that were changed since are embedded again.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.memory.recall import Asked, MemoryParts
from vademecum.memory.words import asked_terms, content, held_share, keyword_row, weigh
from vademecum.model.ids import MemoryId
from vademecum.model.memory import STATES, Memory, Recall, Recalled
from vademecum.model.principal import Scope
from vademecum.ports.embedder import embedded
from vademecum.rank.bm25 import score, share
from vademecum.rank.memory import floor_of, profile_of, prompt_limit, ranked, similarity
from vademecum.text.analyse import codes
from vademecum.text.language import detect

_MOST_AGAIN = 64


async def recall_past(parts: MemoryParts, scope: Scope, asked: Asked, moment: datetime) -> Recall:
    """Return what `recall` would have returned at the moment, of what was believed then; the stage
    is the one given, or `normal`. Raises: DatabaseAway."""
    started = parts.clock.monotonic()
    stage = asked.stage or "normal"
    known = await parts.store.believed(scope, asked.persona, moment)
    profile = profile_of(known)
    shares = await asyncio.to_thread(_shares, known, asked.text, scope, parts.average_length)
    degraded: list[str] = []
    try:
        cosines = await _cosines(parts, scope, known, asked.text)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        degraded.append(f"memory embedder: {error.code}")
        cosines = {}
    similarities: dict[MemoryId, float] = {
        memory.id: similarity(
            parts.calibration(cosines[memory.id]) if memory.id in cosines else None,
            shares.get(memory.id),
        )
        for memory in known
    }
    best = ranked(
        [memory for memory in known if memory not in profile],
        similarities,
        moment,
        floor=floor_of(stage, parts.floor),
        limit=prompt_limit(stage) - len(profile),
    )
    return Recall(
        profile=tuple(Recalled(memory=m, score=None, signals=None) for m in profile),
        memories=best,
        stage=stage,
        degraded=tuple(degraded),
        timings_ms={"recall": 1000 * (parts.clock.monotonic() - started)},
    )


async def _cosines(
    parts: MemoryParts, scope: Scope, known: Sequence[Memory], text: str
) -> dict[MemoryId, float]:
    """Return cosines: of the index where it holds the text of that time, else computed anew."""
    if not known or not text.strip():
        return {}
    query = await embedded(parts.embedder, [text], "query")
    now = {m.id: m for m in await parts.store.all(scope, None, STATES)}
    same = [m.id for m in known if m.id in now and now[m.id].text == m.text]
    found = await parts.store.cosines(scope, same, query[0])
    again = [m for m in known if m.id not in found][:_MOST_AGAIN]
    if again:
        rows = await embedded(parts.embedder, [m.text for m in again], "passage")
        found |= zip((m.id for m in again), np.asarray(rows @ query[0]).tolist(), strict=True)
    return found


def _shares(
    known: Sequence[Memory], text: str, scope: Scope, average_length: float
) -> dict[MemoryId, float]:
    """Return U (0..1) of each memory over the words of the text that say something."""
    languages = frozenset(m.language for m in known) | {detect(text)}
    asked = asked_terms(content(text), languages, scope)
    rows = {m.id: keyword_row(m.text, m.language, scope, average_length).weights for m in known}
    frequencies = Counter(term for weights in rows.values() for term in weights)
    weights, upper_bound = weigh(asked, frequencies, len(known))
    found = {memory_id: share(score(weights, own), upper_bound) for memory_id, own in rows.items()}
    for code in codes(text):
        exact = asked_terms(code, languages, scope)
        weights, most = weigh(exact, frequencies, len(known))
        for memory_id, own in rows.items():
            found[memory_id] = max(found[memory_id], held_share(exact, own, weights, most))
    return found
