"""How does a question become a checked answer? Read `answer` from top to bottom."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date

from vademecum.answer.cite import citation, merge, verify
from vademecum.answer.extract import extract
from vademecum.answer.generate import Written, says_unknown, sentences
from vademecum.answer.markers import Claim, read_markers
from vademecum.answer.prompt import build
from vademecum.answer.record import answer_record
from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
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
from vademecum.model.ids import ChunkId, ConversationId, TraceId, TurnId, new_uuid
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.model.trace import Trace
from vademecum.ports.embedder import TokenEncoder
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.store import RecordStore
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.text.language import detect
from vademecum.text.questions import parts as question_parts
from vademecum.text.questions import search_text

UNKNOWN = {
    "en": "I don't know: the documents do not answer this.",
    "pt": "Não sei: os documentos não respondem a isto.",
    "es": "No lo sé: los documentos no responden a esto.",
}
_PART_UNKNOWN = {
    "en": "The documents do not answer: {part}",
    "pt": "Os documentos não respondem: {part}",
    "es": "Los documentos no responden: {part}",
}
_LANGUAGES = frozenset(UNKNOWN)
_SEARCHED = 8
_READ = 5
# Each part is two searches at once, over the connections that all requests share.
_MOST_PARTS = 8
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
    """What has been checked so far."""

    sentences: list[Sentence] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    usage: Usage = _NO_TOKENS
    degraded: list[str] = field(default_factory=list)
    model_failed: bool = False


async def answer(
    parts: AnswerParts,
    scope: Scope,
    question: str,
    *,
    collections: frozenset[str] | None,
    conversation_id: ConversationId | None,
    as_of: date | None = None,
) -> AsyncGenerator[Event, None]:
    """Yield what was found, each checked sentence, then the whole answer, which is recorded.

    `as_of` is the day whose revisions are searched, None for those in force now.
    """
    clock = parts.retrieve.clock
    started = clock.monotonic()
    timings: dict[str, float] = {}
    asked = _bounded(question_parts(question))
    searches = await _search(parts, scope, question, asked, collections, as_of)
    timings["retrieve"] = 1000 * (clock.monotonic() - started)
    passages = _merged(searches)
    yield Retrieved(passages=passages)

    draft = _Draft(degraded=[part for search in searches for part in search.degraded])
    writing = clock.monotonic()
    mode: AnswerMode = "extractive"
    if parts.language_model is not None and passages:
        mode = "generated"
        written = _generated(parts, parts.language_model, question, passages, draft)
        async with aclosing(written) as steps:
            async for checked in steps:
                yield checked
    # Quotations also stand in for a model that failed before it said anything that holds.
    if mode == "extractive" or (draft.model_failed and not draft.sentences):
        mode = "extractive"
        async for checked in _extracted(parts, asked, searches, draft):
            yield checked
    timings["write"] = 1000 * (clock.monotonic() - writing)
    timings["total"] = 1000 * (clock.monotonic() - started)

    whole = _assemble(
        question, draft, mode, passages, timings, conversation_id or ConversationId(new_uuid())
    )
    versions = {
        "space": parts.retrieve.embedder.space.name,
        "language_model": parts.language_model.name if parts.language_model else "",
    }
    trace = Trace(
        id=whole.trace_id,
        kind="ask",
        principal=scope.principal,
        documents=tuple({p.source.document_id for p in passages}),
        created_at=clock.now(),
        record=answer_record(whole, searches, versions),
    )
    await parts.records.record_answer(scope, whole, trace)
    yield Done(answer=whole)


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
) -> list[Retrieval]:
    """Search for each part by itself, all at once."""
    texts = [search_text(part, question) for part in asked]
    return await asyncio.gather(
        *(
            retrieve(
                parts.retrieve,
                scope,
                Query(text=text, k=_SEARCHED, mode="hybrid", collections=collections, as_of=as_of),
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
    parts: AnswerParts, asked: Sequence[str], searches: Sequence[Retrieval], draft: _Draft
) -> AsyncGenerator[Checked, None]:
    """Quote, part by part, the sentences that answer; say which part has none."""
    markers: dict[ChunkId, int] = {}
    for part, search in zip(asked, searches, strict=True):
        chosen = []
        if search.passages:
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
        for extracted in chosen:
            chunk = extracted.passage.source.chunk
            marker = markers.setdefault(chunk.id, len(markers) + 1)
            quote = " ".join(chunk.text[extracted.start : extracted.end].split())
            if any(sentence.text == quote for sentence in draft.sentences):
                continue
            sentence, _ = await verify(
                Claim(text=quote, markers=(marker,)), {marker: extracted.passage}, None
            )
            cited = citation(
                marker, extracted.passage, extracted.start, extracted.end, support=sentence.support
            )
            yield _keep(draft, "extractive", sentence, (cited,))
        if not chosen and len(asked) > 1:
            language = detect(part, _LANGUAGES)
            text = _PART_UNKNOWN.get(language, _PART_UNKNOWN["en"]).format(part=part)
            unknown = Sentence(text=text, markers=(), support="unsupported")
            yield _keep(draft, "extractive", unknown, ())


async def _generated(
    parts: AnswerParts,
    model: LanguageModel,
    question: str,
    passages: Sequence[Passage],
    draft: _Draft,
) -> AsyncGenerator[Checked, None]:
    """Let the model write, and pass on only sentences that their sources support."""
    # Counting loads its tables once, which takes a second of processor time.
    prompt, sources = await asyncio.to_thread(
        build, question, passages, parts.counter, parts.temperature
    )
    try:
        async with aclosing(sentences(model, prompt, parts.counter)) as written:
            async for sentence in written:
                if isinstance(sentence, Written):
                    draft.usage = sentence.usage
                    if sentence.cut:
                        draft.degraded.append("language_model: cut short")
                    continue
                claim = read_markers(sentence, sources)
                if not claim.text or says_unknown(claim.text):
                    continue
                checked, citations = await _verified(parts, claim, sources, draft)
                if checked.support != "unsupported" or parts.show_unsupported:
                    yield _keep(draft, "generated", checked, citations)
    except ServiceAway as error:
        draft.model_failed = True
        draft.degraded.append(f"language_model: {error.code}")


async def _verified(
    parts: AnswerParts, claim: Claim, sources: Mapping[int, Passage], draft: _Draft
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check a claim; without the embedder, where it fails, by its words alone."""
    try:
        return await verify(claim, sources, parts.encoder)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        draft.degraded.append(f"verify: {error.code}")
        return await verify(claim, sources, None)


def _keep(
    draft: _Draft, mode: AnswerMode, sentence: Sentence, citations: tuple[Citation, ...]
) -> Checked:
    draft.sentences.append(sentence)
    draft.citations += citations
    return Checked(mode=mode, sentence=sentence, citations=citations)


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
        text = UNKNOWN.get(detect(question, _LANGUAGES), UNKNOWN["en"])
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
