"""What was said on this, in any conversation of one person?

Each turn is indexed as date | the turn before + speaker: turn, and all of one person's turns are
ranked, so that nothing hangs on a cut or a filter.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway, TextTooLong
from vademecum.model.embedding import TokenStates
from vademecum.model.ids import ConversationId, Tenant, TurnId
from vademecum.model.memory import DEFAULT_PERSONA
from vademecum.model.principal import Scope
from vademecum.model.turn_unit import (
    RecalledTurn,
    RecalledTurns,
    TurnUnit,
    UnindexedTurn,
    UnitRow,
)
from vademecum.ports.embedder import Embedder, TokenEncoder, Tokenizer, is_one_model
from vademecum.ports.turns import TurnIndex
from vademecum.rank.maxsim import normalised, packed_signs
from vademecum.rank.turns import (
    TURN_WEIGHTS,
    Array,
    TurnWeights,
    first_stage,
    keyword_shares,
    late_scores,
    ranked,
    session_scores,
)
from vademecum.text.analyse import query_terms, term_id, terms, words
from vademecum.text.dates import days
from vademecum.text.grams import grams
from vademecum.text.language import UNKNOWN, detect
from vademecum.text.late import late
from vademecum.text.normalise import fold

MOST_TURNS = 20_000
_BATCH = 64
_MOST_MISSING = 512
# With the words "query: " or "passage: " and the ends, no text may pass the model's window.
_SPARED_TOKENS = 8
_YEAR = late(r"\b(?:19|20)\d\d\b")
_LANGUAGES = frozenset({"en", "pt", "es", "ne", "hi", "de", "fr"})
# Words that name a speaker who has no name, as the one who acts or owns. "me" and "te" do not:
# "¿qué me recomendaste?" asks what the other one said.
_ROLE_WORDS = {
    role: frozenset(map(fold, named.split()))
    for role, named in {
        "user": "i my mine myself eu meu minha meus minhas yo mi mis mío mía म मैले मेरो मेरी मैं मैंने मेरा",
        "assistant": "you your yours você seu sua tu usted vos tuyo assistant assistente asistente"
        " तपाईं तपाईंले तिमी तिमीले आप आपने",
    }.items()
}
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """What the index of turns needs from outside."""

    index: TurnIndex
    embedder: Embedder
    encoder: TokenEncoder
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScores:
    """Every signal of every turn, as arrays in the order of the turns."""

    bm25: Array
    shares: Array
    gram_shares: Array
    cosines: Array
    late: Array
    final: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    text: str
    language: str
    row: UnitRow


async def index_turns(parts: TurnParts, tenant: Tenant, conversation_id: ConversationId) -> int:
    """Give every turn of a conversation that lacks one its index row; return how many were given.

    Words come first, so that turns are found by them though no model answers. Raises:
    EmbeddingInvalid, ModelUnusable, ServiceAway; what was given before stays.
    """
    given = 0
    while missing := await parts.index.missing(tenant, conversation_id, _MOST_MISSING):
        units = await asyncio.to_thread(_analysed, missing, tenant)
        fresh = {turn.id: units[turn.id].row for turn in missing if not turn.has_terms}
        if fresh:
            await parts.index.put(tenant, fresh)
        ids = list(units)
        for start in range(0, len(ids), _BATCH):
            batch = {turn_id: units[turn_id] for turn_id in ids[start : start + _BATCH]}
            await parts.index.put(tenant, await _encoded(parts, batch))
        given += len(missing)
    return given


async def recall_turns(
    parts: TurnParts,
    scope: Scope,
    text: str,
    k: int,
    *,
    persona: str = DEFAULT_PERSONA,
    weights: TurnWeights = TURN_WEIGHTS,
) -> RecalledTurns:
    """Return the k turns of the principal's own conversations that speak most of `text`, best
    first, and the conversations they stand in. Where no model answers, words alone decide."""
    units = await parts.index.units(scope, persona, MOST_TURNS)
    if not units or not text.strip() or k < 1:
        return RecalledTurns(turns=(), conversations=(), degraded=())
    degraded: list[str] = []
    states = None
    try:
        states = await encode_query(parts, text)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        degraded.append(f"turns: {error.code}")
    scores = await asyncio.to_thread(score, parts, scope.tenant, text, units, states, weights)
    order = sorted(range(len(units)), key=lambda i: (-scores.final[i], units[i].id))
    # What was deleted since the index was read is made up for by those behind it.
    found = await parts.index.read(scope, [units[i].id for i in order[: 2 * k]])
    chosen = [i for i in order[: 2 * k] if units[i].id in found][:k]
    sessions = session_scores(scores.final, [unit.conversation_id for unit in units])
    return RecalledTurns(
        turns=tuple(
            RecalledTurn(
                turn=found[units[i].id],
                conversation_id=units[i].conversation_id,
                score=float(scores.final[i]),
                signals=_signals(scores, i),
            )
            for i in chosen
        ),
        conversations=tuple(
            (session, value)
            for session, value in sorted(sessions.items(), key=lambda item: (-item[1], item[0]))[:k]
        ),
        degraded=tuple(degraded),
    )


async def encode_query(parts: TurnParts, text: str) -> tuple[TokenStates, TokenStates]:
    """Return (what gives the vector, what gives the token states) of a query: one and the same
    where one model gives both."""
    (states,) = await parts.encoder.encode([text], "query")
    if is_one_model(parts.embedder, parts.encoder):
        return states, states
    vectors = await parts.embedder.embed([text], "query")
    return replace(states, vector=vectors[0]), states


def score(
    parts: TurnParts,
    tenant: Tenant,
    text: str,
    units: Sequence[TurnUnit],
    encoded: tuple[TokenStates, TokenStates] | None,
    weights: TurnWeights = TURN_WEIGHTS,
) -> TurnScores:
    """Return all signals of all turns for a query, `encoded` as `encode_query` gives it."""
    bm25, shares, gram_shares = _by_words(tenant, text, units)
    cosines, late = np.full(len(units), np.nan), np.full(len(units), np.nan)
    if encoded is not None:
        vector, states = encoded
        for i, unit in enumerate(units):
            if unit.vector is not None and len(unit.vector) == len(vector.vector):
                cosines[i] = float(unit.vector @ vector.vector)
        asked = normalised(states.states, parts.encoder.centre(detect(text)))
        late = late_scores(asked, states.weights, [unit.signs for unit in units])
    final = ranked(
        first_stage(cosines, shares, gram_shares, weights),
        late,
        by_named=by_named(text, units),
        in_time=in_time(text, [unit.said_at for unit in units]),
        sessions=[unit.conversation_id for unit in units],
        weights=weights,
    )
    return TurnScores(
        bm25=bm25, shares=shares, gram_shares=gram_shares, cosines=cosines, late=late, final=final
    )


def unit_text(turn: UnindexedTurn) -> str:
    """Return what a turn is indexed as: date | turn before, speaker: turn."""
    said = f"{_name(turn.speaker, turn.role)}: {turn.text}"
    before = (
        f"{_name(turn.before_speaker, turn.before_role)}: {turn.before}\n" if turn.before else ""
    )
    day = turn.said_at
    return f"{day.day} {day:%B %Y} | {before}{said}"


def by_named(text: str, units: Sequence[TurnUnit]) -> BoolArray:
    """Return which turns are of the one speaker whom a question names; none where it names no
    speaker, or several."""
    asked = set(words(text))
    speakers = {(unit.speaker, unit.role if not unit.speaker else "") for unit in units}
    named = [
        (speaker, role)
        for speaker, role in speakers
        if (set(words(speaker)) <= asked if speaker else bool(_ROLE_WORDS[role] & asked))
    ]
    if len(named) != 1:
        return np.zeros(len(units), np.bool_)
    return np.array(
        [(unit.speaker, unit.role if not unit.speaker else "") == named[0] for unit in units]
    )


def in_time(text: str, said: Sequence[datetime]) -> BoolArray:
    """Return which moments lie in a day, month or year that a question names."""
    named, rest = days(text)
    years = {int(year) for year in _YEAR.findall(rest)}

    def fits(moment: datetime) -> bool:
        return moment.year in years or any(
            (day.year is None or day.year == moment.year)
            and day.month == moment.month
            and (day.day is None or day.day == moment.day)
            for day in named
        )

    return np.array([fits(moment) for moment in said], np.bool_)


def _name(speaker: str, role: str) -> str:
    return speaker or role.capitalize()


def _by_words(tenant: Tenant, text: str, units: Sequence[TurnUnit]) -> tuple[Array, Array, Array]:
    held = frozenset(unit.language for unit in units)
    languages = (held | {detect(text, held)}) - {UNKNOWN, ""}
    asked = [
        {term_id(term, tenant) for term in alternatives}
        for alternatives in query_terms(text, languages)
    ]
    runs = [{term_id(run, tenant)} for run in dict.fromkeys(grams(text))]
    bm25, shares = keyword_shares(asked, [unit.terms for unit in units])
    _, gram_shares = keyword_shares(runs, [unit.grams for unit in units])
    return bm25, shares, gram_shares


def _signals(scores: TurnScores, i: int) -> Mapping[str, float]:
    every = {
        "dense": scores.cosines[i],
        "keyword": scores.bm25[i],
        "keyword_share": scores.shares[i],
        "ngram_share": scores.gram_shares[i],
        "maxsim": scores.late[i],
    }
    return {name: float(value) for name, value in every.items() if not np.isnan(value)}


def _analysed(missing: Sequence[UnindexedTurn], tenant: Tenant) -> dict[TurnId, _Unit]:
    units = {}
    for turn in missing:
        text = unit_text(turn)
        language = detect(f"{turn.before} {turn.text}", _LANGUAGES)
        row = UnitRow(
            language=language,
            terms=tuple(term_id(term, tenant) for term in terms(text, language)),
            grams=tuple(term_id(run, tenant) for run in grams(text)),
        )
        units[turn.id] = _Unit(text=text, language=language, row=row)
    return units


async def _encoded(parts: TurnParts, units: Mapping[TurnId, _Unit]) -> dict[TurnId, UnitRow]:
    """Return the rows with vectors and signs. A text that alone cannot be embedded has none, and
    no other of its batch suffers for it."""
    try:
        return await _embedded(parts, units)
    except (EmbeddingInvalid, TextTooLong):
        if len(units) == 1:
            return {turn_id: replace(unit.row, given_up=True) for turn_id, unit in units.items()}
    ids = list(units)
    middle = len(ids) // 2
    first = await _encoded(parts, {turn_id: units[turn_id] for turn_id in ids[:middle]})
    return first | await _encoded(parts, {turn_id: units[turn_id] for turn_id in ids[middle:]})


async def _embedded(parts: TurnParts, units: Mapping[TurnId, _Unit]) -> dict[TurnId, UnitRow]:
    texts = [_fitting(parts, unit.text) for unit in units.values()]
    states = await parts.encoder.encode(texts, "passage")
    vectors = [state.vector for state in states]
    if not is_one_model(parts.embedder, parts.encoder):
        vectors = list(await parts.embedder.embed(texts, "passage"))
    if not len(vectors) == len(states) == len(texts) or not np.isfinite(vectors).all():
        raise EmbeddingInvalid("the embedder gave no whole vector for each turn")
    return {
        turn_id: replace(
            unit.row,
            vector=vector,
            signs=packed_signs(state.states, parts.encoder.centre(unit.language)),
        )
        for (turn_id, unit), vector, state in zip(units.items(), vectors, states, strict=True)
    }


def _fitting(parts: TurnParts, text: str) -> str:
    """Return the beginning that the embedder's window holds; words beyond it are found by words."""
    most = parts.embedder.max_tokens - _SPARED_TOKENS
    ends = parts.tokenizer.ends(text)
    return text if len(ends) <= most else text[: ends[most - 1]]
