"""How does a question become a checked answer? Read `answer` from top to bottom."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from vademecum.answer.cite import merge
from vademecum.answer.converse import Talk, begin, finish, spoken_text, stop
from vademecum.answer.record import answer_record
from vademecum.answer.unknown import unknown
from vademecum.answer.write import AnswerParts, Draft, Sight, extracted, generated, still_seen
from vademecum.model.answer import Answer, AnswerMode, Done, Event, Retrieved
from vademecum.model.conversation import Past
from vademecum.model.filter import Filter, all_of
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Query
from vademecum.retrieve.pipeline import retrieve
from vademecum.retrieve.rewrite import StandAlone, stand_alone, with_turn_before
from vademecum.text.questions import parts as question_parts
from vademecum.text.questions import search_text

_SEARCHED = 8
# Each part is two searches at once, over the connections that all requests share.
_MOST_PARTS = 8


async def answer(parts: AnswerParts, scope: Scope, ask: Ask) -> AsyncGenerator[Event, None]:
    """Yield what was found, each checked sentence, then the whole answer, which is recorded.

    The question is kept from the beginning; where the answer is stopped or fails, as much of it
    as was shown. Raises: ConversationNotFound, before anything is searched.
    """
    talk = await begin(parts.talk, scope, ask)
    draft = Draft()
    ended = False
    try:
        async with aclosing(_answered(parts, scope, ask, talk, draft)) as events:
            async for event in events:
                ended = isinstance(event, Done)
                yield event
    finally:
        if not ended:
            await stop(parts.talk, scope, talk, draft.kept)


async def _answered(
    parts: AnswerParts, scope: Scope, ask: Ask, talk: Talk, draft: Draft
) -> AsyncGenerator[Event, None]:
    clock = parts.retrieve.clock
    started = clock.monotonic()
    timings: dict[str, float] = {}
    meant = await stand_alone(parts.language_model, talk.past, ask.question)
    timings["rewrite"] = 1000 * (clock.monotonic() - started)
    if meant.failed:
        draft.degraded.append(f"rewrite: {meant.failed}")
    searching = clock.monotonic()
    asked = _bounded(question_parts(meant.text if meant.how == "model" else ask.question))
    texts = _texts(asked, ask, talk.past, meant)
    searches = await _search(parts, scope, ask, meant, texts)
    timings["retrieve"] = 1000 * (clock.monotonic() - searching)
    passages = _merged(searches)
    yield Retrieved(passages=passages)

    sight = Sight(store=parts.retrieve.store, scope=scope, as_of=ask.as_of)
    draft.degraded += [part for search in searches for part in search.degraded]
    writing = clock.monotonic()
    mode: AnswerMode = "extractive"
    if parts.language_model is not None and passages:
        mode = "generated"
        written = generated(parts, parts.language_model, ask.question, talk, passages, draft, sight)
        async with aclosing(written) as steps:
            async for checked in steps:
                yield checked
    # Quotations also stand in for a model that failed before it said anything that holds.
    if mode == "extractive" or (draft.model_failed and not draft.sentences):
        mode = "extractive"
        # What goes on with an earlier question is quoted for as it was searched for.
        wanted = asked if meant.how == "typed" else texts
        async for checked in extracted(parts, wanted, searches, draft, sight, talk.language):
            yield checked
    lost = await sight.lost(passage.source.chunk.id for passage in passages)
    passages, searches = still_seen(draft, passages, searches, lost)
    timings["write"] = 1000 * (clock.monotonic() - writing)
    timings["total"] = 1000 * (clock.monotonic() - started)

    whole = _assemble(ask, talk, draft, mode, passages, timings)
    rewrite = {"how": meant.how, "text": meant.text}
    record = answer_record(whole, searches, _versions(parts), draft.removed, rewrite)
    said = () if whole.abstained else draft.kept
    await finish(parts.talk, scope, talk, whole.text, said, passages, record)
    yield Done(answer=whole)


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


async def _search(
    parts: AnswerParts, scope: Scope, ask: Ask, meant: StandAlone, texts: Sequence[str]
) -> list[Retrieval]:
    """Search for each part by itself, all at once. A filter that a rewrite brings narrows the
    asker's own; where nothing is left then, it was none, and is left out."""
    if meant.filter is not None:
        both = all_of([*([ask.filter] if ask.filter else []), meant.filter])
        narrowed = await _search_each(parts, scope, ask, texts, both)
        if all(search.passages for search in narrowed):
            return narrowed
    return await _search_each(parts, scope, ask, texts, ask.filter)


async def _search_each(
    parts: AnswerParts, scope: Scope, ask: Ask, texts: Sequence[str], wanted: Filter | None
) -> list[Retrieval]:
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
                    filter=wanted,
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
    talk: Talk,
    draft: Draft,
    mode: AnswerMode,
    passages: tuple[Passage, ...],
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
    )
