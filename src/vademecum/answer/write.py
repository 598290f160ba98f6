"""How are an answer's sentences written, checked and kept, one by one?"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

from vademecum.answer.budget import CONTEXT_TOKENS
from vademecum.answer.cite import OBEYED, Gate, citation, verify
from vademecum.answer.converse import Talk, TalkParts
from vademecum.answer.extract import extract
from vademecum.answer.generate import Written, says_unknown, sentences
from vademecum.answer.markers import Claim, read_markers
from vademecum.answer.prompt import Built, build, reveals
from vademecum.answer.remembered import backed, reason_and_rest
from vademecum.answer.reuse import ReuseParts
from vademecum.answer.unknown import part_unknown
from vademecum.deadline import answered, within
from vademecum.errors import EmbeddingInvalid, ModelUnusable, PromptTooLong, ServiceAway
from vademecum.memory.recall import MemoryParts
from vademecum.model.answer import AnswerMode, Checked, Citation, Sentence, Usage
from vademecum.model.ids import ChunkId, MemoryId
from vademecum.model.memory import Recall
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.ports.embedder import TokenEncoder
from vademecum.ports.language_model import LanguageModel, TokenCounter
from vademecum.ports.store import DocumentStore
from vademecum.retrieve.pipeline import RetrieveParts
from vademecum.text.greetings import is_greeting

_READ = 5
# Tokens of sources, first and where a provider finds the prompt too long for its window.
_SMALLER_CONTEXTS = (CONTEXT_TOKENS, CONTEXT_TOKENS // 2, CONTEXT_TOKENS // 4)
_GONE = "no longer visible"
# For one sentence that is checked, or one part of a question that is quoted for.
_ENCODER_SECONDS = 10.0
_EXTRACT_LATE, _VERIFY_LATE = "extract: DEADLINE", "verify: DEADLINE"
_NO_TOKENS = Usage(prompt_tokens=0, completion_tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParts:
    """What the line needs from outside. Without `language_model` answers are extractive, without
    `memory` nothing is remembered of anybody, without `reuse` no answer is given twice.
    With `best_at_ends` the best passages stand at both ends of a prompt's sources.
    `versions` names models, index, prompt, release and settings, for the traces."""

    retrieve: RetrieveParts
    talk: TalkParts
    encoder: TokenEncoder
    language_model: LanguageModel | None
    counter: TokenCounter
    temperature: float | None
    show_unsupported: bool
    best_at_ends: bool = False
    memory: MemoryParts | None = None
    reuse: ReuseParts | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Draft:
    """What has been checked so far. `removed` says why sentences are not shown; `used` are the
    memories that stood in the prompt."""

    kept: list[Checked] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    usage: Usage = _NO_TOKENS
    degraded: list[str] = field(default_factory=list)
    model_failed: bool = False
    used: tuple[MemoryId, ...] = ()

    @property
    def sentences(self) -> list[Sentence]:
        return [checked.sentence for checked in self.kept]

    @property
    def citations(self) -> list[Citation]:
        return [citation for checked in self.kept for citation in checked.citations]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """What an answer is written from: what was said before, what was found, and what is remembered
    of the person, None where memory is away."""

    talk: Talk
    passages: Sequence[Passage]
    recall: Recall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the one who asks may see at this moment, on the day that is asked about; the store has
    `seconds` to tell."""

    store: DocumentStore
    scope: Scope
    as_of: date | None
    seconds: float

    async def lost(self, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Return those that are deleted, replaced or no longer visible. Raises: DatabaseAway."""
        wanted = list(dict.fromkeys(chunk_ids))
        confirming = self.store.confirm(self.scope, wanted, self.as_of)
        return set(wanted) - set(await answered(confirming, self.seconds))


async def extracted(
    parts: AnswerParts,
    asked: Sequence[str],
    searches: Sequence[Retrieval],
    draft: Draft,
    sight: Sight,
    language: str,
) -> AsyncGenerator[Checked, None]:
    """Quote, part by part, the sentences that answer; say which part has none."""
    markers: dict[ChunkId, int] = {}
    for part, search in zip(asked, searches, strict=True):
        chosen = []
        if search.passages and not is_greeting(part) and _EXTRACT_LATE not in draft.degraded:
            extracting = extract(
                part,
                search.query,
                search.passages[:_READ],
                search.abstention.confidence,
                parts.encoder,
            )
            try:
                chosen = await within(extracting, _ENCODER_SECONDS)
            except TimeoutError:
                draft.degraded.append(_EXTRACT_LATE)
            except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
                draft.degraded.append(f"extract: {error.code}")
        lost = await sight.lost(quoted.passage.source.chunk.id for quoted in chosen)
        for quoted in chosen:
            chunk = quoted.passage.source.chunk
            quote = " ".join(chunk.text[quoted.start : quoted.end].split())
            if chunk.id in lost or any(said.text == quote for said in draft.sentences):
                continue
            marker = markers.get(chunk.id, len(markers) + 1)
            sentence, _ = await verify(
                Claim(text=quote, markers=(marker,)), {marker: quoted.passage}, None, part
            )
            if sentence.support == "unsupported":
                draft.removed.append(sentence.why)
                continue
            markers[chunk.id] = marker
            cited = citation(
                marker, quoted.passage, quoted.start, quoted.end, support=sentence.support
            )
            yield _keep(draft, "extractive", sentence, (cited,))
        if not chosen and len(asked) > 1:
            said = Sentence(text=part_unknown(part, language), markers=(), support="unsupported")
            yield _keep(draft, "extractive", said, ())


async def generated(
    parts: AnswerParts,
    model: LanguageModel,
    question: str,
    prompted: Prompted,
    draft: Draft,
    sight: Sight,
) -> AsyncGenerator[Checked, None]:
    """Let the model write, knowing what was said before and what is remembered; where its window
    is too small, again with fewer passages."""
    talk = prompted.talk
    for context_tokens in _SMALLER_CONTEXTS:
        # Counting loads its tables once, which takes a second of processor time.
        built = await asyncio.to_thread(
            partial(
                build,
                context_tokens=context_tokens,
                past=talk.past,
                language=talk.language,
                recall=prompted.recall,
                best_at_ends=parts.best_at_ends,
            ),
            *(question, prompted.passages, parts.counter, parts.temperature),
        )
        draft.used = tuple(one.memory.id for one in built.memories)
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
    draft: Draft,
    sight: Sight,
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
            checked, citations = await _backed(built, gate, claim, draft)
            hidden = checked.support == "unsupported" and not parts.show_unsupported
            if hidden or checked.why == OBEYED or reveals(claim.text):
                draft.removed.append(checked.why or OBEYED)
            elif await sight.lost(citation.chunk_id for citation in citations):
                draft.removed.append(_GONE)
            else:
                yield _keep(draft, "generated", checked, citations)


async def _backed(
    built: Built, gate: Gate, claim: Claim, draft: Draft
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check a claim against the sources; where they do not support it, against what is remembered
    of the person. "Since you use a wheelchair, …" takes its reason from there, the rest from a
    source. What neither says stays unsupported."""
    checked, citations = await _verified(gate, claim, draft)
    if checked.support == "supported" or checked.why == OBEYED or not built.memories:
        return checked, citations
    if own := backed(claim.text, built.memories):
        return Sentence(text=claim.text, markers=(), support="supported", memories=own), ()
    parted = reason_and_rest(claim.text)
    if parted is not None and claim.markers and (own := backed(parted[0], built.memories)):
        rest, cited = await _verified(gate, replace(claim, text=parted[1]), draft)
        if rest.support != "unsupported":
            return replace(rest, text=claim.text, memories=own), cited
    return checked, citations


async def _verified(
    gate: Gate, claim: Claim, draft: Draft
) -> tuple[Sentence, tuple[Citation, ...]]:
    """Check a claim; without the encoder, where it fails, by its words alone. One that was late
    once is asked no more."""
    if _VERIFY_LATE in draft.degraded:
        return await gate.without_encoder().check(claim)
    try:
        return await within(gate.check(claim), _ENCODER_SECONDS)
    except TimeoutError:
        draft.degraded.append(_VERIFY_LATE)
        return await gate.without_encoder().check(claim)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        draft.degraded.append(f"verify: {error.code}")
        return await gate.without_encoder().check(claim)


def still_seen(
    draft: Draft,
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
    draft: Draft, mode: AnswerMode, sentence: Sentence, citations: tuple[Citation, ...]
) -> Checked:
    checked = Checked(mode=mode, sentence=sentence, citations=citations)
    draft.kept.append(checked)
    return checked
