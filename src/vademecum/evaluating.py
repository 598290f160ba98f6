"""How is a golden set run through the whole system, and where do new questions for it come from?"""

import hashlib
import importlib.metadata
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from vademecum.answer.pipeline import whole
from vademecum.app import App
from vademecum.errors import Forbidden, InvalidSetting, UsageError
from vademecum.evaluate.candidates import Passing, from_chunk, from_thumb, passing
from vademecum.evaluate.golden import Golden, GoldenQuestion, Relevant
from vademecum.evaluate.relevance import Piece, Place, Target, places_of, target
from vademecum.evaluate.report import summarise
from vademecum.evaluate.runner import Asked, Watch, run_golden, unwatched
from vademecum.model.answer import Answer
from vademecum.model.conversation import Past, Turn
from vademecum.model.document import Document
from vademecum.model.evaluation import Result, Run
from vademecum.model.ids import ChunkId, DocumentId, EvaluationId, FeedbackId, TurnId, new_uuid
from vademecum.model.passage import ConfirmedChunk
from vademecum.model.principal import Scope
from vademecum.model.trace import Trace
from vademecum.retrieve.calibrated import holding
from vademecum.retrieve.rewrite import stand_alone
from vademecum.settings import Loaded, shown

# What acts when something is asked. The rest acts when documents are read, or tells where they are.
SETTABLE = ("search.", "answer.", "models.language", "models.reranker")
_VERSIONED = ("answer.", "chunking.", "models.embedding", "models.language", "models.reranker",
              "search.")  # fmt: skip


