"""How does a memory come in, and how is it changed? Read `remember` from top to bottom."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from vademecum.errors import EmbeddingInvalid, ModelUnusable, SecretRefused, ServiceAway, UsageError
from vademecum.memory.compare import Fact, fact, judge
from vademecum.memory.recall import MemoryParts
from vademecum.memory.words import asked_terms, content, keyword_row
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import MemoryId
from vademecum.model.memory import (
    DEFAULT_IMPORTANCE,
    DEFAULT_PERSONA,
    Confidence,
    Kind,
    Memory,
    MemorySource,
    NewMemory,
    Origin,
    Remembered,
    Stage,
    check_shares,
    check_text,
)
from vademecum.model.principal import Scope
from vademecum.ports.embedder import embedded
from vademecum.ports.memory import Changes, Keys, MemoryIndexRow, Rewriting, Verdict
from vademecum.text.language import RULED, detect
from vademecum.text.late import late
from vademecum.text.normalise import clean
from vademecum.text.orders import is_order
from vademecum.text.people.secrets import holds_secret
from vademecum.text.people.sensitive import is_vital, sensitive
from vademecum.text.people.statements import canonical, statement_in

INSTRUCTION = "instruction"
_VITAL_IMPORTANCE = 0.9
# Words of a new memory by which its neighbours are looked for.
_MOST_SHARED = 24
_EMBED_SECONDS = 10.0
_BOUNDARY = late(
    r"\b(?:(?:please )?(?:never|do not) (?:mention|ask|talk|speak|call|bring|tell|send|suggest"
    r"|offer|show|serve|give)|(?:nunca|nao|no) (?:me )?(?:mencione|fale|pergunte|chame|mande"
    r"|ofereca|sugira|menciones|hables|preguntes|llames|ofrezcas|sugieras))\b"
)
_TASK = late(
    r"\b(?:remind me|i (?:need|have|must|should|want) to|to[- ]?do|preciso|tenho que|lembre-me"
    r"|me lembre|tengo que|necesito|recuerdame)\b"
)
_EPISODE = late(
    r"\b(?:yesterday|last (?:night|week|month|year|summer|winter)|ago|went|visited|met|ontem"
    r"|(?:semana|mes|ano) passad[oa]|fui|fomos|visitei|ayer|anoche|(?:semana|mes|ano) pasad[oa]"
    r"|fuimos|visite)\b"
)
_KIN = late(
    r"\b(?:my|meus?|minhas?|mis?) (?:\p{L}+ )?(?:sister|brother|mother|father|mum|mom|dad|son"
    r"|daughter|wife|husband|partner|girlfriend|boyfriend|friend|boss|colleague|aunt|uncle|cousin"
    r"|grandmother|grandfather|niece|nephew|irma|irmao|mae|pai|filh[oa]|espos[oa]|marido|namorad[oa]"
    r"|amig[oa]|chefe|ti[oa]|prim[oa]|av[oo]|hermana|hermano|madre|padre|hij[oa]|mujer|novi[oa]"
    r"|jefe|abuel[oa])\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is offered to be remembered. What is None is told from the text, or takes its default.

    `importance` and `emotion` lie in 0..1. `held_until` keeps it unused before that stage; it
    is true from `true_from` on.
    """

    text: str
    source: MemorySource
    origin: Origin = "explicit"
    persona: str = DEFAULT_PERSONA
    kind: Kind | None = None
    importance: float | None = None
    emotion: float = 0.0
    confidence: Confidence | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    held_until: Stage | None = None
    true_from: date | None = None


async def remember(parts: MemoryParts, scope: Scope, offer: Offer) -> Remembered:
    """Keep what is offered, once, beside what it confirms, adds to, or speaks against.

    It is safe when this returns; where no embedder answers, it is found by its words until one
    does. Raises: SecretRefused, UsageError, DatabaseAway.
    """
    new = read_offer(offer)
    row = await index_row(parts, scope, new.text, new.language)
    own = await asyncio.to_thread(fact, new.text, new.language)
    trusted = new.source.kind != "client" and new.origin != "extracted"

    def judged(known: Sequence[Memory]) -> Verdict:
        return judge(own, known, trusted=trusted)

    return await parts.store.add(scope, new, keys_of(scope, own, new.language), row, judged)


