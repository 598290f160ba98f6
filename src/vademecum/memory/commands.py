"""Which memory does a person mean who says "forget that …" or "that is wrong, it is …"?"""

from typing import Literal

from vademecum.memory.compare import fact, relation
from vademecum.memory.recall import MemoryParts
from vademecum.memory.remember import edit, keys_of
from vademecum.model.ids import ConversationId
from vademecum.model.memory import Memory, Remembered
from vademecum.model.principal import Scope
from vademecum.ports.memory import Changes
from vademecum.text.content import alike, content_words
from vademecum.text.language import RULED, detect
from vademecum.text.people.commands import amended
from vademecum.text.people.said import statements
from vademecum.text.people.statements import canonical

Forgotten = Literal["forgotten", "unknown", "several"]


async def forget(
    parts: MemoryParts,
    scope: Scope,
    persona: str,
    conversation_id: ConversationId | None,
    text: str,
) -> Forgotten:
    """Erase the one memory that says the text, or speaks of it; without a text the last one that
    this conversation was about. Where several fit, none is erased."""
    if text:
        meant = await _meant(parts, scope, persona, text)
    else:
        last = await _last(parts, scope, persona, conversation_id)
        meant = [last] if last else []
    if not meant:
        return "unknown"
    if len(meant) > 1:
        return "several"
    await erase(parts, scope, meant[0])
    return "forgotten"


async def erase(parts: MemoryParts, scope: Scope, memory: Memory) -> None:
    """Erase a memory, so that it does not come back from what the person said before and nobody
    has learned from yet; only from what they say again. Raises: MemoryNotFound."""
    own = fact(memory.text, memory.language)
    spoken = await parts.store.unlearned(scope, memory.persona)
    said = [
        turn_id
        for turn_id, text in spoken.items()
        if any(
            relation(own, fact(sentence, detect(sentence, RULED))) in ("same", "less", "more")
            for sentence in statements(text)
        )
    ]
    await parts.store.forget(scope, memory.id, said)


async def correct(
    parts: MemoryParts,
    scope: Scope,
    persona: str,
    conversation_id: ConversationId | None,
    text: str,
    *,
    fragment: bool,
) -> Remembered | None:
    """Rewrite the memory that this conversation was last about; a `fragment` replaces its last
    part. None where there is none, or where it cannot be told which part is meant."""
    last = await _last(parts, scope, persona, conversation_id)
    if last is None:
        return None
    whole = amended(last.text, text) if fragment else text
    return await edit(parts, scope, last.id, Changes(), whole) if whole else None


async def _last(
    parts: MemoryParts, scope: Scope, persona: str, conversation_id: ConversationId | None
) -> Memory | None:
    if conversation_id is None:
        return None
    return await parts.store.last_of(scope, persona, conversation_id)


async def _meant(parts: MemoryParts, scope: Scope, persona: str, text: str) -> list[Memory]:
    """Return the memories that say the text; where none does, those that hold all its words."""
    language = detect(text, RULED)
    own = fact(text, language)
    near = await parts.store.sharing(scope, persona, keys_of(scope, own, language))
    related = [(m, relation(own, fact(m.text, m.language))) for m in near]
    for wanted in (("same",), ("less", "more")):
        if found := [memory for memory, how in related if how in wanted]:
            return found
    asked = set(own.words)
    return [
        memory
        for memory, how in related
        if asked and how != "contrary" and _holds_all(memory.text, asked)
    ]


def _holds_all(text: str, asked: set[str]) -> bool:
    held = content_words(canonical(text))
    return all(any(alike(word, other) for other in held) for word in asked)
