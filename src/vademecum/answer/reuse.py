"""When may an answer that was given before be given again?

Only where everything that it depends on is the same: who asks and what they may see, the words of
the question, its filters, collections and day, every setting, model and index (the key); where no
document of the tenant was published, changed or deleted since it was begun (the store looks); and
where each of its passages may still be seen. A question that goes on with an earlier one, that is
temporary, that is asked again, or of a person of whom something is remembered is always answered
afresh. An answer that lacked a part of the system is not kept.

Over collections that are opted in, and that everyone of the tenant may read, an answer is also
given to another wording of the question, whoever asks: where the vectors are near enough, and both
questions hold the same codes, numbers, dates, names, denials and words but those that say nothing
(`text/asked.py`). Nearness alone would give "closes" the answer of "opens".
"""

import hashlib
import json
import logging
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from vademecum.answer.converse import Talk
from vademecum.deadline import answered, within
from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.model.answer import Answer, Checked
from vademecum.model.conversation import NO_PAST
from vademecum.model.filter_json import as_json
from vademecum.model.kept_answer import KeptAnswer, Near, Stay
from vademecum.model.passage import Passage
from vademecum.model.principal import Scope
from vademecum.model.query import Ask
from vademecum.ports.embedder import Embedder, embedded
from vademecum.ports.kept_answers import KeptAnswerStore
from vademecum.ports.store import DocumentStore
from vademecum.text.asked import meaning

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParts:
    """In which collections answers are given to other wordings, from which cosine (0..1) of the
    questions on, how long and how many of a tenant. `told` are those collections that were found
    not to be everyone's, so that it is logged once."""

    collections: frozenset[str]
    embedder: Embedder
    least: float
    lasts: timedelta
    most: int
    told: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseParts:
    """Where answers are kept, how long and how many of each principal. `fingerprint` names all
    settings, models and the index generation; the store has `seconds` to tell. Without `shared` no
    answer is given to another wording."""

    store: KeptAnswerStore
    documents: DocumentStore
    fingerprint: str
    lasts: timedelta
    most: int
    seconds: float = 2.0
    shared: SharedParts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """An answer that is given again, its passages as they are read now, `reworded` where it was
    given to another wording."""

    kept: KeptAnswer
    passages: tuple[Passage, ...]
    reworded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What was found for a question under its key, and the moment of looking; `near` is the
    question by its meaning, None where its answer is not for others."""

    key: bytes
    moment: str
    again: Again | None
    near: Near | None = None


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
    return _digest(values)


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
        near = None if again else await _near(parts, scope, ask, talk.language, today)
        if parts.shared is not None and near is not None:
            again, near = await _shared(parts, parts.shared, scope, ask, near)
    except ServiceAway:
        return None
    return Reuse(key=key, moment=looked.moment, again=again, near=near)


def near_key(
    fingerprint: str, scope: Scope, ask: Ask, where: frozenset[str], language: str, today: date
) -> bytes:
    """Return 32 bytes that are equal only where an answer depends on equal things, whoever of the
    tenant asks, and the questions mean the same; `where` are the collections that are searched."""
    values = [
        fingerprint,
        scope.tenant,
        sorted(where),
        as_json(ask.filter) if ask.filter else None,
        ask.as_of.isoformat() if ask.as_of else None,
        today.isoformat(),
        [ask.persona, ask.stage, ask.zone],
        meaning(ask.question, language),
    ]
    return _digest(values)


def _digest(values: list[Any]) -> bytes:
    written = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()


async def _near(
    parts: ReuseParts, scope: Scope, ask: Ask, language: str, today: date
) -> Near | None:
    """Return a question by its meaning, None where it is asked of other collections than those that
    are opted in, or cannot be embedded."""
    shared = parts.shared
    narrowed = [names for names in (scope.collections, ask.collections) if names is not None]
    if shared is None or not narrowed or not ask.question.strip():
        return None
    where = frozenset.intersection(*narrowed)
    if not where or not where <= shared.collections:
        return None
    try:
        asking = embedded(shared.embedder, [ask.question], "query")
        vectors = await within(asking, parts.seconds)
    except (TimeoutError, EmbeddingInvalid, ModelUnusable, ServiceAway):
        return None
    key = near_key(parts.fingerprint, scope, ask, where, language, today)
    return Near(key=key, vector=vectors[0], collections=where)


async def _shared(
    parts: ReuseParts, shared: SharedParts, scope: Scope, ask: Ask, near: Near
) -> tuple[Again | None, Near | None]:
    """Return what was answered to another wording, and the question as it may be kept for others:
    not at all where a collection is not everyone's."""
    looked = await answered(parts.store.look_near(scope, near, shared.least), parts.seconds)
    if looked.private:
        if looked.private not in shared.told:
            shared.told.add(looked.private)
            _log.warning(
                "cache.semantic_collections names %s, of which not everyone may read every"
                " document: its answers are not shared",
                looked.private,
            )
        return None, None
    again = await _seen(parts, scope, ask, looked.kept) if looked.kept else None
    return (replace(again, reworded=True) if again else None), near


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
    stay = Stay(moment=reuse.moment, lasts=parts.lasts, most=parts.most)
    try:
        await answered(parts.store.keep(scope, reuse.key, kept, stay), parts.seconds)
        # A sentence without a source may hold the words of whoever asked.
        if parts.shared and reuse.near and all(checked.citations for checked in said):
            stay = replace(stay, lasts=parts.shared.lasts, most=parts.shared.most)
            await answered(parts.store.keep_near(scope, reuse.near, kept, stay), parts.seconds)
    except ServiceAway:
        return  # it is answered afresh the next time
