"""How does a query become passages? Read `retrieve` from top to bottom."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from vademecum.deadline import Turnstile, answered
from vademecum.errors import EmbeddingInvalid, ModelUnusable
from vademecum.model.calibration import Calibration
from vademecum.model.embedding import FloatArray, TokenStates, check_states, check_vectors
from vademecum.model.ids import ChunkId
from vademecum.model.index import DenseHits, Selection
from vademecum.model.passage import ConfirmedChunk, Passage, Retrieval, Signals
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.ports.calibrations import Calibrations
from vademecum.ports.clock import Clock
from vademecum.ports.embedder import Embedder, TokenEncoder, embedded, is_one_model
from vademecum.ports.index import Index
from vademecum.ports.reranker import Reranker
from vademecum.ports.store import DocumentStore
from vademecum.rank.blend import MAXSIM, RERANK_FIRST, RERANK_LEAD
from vademecum.rank.ngrams import ngram_shares
from vademecum.retrieve.abstain import in_other_language, judge
from vademecum.retrieve.calibrated import holding, judged_by, named, tuned
from vademecum.retrieve.expand import Expanding
from vademecum.retrieve.fuse import Fusion, fuse, levelled, with_spelling
from vademecum.retrieve.notes import Notes
from vademecum.retrieve.rerank import (
    RERANKED,
    by_texts,
    capped,
    checked_scores,
    is_close,
    late_interaction,
    reordered,
)
from vademecum.retrieve.search import KeywordHits, keyword_leg
from vademecum.text.language import detect

CANDIDATES = 100
# A reranker's share of a search's times and of what was missing.
RERANKER = "reranker"
# What was deleted or hidden since the index was read is made up for by those behind it.
_SPARE = 10
_NO_KEYWORD = KeywordHits(hits=(), shares={})
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How passages are ordered. Without `rerank` the fused order stands. A leg gets `leg_seconds`;
    after that the other one answers alone.

    `reranker` names what reranks: late interaction, or a Reranker behind it. That one is asked
    about the best `rerank_first` where the best leads by less than `rerank_lead` standard
    deviations. Of one document at most `per_document` passages are found among the candidates that
    are confirmed, 0 for any number.
    """

    fusion: Fusion
    rerank: bool
    leg_seconds: float
    reranker: str = MAXSIM
    rerank_first: int = RERANK_FIRST
    rerank_lead: float = RERANK_LEAD
    per_document: int = 0

    @property
    def named(self) -> dict[str, object]:
        """What the order depends on, by the dotted keys of the settings."""
        named: dict[str, object] = {
            "search.fusion": self.fusion.method,
            "search.fusion_k": self.fusion.k,
            "search.dense_weight": self.fusion.dense_weight,
            "models.reranker": self.reranker if self.rerank else "",
        }
        # What acts only where it is asked for is named only there, so that a trace of before
        # differs in nothing.
        if self.rerank and self.reranker != MAXSIM:
            named["search.rerank_first"] = self.rerank_first
            named["search.rerank_lead"] = self.rerank_lead
        if self.per_document:
            named["search.per_document"] = self.per_document
        return named


