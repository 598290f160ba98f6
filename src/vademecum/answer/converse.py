"""How does a question join its conversation, and what is kept of it however the answer ends?"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vademecum.answer.unknown import reply_language
from vademecum.deadline import answered
from vademecum.errors import ServiceAway
from vademecum.model.answer import Checked
from vademecum.model.conversation import Begun, Finished, Past, TurnState
from vademecum.model.ids import ConversationId, DocumentId, MemoryId, TraceId, new_uuid
from vademecum.model.passage import Passage
from vademecum.model.principal import Scope
from vademecum.model.query import Ask
from vademecum.model.trace import Trace
from vademecum.ports.clock import Clock
from vademecum.ports.conversations import TalkStore
from vademecum.ports.store import RecordStore

STORE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkParts:
    """Where conversations and traces are kept, and what time it is. A turn waits at most `seconds`
    for the database wherever it needs it."""

    conversations: TalkStore
    records: RecordStore
    clock: Clock
    seconds: float = STORE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One question in its conversation. A temporary one has no place: nothing of it is kept."""

    place: Begun | None
    past: Past
    language: str
    trace_id: TraceId


async def begin(parts: TalkParts, scope: Scope, ask: Ask) -> Talk:
    """Save the question before anything else is done for it, and return what was said before.

    Raises: ConversationNotFound, DatabaseAway, before anything is searched or written.
    """
    trace_id = TraceId(new_uuid())
    if ask.temporary:
        past = Past(summary="", turns=ask.said)
        language = reply_language(ask.question, past)
        return Talk(place=None, past=past, language=language, trace_id=trace_id)
    beginning = parts.conversations.begin(
        scope,
        ask.conversation_id or ConversationId(new_uuid()),
        ask.question,
        persona=ask.persona,
        language=reply_language(ask.question),
        zone=ask.zone,
        again=ask.again,
        new=ask.conversation_id is None,
    )
    place = await answered(beginning, parts.seconds)
    language = reply_language(ask.question, place.past)
    return Talk(place=place, past=place.past, language=language, trace_id=trace_id)


async def finish(
    parts: TalkParts,
    scope: Scope,
    talk: Talk,
    text: str,
    said: Sequence[Checked],
    passages: Sequence[Passage],
    record: Mapping[str, Any],
    *,
    memories: Sequence[MemoryId] = (),
    state: TurnState = "complete",
) -> None:
    """Put what was said into its place with its trace; of a temporary question keep only that
    these chunks were retrieved."""
    kept = talk.place is not None
    trace = Trace(
        id=talk.trace_id,
        kind="ask",
        principal=scope.principal,
        documents=tuple({p.source.document_id for p in passages}) if kept else (),
        chunks=tuple(p.source.chunk.id for p in passages),
        created_at=parts.clock.now(),
        record=record if kept else {"temporary": True},
    )
    if talk.place is None:
        await answered(parts.records.record_trace(scope, trace), parts.seconds)
        return
    citations = [citation for checked in said for citation in checked.citations]
    documents: dict[DocumentId, None] = dict.fromkeys(c.document_id for c in citations)
    finished = Finished(
        text=text,
        state=state,
        language=talk.language,
        used_chunks=tuple(dict.fromkeys(citation.chunk_id for citation in citations)),
        documents=tuple(documents),
        used_memories=tuple(memories),
    )
    ending = parts.conversations.finish(scope, talk.place, finished, trace)
    await answered(ending, parts.seconds)


async def stop(parts: TalkParts, scope: Scope, talk: Talk, said: Sequence[Checked]) -> None:
    """Keep as much of an answer as was shown when it was stopped or failed, in its place.

    Where not even that can be written, the place stays empty and is closed by the rescue.
    """
    # Whoever cancelled the answer does not wait for it, and must not cut this short as well.
    record = {"interrupted": True}
    ending = asyncio.ensure_future(
        finish(parts, scope, talk, spoken_text(said), said, (), record, state="interrupted")
    )
    try:
        await asyncio.shield(ending)
    except ServiceAway:
        return


def spoken_text(said: Sequence[Checked]) -> str:
    """Return sentences as a turn keeps them: one a line, each with its markers."""
    return "\n".join(
        " ".join([checked.sentence.text, *(f"[{m}]" for m in checked.sentence.markers)])
        for checked in said
    )
