"""How does a question become a checked answer? Read `answer` from top to bottom."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from vademecum.answer.cite import merge
from vademecum.answer.command import Told, obey
from vademecum.answer.conflicts import conflicts
from vademecum.answer.converse import Talk, begin, finish, spoken_text, stop
from vademecum.answer.record import answer_record, asked_record
from vademecum.answer.remembered import in_time, recalled
from vademecum.answer.reuse import Again, Reuse, keep, look_for
from vademecum.answer.unknown import unknown
from vademecum.answer.write import (
    AnswerParts,
    Draft,
    Prompted,
    Sight,
    extracted,
    generated,
    still_seen,
)
from vademecum.deadline import answered
from vademecum.errors import ServiceAway
from vademecum.model.answer import Answer, AnswerMode, Done, Event, Retrieved
from vademecum.model.conversation import Past
from vademecum.model.filter import Filter, all_of
from vademecum.model.ids import ChunkId
from vademecum.model.memory import Recall
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Query
from vademecum.retrieve.expand import NOTHING, Beside, beside
from vademecum.retrieve.rewrite import StandAlone, stand_alone, with_turn_before
from vademecum.retrieve.sections import in_sections
from vademecum.retrieve.widen import divided, spent, voted, widened
from vademecum.text.people.commands import read_command
from vademecum.text.questions import parts as question_parts
from vademecum.text.questions import search_text

_SEARCHED = 8
# Each part is two searches at once, over the connections that all requests share.
_MOST_PARTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought:
    """What is searched for, and which part of the question is quoted for by each search; what a
    model added beside the only part; a filter that a rewrite brought."""

    texts: Sequence[str]
    wanted: Sequence[str]
    added: Beside
    filter: Filter | None

    @property
    def is_divided(self) -> bool:
        return self.added.how == "decompose" and bool(self.added.texts)

    def quoted_for(self, searches: list[Retrieval]) -> tuple[Sequence[str], list[Retrieval]]:
        """Return the parts of the question, each with its own search in the second list. Of one
        that a model divided, the first search is that of the whole."""
        if self.is_divided and len(searches) > 1:
            return self.added.texts, searches[1:]
        return self.wanted, searches


async def answer(parts: AnswerParts, scope: Scope, ask: Ask) -> AsyncGenerator[Event, None]:
    """Yield what was found, each checked sentence, then the whole answer, which is recorded. A turn
    that orders to remember, forget or correct something is obeyed instead.

    The question is kept from the beginning; where the answer is stopped or fails, as much of it
    as was shown. Raises: ConversationNotFound, before anything is searched.
    """
    talk = await begin(parts.talk, scope, ask)
    draft = Draft()
    ended = False
    try:
        async with aclosing(_events(parts, scope, ask, talk, draft)) as events:
            async for event in events:
                ended = isinstance(event, Done)
                yield event
    finally:
        if not ended:
            await stop(parts.talk, scope, talk, draft.kept)


async def whole(events: AsyncGenerator[Event, None]) -> Answer:
    """Return the answer at the end of its events."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                return event.answer
    raise RuntimeError("the answer had no end")


def _events(
    parts: AnswerParts, scope: Scope, ask: Ask, talk: Talk, draft: Draft
) -> AsyncGenerator[Event, None]:
    command = read_command(ask.question) if parts.memory else None
    if command is None or parts.memory is None:
        return _answered(parts, scope, ask, talk, draft)
    return obey(parts, parts.memory, scope, Told(ask=ask, talk=talk), command)


async def _answered(
    parts: AnswerParts, scope: Scope, ask: Ask, talk: Talk, draft: Draft
) -> AsyncGenerator[Event, None]:
    reuse = await look_for(parts.reuse, scope, ask, talk, parts.retrieve.clock.now().date())
    if reuse is not None and reuse.again is not None:
        answering = _given_again(parts, scope, ask, talk, draft, reuse.again)
    else:
        answering = _afresh(parts, scope, ask, talk, draft, reuse)
    async with aclosing(answering) as events:
        async for event in events:
            yield event