async def edit(
    parts: MemoryParts,
    scope: Scope,
    memory_id: MemoryId,
    changes: Changes,
    text: str | None = None,
) -> Remembered:
    """Change a memory as the person says; a new text goes through the checks of a new memory.

    Raises: MemoryNotFound, SecretRefused, UsageError, DatabaseAway.
    """
    check_shares(
        importance=changes.importance if changes.importance is not None else 0.0,
        emotion=changes.emotion if changes.emotion is not None else 0.0,
    )
    known = await parts.store.get(scope, memory_id)
    written = None
    words = known.text
    language = known.language
    if text is not None:
        if known.state == "superseded":
            raise UsageError(
                "what is history cannot be rewritten", hint="edit the memory that took its place"
            )
        words = _checked(text)
        language = detect(words, RULED)
    own = await asyncio.to_thread(fact, words, language)
    keys = keys_of(scope, own, language)
    if text is not None and words != known.text:
        written = Rewriting(
            text=words,
            language=language,
            sensitive=_sensitive(words),
            keys=keys,
            row=await index_row(parts, scope, words, language),
        )

    def judged(others: Sequence[Memory]) -> Verdict:
        return judge(own, others, trusted=True)

    return await parts.store.change(scope, memory_id, changes, written, keys, judged)


def read_offer(offer: Offer) -> NewMemory:
    """Return the memory that an offer makes, with what it leaves open.

    A client program's waits for the person's word. What the person says themselves about their
    health, religion, politics, sexuality or body is kept with their consent, which this records.
    Raises: SecretRefused, UsageError.
    """
    text = _checked(offer.text)
    from_client = offer.source.kind == "client"
    kinds = _sensitive(text)
    waits = from_client or (offer.origin == "extracted" and bool(kinds))
    importance = offer.importance
    if importance is None:
        importance = _VITAL_IMPORTANCE if is_vital(text) else DEFAULT_IMPORTANCE
    if offer.held_until == "early":
        raise UsageError("nothing is held until the first stage", hint="use normal or close")
    return NewMemory(
        persona=offer.persona,
        kind=offer.kind or kind_of(text),
        text=text,
        language=detect(text, RULED),
        importance=importance,
        emotion=offer.emotion,
        confidence=offer.confidence or ("medium" if offer.origin == "extracted" else "high"),
        reason="",
        origin=offer.origin,
        source=offer.source,
        pinned=offer.pinned and not from_client,
        pending=waits,
        sensitive=kinds,
        consented=bool(kinds) and not waits,
        expires_at=offer.expires_at,
        held_until=offer.held_until,
        true_from=offer.true_from,
    )


def kind_of(text: str) -> Kind:
    """Return the kind that a statement seems to be."""
    said = canonical(text)
    read = statement_in(said)
    if _BOUNDARY.search(said):
        return "boundary"
    if _TASK.search(said):
        return "task"
    if read is not None and read.attribute == "taste":
        return "preference"
    if _KIN.search(said):
        return "relationship"
    if _EPISODE.search(said):
        return "episodic_event"
    return "profile_fact"


def keys_of(scope: Scope, own: Fact, language: str) -> Keys:
    """Return what finds the neighbours of a fact among the person's memories."""
    digest = hashlib.blake2b(own.fingerprint.encode(), digest_size=16)
    asked = asked_terms(content(own.text), RULED | {language}, scope)
    shared = sorted({term for same in asked[:_MOST_SHARED] for term in same})
    topic = own.said.topic if own.said is not None else ""
    return Keys(fingerprint=digest.hexdigest(), topic=topic, terms=shared)


async def index_row(parts: MemoryParts, scope: Scope, text: str, language: str) -> MemoryIndexRow:
    """Return what a memory is found by, without a vector where no embedder gives one in time."""
    keyword = keyword_row(text, language, scope, parts.average_length)
    return MemoryIndexRow(keyword=keyword, vector=await _vector(parts, text))


async def _vector(parts: MemoryParts, text: str) -> FloatArray | None:
    try:
        rows = await asyncio.wait_for(embedded(parts.embedder, [text], "passage"), _EMBED_SECONDS)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway, TimeoutError):
        return None
    vector: FloatArray = rows[0]
    return vector


def _checked(text: str) -> str:
    """Return the text as it is kept. Raises: SecretRefused, UsageError."""
    kept = " ".join(clean(text).split())
    check_text(kept)
    if holds_secret(kept):
        raise SecretRefused(
            "this holds a key, a password or a card's number, and was not kept",
            hint="keep secrets in a password manager",
        )
    return kept


def _sensitive(text: str) -> frozenset[str]:
    return sensitive(text) | ({INSTRUCTION} if is_order(text) else set())
