"""How does a question become a checked answer? Read `answer` from top to bottom."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from vademecum.answer.budget import CONTEXT_TOKENS
from vademecum.answer.cite import OBEYED, Gate, citation, merge, verify
from vademecum.answer.extract import extract
from vademecum.answer.generate import Written, says_unknown, sentences
from vademecum.answer.markers import Claim, read_markers
from vademecum.answer.prompt import Built, build, reveals
from vademecum.answer.record import answer_record
from vademecum.answer.unknown import part_unknown, unknown
from vademecum.errors import EmbeddingInvalid, ModelUnusable, PromptTooLong, ServiceAway
from vademecum.model.answer import (
    Answer,
    AnswerMode,
    Checked,
    Citation,
    Done,
    Event,
    Retrieved,
    Sentence,
    Usage,
)
from vademecum.model.filter import Filter
from vademecum.model.ids import ChunkId, ConversationId, TraceId, TurnId, new_uuid
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.model.trace import Trace
from vademecum.ports.embedder import TokenEncoder
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.store import DocumentStore, RecordStore
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.text.greetings import is_greeting
from vademecum.text.questions import parts as question_parts
from vademecum.text.questions import search_text

_SEARCHED = 8
_READ = 5
# Each part is two searches at once, over the connections that all requests share.
_MOST_PARTS = 8
# Tokens of sources, first and where a provider finds the prompt too long for its window.
_SMALLER_CONTEXTS = (CONTEXT_TOKENS, CONTEXT_TOKENS // 2, CONTEXT_TOKENS // 4)
_GONE = "no longer visible"
_NO_TOKENS = Usage(prompt_tokens=0, completion_tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParts:
    """What the line needs from outside. Without `language_model` answers are extractive."""

    retrieve: RetrieveParts
    records: RecordStore
    encoder: TokenEncoder
    language_model: LanguageModel | None
    counter: TokenCounter
    temperature: float | None
    show_unsupported: bool


@dataclass(slots=True, kw_only=True)
class _Draft:
    """What has been checked so far. `removed` says why sentences are not shown."""

    kept: list[Checked] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    usage: Usage = _NO_TOKENS
    degraded: list[str] = field(default_factory=list)
    model_failed: bool = False

    @property
    def sentences(self) -> list[Sentence]:
        return [checked.sentence for checked in self.kept]

    @property
    def citations(self) -> list[Citation]:
        return [citation for checked in self.kept for citation in checked.citations]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """What the one who asks may see at this moment, on the day that is asked about."""

    store: DocumentStore
    scope: Scope
    as_of: date | None

    async def lost(self, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Return those that are deleted, replaced or no longer visible."""
        wanted = list(dict.fromkeys(chunk_ids))
        return set(wanted) - set(await self.store.confirm(self.scope, wanted, self.as_of))