async def _afresh(
    parts: AnswerParts, scope: Scope, ask: Ask, talk: Talk, draft: Draft, reuse: Reuse | None
) -> AsyncGenerator[Event, None]:
    clock = parts.retrieve.clock
    started = clock.monotonic()
    timings: dict[str, float] = {}
    meant = await stand_alone(parts.language_model, talk.past, ask.question)
    timings["rewrite"] = 1000 * (clock.monotonic() - started)
    if meant.failed:
        draft.degraded.append(f"rewrite: {meant.failed}")
    searching = clock.monotonic()
    sought = await _sought(parts, ask, talk.past, meant)
    forgone: list[str] = []
    searches, recall = await _found(parts, scope, ask, talk, sought, forgone)
    sight = Sight(
        store=parts.retrieve.store, scope=scope, as_of=ask.as_of, seconds=parts.talk.seconds
    )
    read = await in_sections(sight.store, scope, searches, ask.as_of, sight.seconds)
    timings["retrieve"] = 1000 * (clock.monotonic() - searching)
    passages = voted(read) if sought.is_divided else _merged(read)
    yield Retrieved(passages=passages)

    draft.degraded += [part for search in searches for part in search.degraded] + forgone
    writing = clock.monotonic()
    mode: AnswerMode = "extractive"
    if parts.language_model is not None and (passages or (recall is not None and recall.all)):
        mode = "generated"
        prompted = Prompted(talk=talk, passages=passages, recall=recall)
        written = generated(parts, parts.language_model, ask.question, prompted, draft, sight)
        async with aclosing(written) as steps:
            async for checked in steps:
                yield checked
    # Quotations also stand in for a model that failed before it said anything that holds.
    if mode == "extractive" or (draft.model_failed and not draft.sentences):
        mode = "extractive"
        wanted, quoted = sought.quoted_for(read)
        async for checked in extracted(parts, wanted, quoted, draft, sight, talk.language):
            yield checked
    lost = await sight.lost(found.source.chunk.id for s in searches for found in s.passages)
    passages, searches = still_seen(draft, passages, searches, lost)
    timings["write"] = 1000 * (clock.monotonic() - writing)
    timings["total"] = 1000 * (clock.monotonic() - started)

    draft.usage = spent(draft.usage, sought.added.usage)
    whole = _assemble(ask, talk, draft, mode, passages, recall, timings)
    otherwise = await asyncio.to_thread(conflicts, draft.kept, passages)
    texts = tuple(search.query for search in searches)
    whole = replace(whole, conflicts=() if whole.abstained else otherwise, searched=texts)
    rewrite = {"how": meant.how, "text": meant.text}
    record = answer_record(whole, searches, _versions(parts), draft.removed, rewrite)
    record["asked"] = asked_record(scope, ask, whole.conversation_id)
    said = () if whole.abstained else draft.kept
    await finish(parts.talk, scope, talk, whole.text, said, passages, record, memories=draft.used)
    await _count_uses(parts, scope, draft)
    await keep(parts.reuse, scope, reuse, whole, tuple(draft.kept))
    yield Done(answer=whole)


async def _given_again(
    parts: AnswerParts, scope: Scope, ask: Ask, talk: Talk, draft: Draft, again: Again
) -> AsyncGenerator[Event, None]:
    """Say what was said before to the same question: nothing that it depends on has changed."""
    started = parts.retrieve.clock.monotonic()
    yield Retrieved(passages=again.passages)
    for checked in again.kept.said:
        draft.kept.append(checked)
        yield checked
    timings = {"total": 1000 * (parts.retrieve.clock.monotonic() - started)}
    answer = _assemble(ask, talk, draft, again.kept.mode, again.passages, None, timings)
    otherwise = await asyncio.to_thread(conflicts, draft.kept, again.passages)
    before = again.kept.trace_id
    whole = replace(
        answer,
        given_before=before,
        reworded=again.reworded,
        conflicts=() if answer.abstained else otherwise,
    )
    record = answer_record(whole, (), _versions(parts))
    if again.reworded:
        record["reworded"] = True
    record["asked"] = asked_record(scope, ask, whole.conversation_id)
    said = () if whole.abstained else draft.kept
    await finish(parts.talk, scope, talk, whole.text, said, again.passages, record)
    yield Done(answer=whole)


async def _found(
    parts: AnswerParts,
    scope: Scope,
    ask: Ask,
    talk: Talk,
    sought: _Sought,
    forgone: list[str],
) -> tuple[list[Retrieval], Recall | None]:
    """Search for each part and recall memories, all at once, in its turn; `forgone` takes what
    memory lacks. Raises: QueueFull."""
    async with parts.retrieve.turnstile.passing():
        if parts.memory is None:
            return await _search(parts, scope, ask, sought), None
        remembering = asyncio.create_task(recalled(parts.memory, scope, ask, talk))
        try:
            searches = await _search(parts, scope, ask, sought)
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
        await answered(parts.memory.store.used(scope, draft.used), parts.talk.seconds)
    except ServiceAway:
        return  # one use that is not counted changes a score by little


