"""What is remembered of the person who asks: how does it reach an answer, and back a sentence?"""

import asyncio
from collections.abc import Sequence

import regex

from vademecum.answer.converse import Talk
from vademecum.answer.evidence import joined_facts, read, read_page, windows
from vademecum.deadline import within
from vademecum.errors import ServiceAway
from vademecum.memory.recall import Asked, MemoryParts, recall
from vademecum.model.ids import MemoryId
from vademecum.model.memory import DEFAULT_PERSONA, Recall, Recalled
from vademecum.model.principal import Scope
from vademecum.model.query import Ask
from vademecum.text.language import RULED, detect
from vademecum.text.late import late

# A memory is said by the person, and answered to them: who is spoken to tells nothing apart.
_SPOKEN_TO = late(
    r"\b(?:you|your|yours|yourself|voc[êe]|te|ti|tu|teu|tua|teus|tuas|usted|tus|contigo|consigo)\b",
    regex.IGNORECASE,
)
_BECAUSE = late(
    r"\s*(?:since|as|because|given\s+that|considering\s+that|como|já\s+que|visto\s+que|porque|ya\s+que"
    r"|puesto\s+que|dado\s+que)\s+(?P<why>[^,]+),\s*(?P<what>.+)",
    regex.IGNORECASE | regex.DOTALL,
)


async def recalled(parts: MemoryParts, scope: Scope, ask: Ask, talk: Talk) -> Recall:
    """Return what is known of the person that may matter for the question and for what they said
    before it in the conversation. Raises: DatabaseAway."""
    said = [turn.text for turn in talk.past.turns if turn.role == "user"]
    asked = Asked(
        text=ask.question,
        previous=said[-1] if said else None,
        persona=talk.place.persona if talk.place else ask.persona or DEFAULT_PERSONA,
        stage=ask.stage,
    )
    return await recall(parts, scope, asked)


async def in_time(task: asyncio.Task[Recall], seconds: float, degraded: list[str]) -> Recall | None:
    """Return what was recalled beside the searches, None where it fails, or is not there so many
    seconds after them: the turn is answered without it."""
    try:
        return await within(task, seconds)
    except TimeoutError:
        degraded.append("memory: DEADLINE")
    except ServiceAway as error:
        degraded.append(f"memory: {error.code}")
    return None


def backed(text: str, memories: Sequence[Recalled]) -> tuple[MemoryId, ...]:
    """Return the memories that say what a sentence says, () where any part of it is in none.

    Words alone decide: a memory must hold every content word of the part, and nothing in it may
    speak against it (numbers, days, names, denials, roles). A sentence that needs a document is
    not for this check; one that the person's memories state is not removed for having no source.
    """
    parts = joined_facts(text)
    for pieces in ([text], parts):
        found = [_one(piece, memories) for piece in pieces]
        if found and all(memory_id is not None for memory_id in found):
            return tuple(dict.fromkeys(m for m in found if m is not None))
    return ()


def reason_and_rest(text: str) -> tuple[str, str] | None:
    """Return ("you use a wheelchair", "the lift is at gate B") of "Since you use a wheelchair, the
    lift is at gate B", None where a sentence does not begin with its reason."""
    match = _BECAUSE.fullmatch(text)
    return (match["why"], match["what"]) if match else None


def _one(text: str, memories: Sequence[Recalled]) -> MemoryId | None:
    stated = _SPOKEN_TO.sub(" ", text)
    language = detect(stated, RULED)
    for recalled_memory in memories:
        memory = recalled_memory.memory
        page = read_page(memory.text, "", memory.language)
        claim = read(stated, language, page.names)
        if not claim.words:
            return None
        places = windows(claim, page, claim.soft)
        if any(not (place.veto or place.denied) and place.coverage == 1.0 for place in places):
            return memory.id
    return None
