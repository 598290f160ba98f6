"""What stands in one conversation, ready to be shown?"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from vademecum.model.conversation import Conversation, Turn
from vademecum.model.ids import ChunkId, ConversationId, TraceId, TurnId
from vademecum.model.memory import STATES, Memory
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.serving.key import Caller
from vademecum.server.service import Service
from vademecum.server.web.views import AnswerView, chunks_in, day_of, turn_view
from vademecum.text.people.commands import read_command
from vademecum.text.people.said import statements
from vademecum.text.people.statements import statement

# So many questions are shown at once; what was said before is one click away.
MOST_SHOWN = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question with its answers, the newest first; `offers` are the statements of oneself in it
    that may be kept."""

    question: str
    answers: tuple[AnswerView, ...]
    offers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation; `earlier` counts the questions that are not shown."""

    conversation: Conversation
    exchanges: tuple[Exchange, ...]
    earlier: int


async def open_thread(
    service: Service, caller: Caller, conversation_id: ConversationId, *, every: bool
) -> Thread:
    """Return a conversation of the caller's. Raises: ConversationNotFound."""
    scope = caller.scope
    dialogue = await service.app.talking.show(conversation_id, scope=scope)
    questions = [turn for turn in dialogue.turns if turn.role == "user"]
    shown = questions if every else questions[-MOST_SHOWN:]
    answers = _answers(dialogue.turns, {turn.id for turn in shown})
    records = await _records(service, scope, answers)
    found = await _found(service, scope, records.values())
    memories = await _memories(service, caller, answers)
    keeps = await may_keep(service, caller)
    exchanges = [
        Exchange(
            question=question.text,
            answers=tuple(
                turn_view(
                    turn,
                    conversation_id,
                    records.get(turn.trace_id, {}) if turn.trace_id else {},
                    found,
                    memories,
                )
                for turn in sorted(
                    (a for a in answers if a.reply_to == question.id),
                    key=lambda turn: -turn.variant,
                )
            ),
            offers=offers_in(question.text) if keeps and question is shown[-1] else (),
        )
        for question in shown
    ]
    return Thread(
        conversation=dialogue.conversation,
        exchanges=tuple(exchanges),
        earlier=len(questions) - len(shown),
    )


async def may_keep(service: Service, caller: Caller) -> bool:
    """Tell whether the caller may have something remembered, and has not switched that off."""
    if not {"memory", "admin"} & caller.permissions:
        return False
    return await service.app.remembering(scope=caller.scope)


def offers_in(text: str) -> tuple[str, ...]:
    """Return what a person states of themselves in a turn that orders nothing."""
    if read_command(text) is not None:
        return ()
    said = [(words, statement(words)) for words in statements(text)]
    return tuple(words for words, known in said if known is not None and known.subject == "self")


def _answers(turns: Sequence[Turn], questions: Collection[TurnId]) -> list[Turn]:
    return [t for t in turns if t.role == "assistant" and t.reply_to in questions]


async def _records(
    service: Service, scope: Scope, answers: Iterable[Turn]
) -> dict[TraceId, Mapping[str, Any]]:
    ids = [turn.trace_id for turn in answers if turn.trace_id is not None]
    traces = await service.app.catalogue.records.traces(scope, ids) if ids else []
    return {trace.id: trace.record for trace in traces}


async def _found(
    service: Service, scope: Scope, records: Iterable[Mapping[str, Any]]
) -> dict[ChunkId, ConfirmedChunk]:
    """Return the passages of kept answers, each as it is on the day that its answer is about."""
    wanted: dict[str, set[ChunkId]] = {}
    for record in records:
        wanted.setdefault(day_of(record), set()).update(chunks_in(record))
    found: dict[ChunkId, ConfirmedChunk] = {}
    for day, chunks in wanted.items():
        as_of = date.fromisoformat(day) if day else None
        found |= await service.app.catalogue.documents.confirm(
            scope, sorted(chunks), as_of, sections=True
        )
    return found


async def _memories(
    service: Service, caller: Caller, answers: Iterable[Turn]
) -> dict[UUID, Memory]:
    used = {memory for turn in answers for memory in turn.used_memories}
    if not used or not {"memory", "admin"} & caller.permissions:
        return {}
    every = await service.app.memories(scope=caller.scope, states=STATES)
    return {memory.id: memory for memory in every if memory.id in used}
