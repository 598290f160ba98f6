"""When may an answer that was given before be given again?

Only where everything that it depends on is the same: who asks and what they may see, the words of
the question, its filters, collections and day, every setting, model and index (the key); where no
document of the tenant was published, changed or deleted since it was begun (the store looks); and
where each of its passages may still be seen. A question that goes on with an earlier one, that is
temporary, that is asked again, or of a person of whom something is remembered is always answered
afresh. An answer that lacked a part of the system is not kept.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import date, timedelta

from vademecum.answer.converse import Talk
from vademecum.deadline import answered
from vademecum.errors import ServiceAway
from vademecum.model.answer import Answer, Checked
from vademecum.model.conversation import NO_PAST
from vademecum.model.filter_json import as_json
from vademecum.model.kept_answer import KeptAnswer
from vademecum.model.passage import Passage
from vademecum.model.principal import Scope
from vademecum.model.query import Ask
from vademecum.ports.kept_answers import KeptAnswerStore
from vademecum.ports.store import DocumentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseParts:
    """Where answers are kept, how long and how many of each principal. `fingerprint` names all
    settings, models and the index generation; the store has `seconds` to tell."""

    store: KeptAnswerStore
    documents: DocumentStore
    fingerprint: str
    lasts: timedelta
    most: int
    seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """An answer that is given again, its passages as they are read now."""

    kept: KeptAnswer
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What was found for a question under its key, and the moment of looking."""

    key: bytes
    moment: str
    again: Again | None


def key_of(fingerprint: str, scope: Scope, ask: Ask, today: date) -> bytes:
    """Return 32 bytes that are equal only where an answer depends on equal things."""
    values = [
        fingerprint,
        [scope.tenant, scope.principal, sorted(scope.labels), scope.operator],
        None if scope.collections is None else sorted(scope.collections),
        None if ask.collections is None else sorted(ask.collections),
        ask.question,
        as_json(ask.filter) if ask.filter else None,
        ask.as_of.isoformat() if ask.as_of else None,
        # Which revision is in force changes with the day, though no document does.
        today.isoformat(),
        [ask.persona, ask.stage, ask.zone],
    ]
    written = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()


async def look_for(
    parts: ReuseParts | None, scope: Scope, ask: Ask, talk: Talk, today: date
) -> Reuse | None:
    """Return what is kept for a question; None where its answer is not one to be kept. A store
    that is away keeps nothing: the question is answered afresh."""
    if parts is None or talk.place is None or ask.again or talk.past != NO_PAST:
        return None
    key = key_of(parts.fingerprint, scope, ask, today)
    try:
        looked = await answered(parts.store.look(scope, key), parts.seconds)
        if looked.personal:
            return None
        again = await _seen(parts, scope, ask, looked.kept) if looked.kept else None
    except ServiceAway:
        return None
    return Reuse(key=key, moment=looked.moment, again=again)


async def _seen(parts: ReuseParts, scope: Scope, ask: Ask, kept: KeptAnswer) -> Again | None:
    """Return a kept answer with its passages; None where one of them cannot be read any more."""
    ids = [item for item, _, _ in kept.found]
    confirming = parts.documents.confirm(scope, ids, ask.as_of, sections=True)
    confirmed = await answered(confirming, parts.seconds)
    if len(confirmed) < len(ids):
        return None
    passages = tuple(
        Passage(rank=rank, score=score, source=confirmed[item], signals=signals)
        for rank, (item, score, signals) in enumerate(kept.found, start=1)
    )
    return Again(kept=kept, passages=passages)


async def keep(
    parts: ReuseParts | None,
    scope: Scope,
    reuse: Reuse | None,
    answer: Answer,
    said: tuple[Checked, ...],
) -> None:
    """Keep an answer that lacked nothing and owes nothing to what is remembered of anybody."""
    if parts is None or reuse is None or answer.degraded or answer.memories:
        return
    kept = KeptAnswer(
        trace_id=answer.trace_id,
        mode=answer.mode,
        said=said,
        found=tuple((p.source.chunk.id, p.score, p.signals) for p in answer.passages),
    )
    keeping = parts.store.keep(
        scope, reuse.key, kept, moment=reuse.moment, lasts=parts.lasts, most=parts.most
    )
    try:
        await answered(keeping, parts.seconds)
    except ServiceAway:
        return  # it is answered afresh the next time
