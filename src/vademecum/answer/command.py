"""What happens when a person says "remember that …", "forget that …", "that is wrong, it is …"?

No language model is asked, no document is searched, and only the speaker's own memories change.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from vademecum.answer.converse import Talk, finish
from vademecum.answer.record import answer_record
from vademecum.answer.write import AnswerParts
from vademecum.deadline import answered
from vademecum.errors import MemoryOff, SecretRefused, ServiceAway, UsageError
from vademecum.memory.commands import correct, forget
from vademecum.memory.recall import MemoryParts
from vademecum.memory.remember import Offer, remember
from vademecum.model.answer import Answer, Checked, Done, Event, Retrieved, Sentence, Usage
from vademecum.model.conversation import Begun
from vademecum.model.memory import Memory, MemorySource, Recalled, Remembered
from vademecum.model.principal import Scope
from vademecum.model.query import Ask
from vademecum.text.people.commands import Command, Spoken

# An embedder that is late costs a new memory only its vector.
_EMBED_SECONDS = 10.0
# Nothing that was forgotten is said again: it would stand in the conversation.
_SAID: dict[str, dict[Spoken, str]] = {
    "added": {"en": "Saved: {text}", "pt": "Guardado: {text}", "es": "Guardado: {text}"},
    "confirmed": {
        "en": "I knew that already: {text}",
        "pt": "Eu já sabia: {text}",
        "es": "Ya lo sabía: {text}",
    },
    "updated": {"en": "Updated: {text}", "pt": "Atualizado: {text}", "es": "Actualizado: {text}"},
    "superseded": {
        "en": "Saved, in place of what I knew before: {text}",
        "pt": "Guardado, no lugar do que eu sabia antes: {text}",
        "es": "Guardado, en lugar de lo que sabía antes: {text}",
    },
    "pending": {
        "en": "Kept until you confirm it: {text}",
        "pt": "Guardado até que você confirme: {text}",
        "es": "Guardado hasta que lo confirmes: {text}",
    },
    "corrected": {"en": "Corrected: {text}", "pt": "Corrigido: {text}", "es": "Corregido: {text}"},
    "forgotten": {"en": "Forgotten.", "pt": "Esquecido.", "es": "Olvidado."},
    "secret": {
        "en": "Nothing was saved: this looks like a key, a password or a card number.",
        "pt": "Nada foi guardado: parece uma chave, uma senha ou um número de cartão.",
        "es": "No se guardó nada: parece una clave, una contraseña o un número de tarjeta.",
    },
    "off": {
        "en": "Nothing was saved: you have switched remembering off.",
        "pt": "Nada foi guardado: você desligou a memória.",
        "es": "No se guardó nada: has desactivado la memoria.",
    },
    "refused": {
        "en": "Nothing was saved: say it in one short sentence.",
        "pt": "Nada foi guardado: diga em uma frase curta.",
        "es": "No se guardó nada: dilo en una frase corta.",
    },
    "temporary": {
        "en": "Nothing was saved or changed: this question is temporary.",
        "pt": "Nada foi guardado nem mudado: esta pergunta é temporária.",
        "es": "No se guardó ni cambió nada: esta pregunta es temporal.",
    },
    "away": {
        "en": "Nothing was saved or changed: my memory does not answer right now.",
        "pt": "Nada foi guardado nem mudado: a minha memória não responde agora.",
        "es": "No se guardó ni cambió nada: mi memoria no responde ahora.",
    },
    "unknown": {
        "en": "Nothing was forgotten: I remember nothing like that.",
        "pt": "Nada foi esquecido: não me lembro de nada assim.",
        "es": "No se olvidó nada: no recuerdo nada así.",
    },
    "several": {
        "en": "Nothing was forgotten: several memories fit, say which one.",
        "pt": "Nada foi esquecido: várias memórias servem, diga qual.",
        "es": "No se olvidó nada: hay varios recuerdos así, di cuál.",
    },
    "unclear": {
        "en": "Nothing was changed: say the whole sentence as it should be.",
        "pt": "Nada foi mudado: diga a frase inteira como deve ser.",
        "es": "No se cambió nada: di la frase entera como debe ser.",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of an order: the name of what is said, and the memory that it is about."""

    name: str
    memory: Memory | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The turn that gives an order."""

    ask: Ask
    talk: Talk


async def obey(
    parts: AnswerParts, memory: MemoryParts, scope: Scope, told: Told, command: Command
) -> AsyncGenerator[Event, None]:
    """Do what the turn orders, say what was saved, forgotten or corrected, or that nothing was, in
    the language of the order, and record the turn. A temporary turn has no place that an order
    could be kept with, so nothing is done but to say so."""
    clock = parts.retrieve.clock
    started = clock.monotonic()
    yield Retrieved(passages=())
    try:
        done = _Outcome(name="temporary")
        if told.talk.place is not None:
            doing = _done(memory, scope, told.ask.question, told.talk.place, command)
            done = await answered(doing, _EMBED_SECONDS + parts.talk.seconds)
    except ServiceAway as error:
        done = _Outcome(name="away", degraded=(f"memory: {error.code}",))
    text = _SAID[done.name][command.language].format(text=done.memory.text if done.memory else "")
    own = (done.memory.id,) if done.memory else ()
    sentence = Sentence(text=text, markers=(), support="supported", memories=own)
    checked = Checked(mode="extractive", sentence=sentence, citations=())
    yield checked
    answer = _answer(told, sentence, done, 1000 * (clock.monotonic() - started))
    record = answer_record(answer, [], {}) | {"command": command.verb, "outcome": done.name}
    await finish(parts.talk, scope, told.talk, text, [checked], (), record, memories=own)
    yield Done(answer=answer)


async def _done(
    memory: MemoryParts, scope: Scope, words: str, begun: Begun, command: Command
) -> _Outcome:
    place = (memory, scope, begun.persona, begun.conversation_id)
    source = MemorySource(kind="turn", words=words, turn_id=begun.question_id)
    offer = Offer(text=command.text, source=source, persona=begun.persona)
    try:
        if command.verb == "forget":
            return _Outcome(name=await forget(*place, command.text))
        if command.verb == "correct":
            corrected = await correct(*place, command.text, fragment=command.fragment)
            if corrected is not None:
                return replace(_kept(corrected), name="corrected")
        # A whole sentence says by itself what is right.
        return (
            _Outcome(name="unclear")
            if command.fragment
            else _kept(await remember(memory, scope, offer))
        )
    except MemoryOff:
        return _Outcome(name="off")
    except SecretRefused:
        return _Outcome(name="secret")
    except UsageError:
        return _Outcome(name="refused")


def _kept(done: Remembered) -> _Outcome:
    return _Outcome(name=done.outcome, memory=done.memory)


def _answer(told: Told, sentence: Sentence, done: _Outcome, milliseconds: float) -> Answer:
    shown: Sequence[Memory] = [done.memory] if done.memory else []
    place = told.talk.place
    return Answer(
        question=told.ask.question,
        text=sentence.text,
        abstained=False,
        mode="extractive",
        sentences=(sentence,),
        citations=(),
        passages=(),
        degraded=done.degraded,
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={"total": milliseconds},
        conversation_id=place.conversation_id if place else None,
        turn_id=place.answer_id if place else None,
        trace_id=told.talk.trace_id,
        asked_turn_id=place.question_id if place else None,
        memories=tuple(Recalled(memory=m, score=None, signals=None) for m in shown),
    )