def check_settable(settings: Mapping[str, Any]) -> None:
    """Raise UsageError for a setting that would change nothing in a run, or other data."""
    for key in settings:
        if not key.startswith(SETTABLE):
            raise UsageError(
                f"{key} cannot be set for one run", hint=f"a run takes {', '.join(SETTABLE)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How to run: over which collections (None for all), with what set for this run alone, and
    whether the language model, where there is one, judges."""

    collections: frozenset[str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    judged: bool = True


async def evaluate(
    app: App,
    golden: Golden,
    *,
    scope: Scope,
    loaded: Loaded,
    wish: Wish,
    count: Callable[[int, int], None] = lambda _done, _total: None,
    watch: Watch = unwatched,
) -> tuple[Run, list[Result]]:
    """Run a golden set and keep what came of it; `loaded` are the settings that the app was opened
    with, those of this run among them.

    Nothing is remembered or said in a conversation; what is remembered of the principals is left
    out, so that the sources alone are measured. Raises: Forbidden for who is no operator,
    UsageError for what the golden set names and is not there.
    """
    check_operator(scope)
    model = app.answer_parts.language_model
    documents = await app.catalogue.documents.all(scope)
    asker = AppAsker(_without_memories(app), scope, documents, wish.collections)
    started_at, started = datetime.now(UTC), time.monotonic()
    results = await run_golden(
        asker, golden, model=model if wish.judged else None, count=count, watch=watch
    )
    run = Run(
        id=EvaluationId(new_uuid()),
        name=golden.name,
        sha256=golden.sha256,
        principal=scope.principal,
        created_at=started_at,
        seconds=time.monotonic() - started,
        questions=len(results),
        skipped=len(golden.skipped),
        settings=dict(wish.settings),
        versions=_versions(app, loaded, documents)
        | {"calibration": await _calibrated(app, scope, wish.collections)},
        summaries=summarise(results),
    )
    await app.catalogue.evaluations.keep(scope, run, results)
    return run, results


def _without_memories(app: App) -> App:
    return replace(app, answer_parts=replace(app.answer_parts, memory=None))


class AppAsker:
    """The Asker of one run: everything goes through the App, as for a person."""

    def __init__(
        self,
        app: App,
        scope: Scope,
        documents: Sequence[Document],
        collections: frozenset[str] | None,
    ) -> None:
        self._app = app
        self._scope = scope
        self._documents = documents
        self._collections = collections
        self._read: dict[tuple[DocumentId, date | None], tuple[str, list[Piece]]] = {}

    async def targets(self, question: GoldenQuestion) -> tuple[Target, ...]:
        return tuple(
            [
                await self._target(question, one, f"{question.place}: relevant[{at}]")
                for at, one in enumerate(question.relevant)
            ]
        )

    async def _target(self, question: GoldenQuestion, entry: Relevant, place: str) -> Target:
        document = find_document(self._documents, entry.document, place)
        text, pieces = await self._text_of(document.id, question.as_of)
        if not pieces:
            raise UsageError(
                f"{place}.document {entry.document!r} has no text to find",
                hint="`vade documents show` tells why",
            )
        places: tuple[Place, ...] = ()
        if entry.quote:
            places = places_of(text, entry.quote)
            if not places:
                raise UsageError(
                    f"{place}.quote is not in {entry.document}",
                    hint=f"copy it from `vade documents text {document.id}`",
                )
        return target(document.id, places, pieces)

    async def _text_of(
        self, document_id: DocumentId, as_of: date | None
    ) -> tuple[str, list[Piece]]:
        key = (document_id, as_of)
        if key not in self._read:
            catalogue = self._app.catalogue
            text = await catalogue.documents.text(self._scope, document_id, as_of)
            pieces = [
                Piece(chunk_id=chunk, start=start, end=end)
                for chunk, start, end in await catalogue.evaluations.pieces(
                    self._scope, document_id, as_of
                )
            ]
            self._read[key] = (text, pieces)
        return self._read[key]

    async def ask(self, question: GoldenQuestion, depth: int) -> Asked:
        scope = sight_of(question, self._scope)
        said = _turns(question)
        started = time.monotonic()
        meant = await stand_alone(
            self._app.answer_parts.language_model, Past(summary="", turns=said), question.question
        )
        found = await self._app.search(
            meant.text,
            scope=scope,
            k=depth,
            collections=self._collections,
            as_of=question.as_of,
        )
        answer = await self._answer(question, scope, said)
        degraded = dict.fromkeys([*found.retrieval.degraded, *answer.degraded])
        return Asked(
            passages=found.retrieval.passages,
            confidence=found.retrieval.abstention.confidence,
            trace_id=found.trace_id,
            answer=answer,
            degraded=tuple(degraded),
            milliseconds=1000 * (time.monotonic() - started),
        )

    async def _answer(
        self, question: GoldenQuestion, scope: Scope, said: tuple[Turn, ...]
    ) -> Answer:
        events = self._app.stream(
            question.question,
            scope=scope,
            collections=self._collections,
            as_of=question.as_of,
            temporary=True,
            said=said,
        )
        return await whole(events)


def sight_of(question: GoldenQuestion, scope: Scope) -> Scope:
    """Return what the question's principal sees. The trace stays that of whoever runs it, of
    `scope`: the principal never asked."""
    name = question.principal
    if not name:
        return scope
    principal = name if ":" in name else f"user:{name}"
    own = Scope.for_principal(scope.tenant, principal, question.labels)
    return replace(own, principal=scope.principal)


def _turns(question: GoldenQuestion) -> tuple[Turn, ...]:
    now = datetime.now(UTC)
    return tuple(
        Turn(
            id=TurnId(new_uuid()),
            position=position,
            role=said.role,
            text=said.text,
            state="complete",
            created_at=now,
        )
        for position, said in enumerate(question.history, start=1)
    )


def find_document(documents: Sequence[Document], name: str, place: str) -> Document:
    """Return the document that a golden set names by id, by uri, or by the end of one uri alone.

    Raises: UsageError that begins with `place`.
    """
    try:
        wanted: UUID | None = UUID(name)
    except ValueError:
        wanted = None
    found = [one for one in documents if one.id == wanted or one.uri == name]
    found = found or [one for one in documents if one.uri.endswith(f"/{name}")]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"{place}.document {name!r} is not there", hint="`vade documents list` shows all"
        )
    ids = ", ".join(str(one.id) for one in found[:5])
    told = f"{place}.document {name!r} is {len(found)} documents"
    raise UsageError(told, hint=f"name one: {ids}")


def _versions(app: App, loaded: Loaded, documents: Sequence[Document]) -> dict[str, str]:
    """Return what a result depends on beside the questions; `documents` stands for their state."""
    model = app.answer_parts.language_model
    generation = app.ingest_parts.generation
    ranking, expanding = app.answer_parts.retrieve.ranking, app.answer_parts.retrieve.expanding
    set_to = [[key, value] for key, value, _ in shown(loaded) if key.startswith(_VERSIONED)]
    held = sorted([one.collection, one.uri, one.content_hash, one.fingerprint] for one in documents)
    return {
        "code": importlib.metadata.version("vademecum"),
        "settings": _digest(set_to),
        "documents": _digest(held),
        "generation": str(generation.id),
        "embedder": app.answer_parts.retrieve.embedder.space.name,
        "analyser": generation.analyser,
        "chunker": app.ingest_parts.chunking.fingerprint("default"),
        "fusion": ranking.fusion.method,
        "reranker": str(ranking.named["models.reranker"]).removeprefix("local:"),
        "language_model": model.name if model else "",
        **({"queries": expanding.how} if expanding else {}),
    }


async def _calibrated(app: App, scope: Scope, collections: frozenset[str] | None) -> str:
    """Return which calibration searches of the collections go by, "" for none."""
    parts = app.answer_parts.retrieve
    if parts.calibrations is None or collections is None or len(collections) != 1:
        return ""
    found = await parts.calibrations.of(scope, min(collections))
    held = holding(found, parts.ranking.named)
    return "" if held is None else held.label


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[:12]


async def candidates_from_thumbs(app: App, *, scope: Scope, limit: int) -> list[dict[str, Any]]:
    """Return a candidate for each of the newest thumbs down whose trace is still there and says
    what was asked. Raises: Forbidden."""
    check_operator(scope)
    given = await app.catalogue.feedback.all(scope, "down", limit)
    traces = await app.catalogue.records.traces(scope, [one.trace_id for one in given])
    asked = {trace.id: passing(trace) for trace in traces}
    return [
        from_thumb(one, asked[one.trace_id], await _confirmed(app, scope, asked[one.trace_id]))
        for one in given
        if one.trace_id in asked and asked[one.trace_id].question
    ]


async def candidate_from_thumb(
    app: App, feedback_id: FeedbackId, *, scope: Scope
) -> tuple[Trace, dict[str, Any]]:
    """Return the candidate of one word on an answer, and its trace.

    Raises: Forbidden, FeedbackNotFound, TraceNotFound."""
    check_operator(scope)
    given = await app.catalogue.feedback.get(scope, feedback_id)
    trace = await app.catalogue.records.trace(scope, given.trace_id)
    asked = passing(trace)
    return trace, from_thumb(given, asked, await _confirmed(app, scope, asked))


async def _confirmed(app: App, scope: Scope, asked: Passing) -> list[ConfirmedChunk]:
    """Return what a trace found as far as it is still there, in its order."""
    wanted = [ChunkId(UUID(name)) for name in asked.chunks]
    found = await app.catalogue.documents.confirm(scope, wanted, None)
    return [found[chunk] for chunk in wanted if chunk in found]


async def candidates_from_corpus(
    app: App,
    *,
    scope: Scope,
    collections: frozenset[str] | None,
    limit: int,
    count: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[dict[str, Any]]:
    """Return candidates that the language model writes about `limit` chunks, of as many documents
    as there are; always the same chunks of the same documents. Fewer come where it fails, or
    quotes what is not there. Raises: Forbidden, InvalidSetting without a model."""
    check_operator(scope)
    model = app.answer_parts.language_model
    if model is None:
        raise InvalidSetting(
            "questions about the documents need a language model",
            hint="set models.language, or generate from thumbs alone",
        )
    chunks = await _sampled(app, scope, collections, limit)
    made = []
    for at, chunk in enumerate(chunks):
        count(at, len(chunks))
        made.append(await from_chunk(model, chunk))
    return [one for one in made if one is not None]


async def _sampled(
    app: App, scope: Scope, collections: frozenset[str] | None, limit: int
) -> list[ConfirmedChunk]:
    """Return one chunk of each document, then a second of each, in an order that says nothing
    about them, until there are enough."""
    store = app.catalogue.documents
    documents = [
        one
        for one in await store.all(scope)
        if one.chunks and (collections is None or one.collection in collections)
    ]
    documents.sort(key=lambda one: _digest(one.uri))
    ranked = [
        sorted(await store.chunks(scope, one.id), key=lambda chunk: _digest(chunk.text))
        for one in documents[:limit]
    ]
    deepest = max((len(chunks) for chunks in ranked), default=0)
    order = [chunks[at].id for at in range(deepest) for chunks in ranked if at < len(chunks)]
    found = await store.confirm(scope, order[:limit], None)
    return [found[chunk] for chunk in order[:limit] if chunk in found]


def check_operator(scope: Scope) -> None:
    """Raise Forbidden for who is no operator."""
    if not scope.operator:
        raise Forbidden("only an operator evaluates", hint="use a key that may admin")
