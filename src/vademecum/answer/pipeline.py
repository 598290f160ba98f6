"""How does a question become a checked answer? Read `answer` from top to bottom."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from vademecum.answer.cite import merge
from vademecum.answer.command import obey
from vademecum.answer.record import answer_record
from vademecum.answer.remembered import in_time, recalled
from vademecum.answer.unknown import unknown
from vademecum.answer.write import AnswerParts, Draft, Sight, extracted, generated, still_seen
from vademecum.errors import ServiceAway
from vademecum.model.answer import Answer, AnswerMode, Done, Event, Retrieved
from vademecum.model.ids import ChunkId, ConversationId, TraceId, TurnId, new_uuid
from vademecum.model.memory import Recall
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Query
from vademecum.model.trace import Trace
from vademecum.retrieve.pipeline import retrieve
from vademecum.text.commands import read_command
from vademecum.text.questions import parts as question_parts
from vademecum.text.questions import search_text

_SEARCHED = 8
# Each part is two searches at once, over the connections that all requests share.
_MOST_PARTS = 8


async def answer(parts: AnswerParts, scope: Scope, ask: Ask) -> AsyncGenerator[Event, None]:
    """Yield what was found, each checked sentence, then the whole answer, which is recorded. A turn
    that orders to remember, forget or correct something is obeyed instead."""
    command = read_command(ask.question) if parts.memory is not None else None
    if command is not None and parts.memory is not None:
        async with aclosing(obey(parts, parts.memory, scope, ask, command)) as steps:
            async for event in steps:
                yield event
        return
    clock = parts.retrieve.clock
    started = clock.monotonic()
    timings: dict[str, float] = {}
    asked = _bounded(question_parts(ask.question))
    forgone: list[str] = []
    searches, recall = await _found(parts, scope, ask, asked, forgone)
    timings["retrieve"] = 1000 * (clock.monotonic() - started)
    passages = _merged(searches)
    yield Retrieved(passages=passages)

    sight = Sight(store=parts.retrieve.store, scope=scope, as_of=ask.as_of)
    draft = Draft(degraded=[part for search in searches for part in search.degraded] + forgone)
    writing = clock.monotonic()
    mode: AnswerMode = "extractive"
    if parts.language_model is not None and (passages or (recall is not None and recall.all)):
        mode = "generated"
        written = generated(
            parts, parts.language_model, ask.question, passages, recall, draft, sight
        )
        async with aclosing(written) as steps:
            async for checked in steps:
                yield checked
    # Quotations also stand in for a model that failed before it said anything that holds.
    if mode == "extractive" or (draft.model_failed and not draft.sentences):
        mode = "extractive"
        async for checked in extracted(parts, asked, searches, draft, sight):
            yield checked
    lost = await sight.lost(passage.source.chunk.id for passage in passages)
    passages, searches = still_seen(draft, passages, searches, lost)
    timings["write"] = 1000 * (clock.monotonic() - writing)
    timings["total"] = 1000 * (clock.monotonic() - started)

    whole = _assemble(ask, draft, mode, passages, recall, timings)
    record = answer_record(whole, searches, _versions(parts), draft.removed)
    trace = Trace(
        id=whole.trace_id,
        kind="ask",
        principal=scope.principal,
        documents=tuple({p.source.document_id for p in passages}),
        chunks=tuple(p.source.chunk.id for p in passages),
        created_at=clock.now(),
        record=record,
    )
    await parts.records.record_answer(scope, whole, trace)
    await _count_uses(parts, scope, draft)
    yield Done(answer=whole)


async def _found(
    parts: AnswerParts, scope: Scope, ask: Ask, asked: Sequence[str], forgone: list[str]
) -> tuple[list[Retrieval], Recall | None]:
    """Search for each part and recall memories, all at once; `forgone` takes what memory lacks."""
    if parts.memory is None:
        return await _search(parts, scope, ask, asked), None
    remembering = asyncio.create_task(recalled(parts.memory, scope, ask))
    try:
        searches = await _search(parts, scope, ask, asked)
        recall = await in_time(remembering, parts.memory.seconds, forgone)
    finally:
        remembering.cancel()
    forgone += recall.degraded if recall is not None else ()
    return searches, recall


async def _count_uses(parts: AnswerParts, scope: Scope, draft: Draft) -> None:
    """Count a use of each memory that stood in the prompt: nobody waits for it but the record,
    and an answer is whole without it."""
    if parts.memory is None or not draft.used:
        return
    try:
        await parts.memory.store.used(scope, draft.used)
    except ServiceAway:
        return  # one use that is not counted changes a score by little


def _versions(parts: AnswerParts) -> dict[str, str]:
    model = parts.language_model
    return {
        "space": parts.retrieve.embedder.space.name,
        "language_model": model.name if model else "",
    }


def _bounded(asked: Sequence[str]) -> list[str]:
    """Return at most `_MOST_PARTS` parts, the last of which takes in what is beyond."""
    first, rest = asked[: _MOST_PARTS - 1], asked[_MOST_PARTS - 1 :]
    return [*first, " ".join(rest)] if rest else list(first)


async def _search(
    parts: AnswerParts, scope: Scope, ask: Ask, asked: Sequence[str]
) -> list[Retrieval]:
    """Search for each part by itself, all at once."""
    texts = [search_text(part, ask.question) for part in asked]
    return await asyncio.gather(
        *(
            retrieve(
                parts.retrieve,
                scope,
                Query(
                    text=text,
                    k=_SEARCHED,
                    mode="hybrid",
                    collections=ask.collections,
                    as_of=ask.as_of,
                    filter=ask.filter,
                ),
            )
            for text in texts
        )
    )


def _merged(searches: Sequence[Retrieval]) -> tuple[Passage, ...]:
    """Return the passages of all searches, each once, best ranks first."""
    found: dict[ChunkId, Passage] = {}
    for passage in sorted((p for s in searches for p in s.passages), key=lambda p: p.rank):
        found.setdefault(passage.source.chunk.id, passage)
    return tuple(found.values())


def _assemble(
    ask: Ask,
    draft: Draft,
    mode: AnswerMode,
    passages: tuple[Passage, ...],
    recall: Recall | None,
    timings: dict[str, float],
) -> Answer:
    """Return the answer; nothing supported means that we do not know, and cite nothing."""
    known = any(sentence.support != "unsupported" for sentence in draft.sentences)
    text = "\n".join(
        " ".join([sentence.text, *(f"[{marker}]" for marker in sentence.markers)])
        for sentence in draft.sentences
    )
    if not known:
        text = unknown(ask.question)
    return Answer(
        question=ask.question,
        text=text,
        abstained=not known,
        mode=mode,
        sentences=tuple(draft.sentences) if known else (),
        citations=merge(draft.citations) if known else (),
        passages=passages,
        degraded=tuple(dict.fromkeys(draft.degraded)),
        usage=draft.usage,
        timings_ms=timings,
        conversation_id=ask.conversation_id or ConversationId(new_uuid()),
        turn_id=TurnId(new_uuid()),
        trace_id=TraceId(new_uuid()),
        asked_turn_id=TurnId(new_uuid()),
        memories=recall.all if recall is not None else (),
    )