async def answer(
    parts: AnswerParts,
    scope: Scope,
    question: str,
    *,
    collections: frozenset[str] | None,
    conversation_id: ConversationId | None,
    as_of: date | None = None,
    filter: Filter | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield what was found, each checked sentence, then the whole answer, which is recorded.

    `as_of` is the day whose revisions are searched, None for those in force now; `filter` tells
    which documents, None for all.
    """
    clock = parts.retrieve.clock
    started = clock.monotonic()
    timings: dict[str, float] = {}
    asked = _bounded(question_parts(question))
    searches = await _search(parts, scope, question, asked, collections, as_of, filter)
    timings["retrieve"] = 1000 * (clock.monotonic() - started)
    passages = _merged(searches)
    yield Retrieved(passages=passages)

    sight = _Sight(store=parts.retrieve.store, scope=scope, as_of=as_of)
    draft = _Draft(degraded=[part for search in searches for part in search.degraded])
    writing = clock.monotonic()
    mode: AnswerMode = "extractive"
    if parts.language_model is not None and passages:
        mode = "generated"
        written = _generated(parts, parts.language_model, question, passages, draft, sight)
        async with aclosing(written) as steps:
            async for checked in steps:
                yield checked
    # Quotations also stand in for a model that failed before it said anything that holds.
    if mode == "extractive" or (draft.model_failed and not draft.sentences):
        mode = "extractive"
        async for checked in _extracted(parts, asked, searches, draft, sight):
            yield checked
    lost = await sight.lost(passage.source.chunk.id for passage in passages)
    passages, searches = _still_seen(draft, passages, searches, lost)
    timings["write"] = 1000 * (clock.monotonic() - writing)
    timings["total"] = 1000 * (clock.monotonic() - started)

    whole = _assemble(
        question, draft, mode, passages, timings, conversation_id or ConversationId(new_uuid())
    )
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


async def _search(
    parts: AnswerParts,
    scope: Scope,
    question: str,
    asked: Sequence[str],
    collections: frozenset[str] | None,
    as_of: date | None,
    wanted: Filter | None,
) -> list[Retrieval]:
    """Search for each part by itself, all at once."""
    texts = [search_text(part, question) for part in asked]
    return await asyncio.gather(
        *(
            retrieve(
                parts.retrieve,
                scope,
                Query(
                    text=text,
                    k=_SEARCHED,
                    mode="hybrid",
                    collections=collections,
                    as_of=as_of,
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


async def _extracted(
    parts: AnswerParts,
    asked: Sequence[str],
    searches: Sequence[Retrieval],
    draft: _Draft,
    sight: _Sight,
) -> AsyncGenerator[Checked, None]:
    """Quote, part by part, the sentences that answer; say which part has none."""
    markers: dict[ChunkId, int] = {}
    for part, search in zip(asked, searches, strict=True):
        chosen = []
        if search.passages and not is_greeting(part):
            try:
                chosen = await extract(
                    part,
                    search.query,
                    search.passages[:_READ],
                    search.abstention.confidence,
                    parts.encoder,
                )
            except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
                draft.degraded.append(f"extract: {error.code}")
        lost = await sight.lost(extracted.passage.source.chunk.id for extracted in chosen)
        for extracted in chosen:
            chunk = extracted.passage.source.chunk
            quote = " ".join(chunk.text[extracted.start : extracted.end].split())
            if chunk.id in lost or any(said.text == quote for said in draft.sentences):
                continue
            marker = markers.get(chunk.id, len(markers) + 1)
            sentence, _ = await verify(
                Claim(text=quote, markers=(marker,)), {marker: extracted.passage}, None, part
            )
            if sentence.support == "unsupported":
                draft.removed.append(sentence.why)
                continue
            markers[chunk.id] = marker
            cited = citation(
                marker, extracted.passage, extracted.start, extracted.end, support=sentence.support
            )
            yield _keep(draft, "extractive", sentence, (cited,))
        if not chosen and len(asked) > 1:
            said = Sentence(text=part_unknown(part), markers=(), support="unsupported")
            yield _keep(draft, "extractive", said, ())


async def _generated(
    parts: AnswerParts,
    model: LanguageModel,
    question: str,
    passages: Sequence[Passage],
    draft: _Draft,
    sight: _Sight,
) -> AsyncGenerator[Checked, None]:
    """Let the model write; where its window is too small, again with fewer passages."""
    for context_tokens in _SMALLER_CONTEXTS:
        # Counting loads its tables once, which takes a second of processor time.
        built = await asyncio.to_thread(
            partial(build, context_tokens=context_tokens),
            *(question, passages, parts.counter, parts.temperature),
        )
        gate = Gate(built.sources, parts.encoder, question)
        try:
            async with aclosing(_written(parts, model, built, gate, draft, sight)) as steps:
                async for checked in steps:
                    yield checked
        except PromptTooLong as error:
            draft.degraded.append(f"language_model: {error.code}")
            continue
        except ServiceAway as error:
            draft.model_failed = True
            draft.degraded.append(f"language_model: {error.code}")
        draft.degraded += [f"{name}: cut short" for name in built.cut]
        return
    draft.model_failed = True


async def _written(
    parts: AnswerParts,
    model: LanguageModel,
    built: Built,
    gate: Gate,
    draft: _Draft,
    sight: _Sight,
) -> AsyncGenerator[Checked, None]:
    """Pass on only those sentences that their sources support, and that may still be seen."""
    async with aclosing(sentences(model, built.prompt, parts.counter)) as written:
        async for sentence in written:
            if isinstance(sentence, Written):
                draft.usage = sentence.usage
                if sentence.cut:
                    draft.degraded.append("language_model: cut short")
                continue
            claim = read_markers(sentence, built.sources)
            if not claim.text or says_unknown(claim.text):
                continue
            checked, citations = await _verified(gate, claim, draft)
            hidden = checked.support == "unsupported" and not parts.show_unsupported
            if hidden or checked.why == OBEYED or reveals(claim.text):
                draft.removed.append(checked.why or OBEYED)
            elif await sight.lost(citation.chunk_id for citation in citations):
                draft.removed.append(_GONE)
            else:
                yield _keep(draft, "generated", checked, citations)


async def _verified(
    gate: Gate, claim: Claim, draft: _Draft
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check a claim; without the encoder, where it fails, by its words alone."""
    try:
        return await gate.check(claim)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        draft.degraded.append(f"verify: {error.code}")
        return await gate.without_encoder().check(claim)


def _still_seen(
    draft: _Draft,
    passages: tuple[Passage, ...],
    searches: list[Retrieval],
    lost: set[ChunkId],
) -> tuple[tuple[Passage, ...], list[Retrieval]]:
    """Take what was lost while the answer was written out of all that is shown and recorded."""
    if not lost:
        return passages, searches
    draft.degraded.append(f"citations: {_GONE}")
    kept = [c for c in draft.kept if all(cited.chunk_id not in lost for cited in c.citations)]
    draft.removed += [_GONE] * (len(draft.kept) - len(kept))
    draft.kept = kept

    def seen(found: Iterable[Passage]) -> tuple[Passage, ...]:
        return tuple(passage for passage in found if passage.source.chunk.id not in lost)

    return seen(passages), [replace(s, passages=seen(s.passages)) for s in searches]


def _keep(
    draft: _Draft, mode: AnswerMode, sentence: Sentence, citations: tuple[Citation, ...]
) -> Checked:
    checked = Checked(mode=mode, sentence=sentence, citations=citations)
    draft.kept.append(checked)
    return checked


def _assemble(
    question: str,
    draft: _Draft,
    mode: AnswerMode,
    passages: tuple[Passage, ...],
    timings: dict[str, float],
    conversation_id: ConversationId,
) -> Answer:
    """Return the answer; nothing supported means that we do not know, and cite nothing."""
    known = any(sentence.support != "unsupported" for sentence in draft.sentences)
    text = "\n".join(
        " ".join([sentence.text, *(f"[{marker}]" for marker in sentence.markers)])
        for sentence in draft.sentences
    )
    if not known:
        text = unknown(question)
    return Answer(
        question=question,
        text=text,
        abstained=not known,
        mode=mode,
        sentences=tuple(draft.sentences) if known else (),
        citations=merge(draft.citations) if known else (),
        passages=passages,
        degraded=tuple(dict.fromkeys(draft.degraded)),
        usage=draft.usage,
        timings_ms=timings,
        conversation_id=conversation_id,
        turn_id=TurnId(new_uuid()),
        trace_id=TraceId(new_uuid()),
    )