def _versions(parts: AnswerParts) -> dict[str, Any]:
    model = parts.language_model
    return {**parts.versions, "language_model": model.name if model else ""}


def _bounded(asked: Sequence[str]) -> list[str]:
    """Return at most `_MOST_PARTS` parts, the last of which takes in what is beyond."""
    first, rest = asked[: _MOST_PARTS - 1], asked[_MOST_PARTS - 1 :]
    return [*first, " ".join(rest)] if rest else list(first)


def _texts(asked: Sequence[str], ask: Ask, past: Past, meant: StandAlone) -> list[str]:
    """Return what to search for, part by part."""
    if meant.how == "model":
        return [search_text(part, meant.text) for part in asked]
    typed = [search_text(part, ask.question) for part in asked]
    if meant.how == "typed":
        return typed
    if len(asked) == 1:
        return [meant.text]
    return [with_turn_before(past.turns, text) for text in typed]


async def _sought(parts: AnswerParts, ask: Ask, past: Past, meant: StandAlone) -> _Sought:
    """Return what to search for. A question of several parts is searched part by part already; to
    one of a single part a model may add."""
    asked = _bounded(question_parts(meant.text if meant.how == "model" else ask.question))
    texts = _texts(asked, ask, past, meant)
    expanding = parts.retrieve.expanding
    several = Beside(how=expanding.how) if expanding else NOTHING
    added = await beside(expanding, texts[0]) if len(texts) == 1 else several
    # What goes on with an earlier question is quoted for as it was searched for.
    wanted = asked if meant.how == "typed" else texts
    return _Sought(texts=texts, wanted=wanted, added=added, filter=meant.filter)


async def _search(parts: AnswerParts, scope: Scope, ask: Ask, sought: _Sought) -> list[Retrieval]:
    """Search for each part by itself, all at once. A filter that a rewrite brings narrows the
    asker's own; where nothing is left then, it was none, and is left out."""
    if sought.filter is not None:
        both = all_of([*([ask.filter] if ask.filter else []), sought.filter])
        narrowed = await _search_each(parts, scope, ask, sought, both)
        if all(search.passages for search in narrowed):
            return narrowed
    return await _search_each(parts, scope, ask, sought, ask.filter)


async def _search_each(
    parts: AnswerParts, scope: Scope, ask: Ask, sought: _Sought, wanted: Filter | None
) -> list[Retrieval]:
    queries = [
        Query(
            text=text,
            k=_SEARCHED,
            mode="hybrid",
            collections=ask.collections,
            as_of=ask.as_of,
            filter=wanted,
        )
        for text in sought.texts
    ]
    if sought.is_divided:
        return await divided(parts.retrieve, scope, queries[0], sought.added)
    return await asyncio.gather(
        *(widened(parts.retrieve, scope, query, sought.added) for query in queries)
    )


def _merged(searches: Sequence[Retrieval]) -> tuple[Passage, ...]:
    """Return the passages of all searches, each once, best ranks first."""
    found: dict[ChunkId, Passage] = {}
    for passage in sorted((p for s in searches for p in s.passages), key=lambda p: p.rank):
        found.setdefault(passage.source.chunk.id, passage)
    return tuple(found.values())


def _assemble(
    ask: Ask,
    talk: Talk,
    draft: Draft,
    mode: AnswerMode,
    passages: tuple[Passage, ...],
    recall: Recall | None,
    timings: dict[str, float],
) -> Answer:
    """Return the answer; nothing supported means that we do not know, and cite nothing."""
    known = any(sentence.support != "unsupported" for sentence in draft.sentences)
    return Answer(
        question=ask.question,
        text=spoken_text(draft.kept) if known else unknown(talk.language),
        abstained=not known,
        mode=mode,
        sentences=tuple(draft.sentences) if known else (),
        citations=merge(draft.citations) if known else (),
        passages=passages,
        degraded=tuple(dict.fromkeys(draft.degraded)),
        usage=draft.usage,
        timings_ms=timings,
        conversation_id=talk.place.conversation_id if talk.place else None,
        turn_id=talk.place.answer_id if talk.place else None,
        trace_id=talk.trace_id,
        asked_turn_id=talk.place.question_id if talk.place else None,
        memories=recall.all if recall is not None else (),
        as_of=ask.as_of,
        searched=(ask.question,),
        collections=ask.collections,
    )