DEFAULT_RANKING = Ranking(fusion=Fusion(), rerank=True, leg_seconds=5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveParts:
    """What the line needs from outside, and how it ranks. `expanding` says what `widen.search` adds
    to a query; `retrieve` itself searches for what was typed, and whoever calls it for somebody who
    waits passes the `turnstile` first."""

    store: DocumentStore
    index: Index
    embedder: Embedder
    encoder: TokenEncoder
    clock: Clock
    ranking: Ranking
    reranker: Reranker | None = None
    calibrations: Calibrations | None = None
    expanding: Expanding | None = None
    turnstile: Turnstile = field(default_factory=Turnstile)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DenseLeg:
    """The dense leg's hits, and the query's token states, None where the encoder gave none."""

    hits: DenseHits
    states: TokenStates | None


_NO_DENSE = _DenseLeg(hits=DenseHits(hits=(), low=None, mixed=False, plan=""), states=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Late:
    """What late interaction needs: the query's token states and the candidates' sign bits."""

    states: TokenStates | None
    signs: Mapping[ChunkId, bytes]
    mixed: bool


async def retrieve(parts: RetrieveParts, scope: Scope, query: Query) -> Retrieval:
    """Search both legs at once, fuse, confirm, rerank, judge. What fails is named in
    `degraded`."""
    notes = Notes(clock=parts.clock)
    started = parts.clock.monotonic()
    narrowed = _narrow(scope, query)
    (dense, keyword), fitted = await asyncio.gather(
        _legs(parts, narrowed, query, notes), _calibration(parts, narrowed, query, notes)
    )
    as_set, fusion = parts, tuned(parts.ranking.fusion, fitted)
    parts = replace(parts, ranking=replace(parts.ranking, fusion=fusion))
    fused = fuse(fusion, query.mode, dense.hits, keyword)
    confirming = parts.clock.monotonic()
    confirmed, signs = await _read(parts, narrowed, query, fused, dense.states, notes)
    notes.timings["confirm"] = 1000 * (parts.clock.monotonic() - confirming)
    signals = {item: fused[item] for item in fused if item in confirmed}
    reranking = parts.clock.monotonic()
    if query.mode == "hybrid" and signals:
        late = _Late(states=dense.states, signs=signs, mixed=dense.hits.mixed)
        signals = await asyncio.to_thread(
            _second_order, parts, query.text, signals, confirmed, late
        )
    notes.timings["rerank"] = 1000 * (parts.clock.monotonic() - reranking)
    if query.mode == "hybrid":
        signals = await _by_texts(parts, query.text, signals, confirmed, notes)
    foreign = _in_other_language(query.text, signals, confirmed)
    documents = {item: confirmed[item].document_id for item in signals}
    kept = capped(signals, documents, parts.ranking.per_document)
    notes.timings["total"] = 1000 * (parts.clock.monotonic() - started)
    passages = tuple(
        Passage(rank=rank, score=own.final, source=confirmed[item], signals=own)
        for rank, (item, own) in enumerate(list(kept.items())[: query.k], start=1)
    )
    return Retrieval(
        query=query.text,
        passages=passages,
        abstention=judge(
            signals.values(), dense.hits.hits, other_language=foreign, **judged_by(fitted)
        ),
        degraded=tuple(notes.degraded),
        timings_ms=notes.timings,
        plan=dense.hits.plan,
        # Where nothing is seen, nothing tells that somebody has fitted it.
        fusion={**_described(parts, query, notes), **named(fitted)}
        if signals
        else _described(as_set, query, notes),
        filter=query.filter,
    )


async def _calibration(
    parts: RetrieveParts, scope: Scope, query: Query, notes: Notes
) -> Calibration | None:
    """Return what was fitted to the one collection that is searched, if it holds."""
    names = scope.collections or frozenset()
    if parts.calibrations is None or len(names) != 1 or query.mode != "hybrid":
        return None
    asking = partial(parts.calibrations.of, scope, min(names))
    found = await notes.timed("calibration", asking, None, parts.ranking.leg_seconds)
    return holding(found, parts.ranking.named)


async def _legs(
    parts: RetrieveParts, scope: Scope, query: Query, notes: Notes
) -> tuple[_DenseLeg, KeywordHits]:
    selection = Selection(as_of=query.as_of, filter=query.filter)
    k = max(CANDIDATES, 2 * query.k)

    async def dense() -> _DenseLeg:
        vector, states = await _encode(parts, query)
        async with parts.index.reading(scope) as reader:
            found = await reader.search_dense(vector, selection, k)
        hits = notes.finite("dense", found.hits)
        low = found.low if found.low is not None and math.isfinite(found.low) else None
        return _DenseLeg(hits=replace(found, hits=hits, low=low), states=states)

    async def keyword() -> KeywordHits:
        async with parts.index.reading(scope) as reader:
            found = await keyword_leg(reader, scope.tenant, query.text, selection, k)
        hits = notes.finite("keyword", found.hits)
        return KeywordHits(hits=hits, shares={h.chunk_id: found.shares[h.chunk_id] for h in hits})

    asked = bool(query.text.strip()) and query.k > 0
    return await asyncio.gather(
        notes.timed("dense", dense, _NO_DENSE, parts.ranking.leg_seconds)
        if asked and query.mode != "keyword"
        else _nothing(_NO_DENSE),
        notes.timed("keyword", keyword, _NO_KEYWORD, parts.ranking.leg_seconds)
        if asked and query.mode != "dense"
        else _nothing(_NO_KEYWORD),
    )


async def _encode(parts: RetrieveParts, query: Query) -> tuple[FloatArray, TokenStates | None]:
    """Return the query's vector, shape (d,), and its token states: of one pass, where one model
    gives both. A passage has no states to compare with passages."""
    text = query.text
    if query.role == "passage":
        return (await embedded(parts.embedder, [text], query.role))[0], None
    if is_one_model(parts.embedder, parts.encoder):
        encoded = await parts.encoder.encode([text], "query")
        rows = np.array([states.vector for states in encoded], np.float32)
        dimension = parts.embedder.space.dimension
        check_vectors(rows.reshape(len(encoded), dimension), count=1, dimension=dimension)
        check_states(encoded, count=1)
        return encoded[0].vector, encoded[0]
    vectors = await embedded(parts.embedder, [text], "query")
    try:
        encoded = await parts.encoder.encode([text], "query")
        check_states(encoded, count=1)
    except (EmbeddingInvalid, ModelUnusable):
        return vectors[0], None
    return vectors[0], encoded[0]


async def _read(
    parts: RetrieveParts,
    scope: Scope,
    query: Query,
    fused: Mapping[ChunkId, Signals],
    states: TokenStates | None,
    notes: Notes,
) -> tuple[dict[ChunkId, ConfirmedChunk], Mapping[ChunkId, bytes]]:
    """Return the best candidates as the store confirms them, and the token states of those that
    are reranked, {} where the index gives none: read at the same time. Raises: DatabaseAway."""
    seconds = parts.ranking.leg_seconds
    wanted = max(query.k, RERANKED) if fused and query.k else 0
    order = list(fused)

    async def confirming() -> dict[ChunkId, ConfirmedChunk]:
        return await answered(_confirmed(parts.store, scope, order, wanted, query), seconds)

    if states is None or not parts.ranking.rerank or query.mode != "hybrid":
        return await confirming(), {}
    reading = partial(_signs, parts.index, scope, order[: RERANKED + _SPARE])
    none: Mapping[ChunkId, bytes] = {}
    return await asyncio.gather(confirming(), notes.timed("signs", reading, none, seconds))


async def _confirmed(
    store: DocumentStore, scope: Scope, order: list[ChunkId], wanted: int, query: Query
) -> dict[ChunkId, ConfirmedChunk]:
    """Return the best `wanted` that are alive, in force and visible, with their text."""
    found: dict[ChunkId, ConfirmedChunk] = {}
    at = 0
    while len(found) < wanted and at < len(order):
        page = order[at : at + wanted - len(found) + _SPARE]
        found |= await store.confirm(scope, page, query.as_of)
        at += len(page)
    return found


async def _signs(index: Index, scope: Scope, order: list[ChunkId]) -> Mapping[ChunkId, bytes]:
    async with index.reading(scope) as reader:
        return await reader.token_signs(order)


def _second_order(
    parts: RetrieveParts,
    asked: str,
    signals: dict[ChunkId, Signals],
    confirmed: Mapping[ChunkId, ConfirmedChunk],
    late: _Late,
) -> dict[ChunkId, Signals]:
    """Return the candidates in their last order, now that their texts and states are read."""
    if parts.ranking.fusion.method == "upper_bound":
        texts = [confirmed[item].chunk.embedded_text for item in signals]
        shares = dict(zip(signals, ngram_shares(asked, texts), strict=True))
        signals = with_spelling(parts.ranking.fusion, signals, shares)
        if late.mixed and signals:
            languages = {item: confirmed[item].chunk.language for item in signals}
            signals = levelled(parts.ranking.fusion, signals, languages)
    if late.states is None or not late.signs:
        return signals
    centre = parts.encoder.centre(detect(asked))
    values = late_interaction(late.states, centre, late.signs)
    final = reordered(
        {item: own.fused for item, own in signals.items()},
        values,
        best_share=max((own.keyword_share or 0.0 for own in signals.values()), default=0.0),
        mixed=late.mixed,
    )
    order = sorted(final, key=lambda item: (-final[item], item))
    return {
        item: replace(signals[item], maxsim=values.get(item), final=final[item]) for item in order
    }


def _in_other_language(
    asked: str, signals: Mapping[ChunkId, Signals], confirmed: Mapping[ChunkId, ConfirmedChunk]
) -> bool:
    """Tell whether the question is in another language than the best passage; False where late
    interaction told nothing, since only that is weighed by it."""
    if all(own.maxsim is None for own in signals.values()):
        return False
    return in_other_language(asked, confirmed[next(iter(signals))].chunk.language)


async def _by_texts(
    parts: RetrieveParts,
    asked: str,
    signals: dict[ChunkId, Signals],
    confirmed: Mapping[ChunkId, ConfirmedChunk],
    notes: Notes,
) -> dict[ChunkId, Signals]:
    """Return the candidates as a reranker orders the first of them; in the order that they have
    where there is none, where the best leads clearly, or where it fails or takes too long."""
    ranking, reranker = parts.ranking, parts.reranker
    if reranker is None or not ranking.rerank or not is_close(signals, ranking.rerank_lead):
        return signals
    first = list(signals)[: ranking.rerank_first]
    texts = [confirmed[item].chunk.embedded_text for item in first]
    unknown: list[float | None] = [None] * len(texts)
    asking = partial(_scored, reranker, asked, texts)
    scores = await notes.timed(RERANKER, asking, unknown, ranking.leg_seconds)
    found = {item: score for item, score in zip(first, scores, strict=True) if score is not None}
    return by_texts(signals, found, ranking.rerank_first)


async def _scored(reranker: Reranker, asked: str, texts: Sequence[str]) -> list[float | None]:
    return checked_scores(await reranker.scores(asked, texts), len(texts))


def _described(parts: RetrieveParts, query: Query, notes: Notes) -> Mapping[str, object]:
    """Return how the legs were merged, for the trace; of a reranker, whether it was asked too."""
    if query.mode != "hybrid":
        return {"mode": query.mode}
    fusion, rerank = parts.ranking.fusion, parts.ranking.rerank
    told = {
        "mode": query.mode,
        "method": fusion.method,
        "k": fusion.k,
        "dense_weight": fusion.dense_weight,
        "rerank": "maxsim" if rerank else "",
    }
    if parts.reranker is None or not rerank:
        return told
    return told | {"reranker": parts.reranker.name, "asked": RERANKER in notes.timings}


async def _nothing(empty: T) -> T:
    return empty


def _narrow(scope: Scope, query: Query) -> Scope:
    """A query may narrow what its scope allows, never widen it."""
    if query.collections is None:
        return scope
    allowed = (
        query.collections if scope.collections is None else scope.collections & query.collections
    )
    return replace(scope, collections=allowed)
