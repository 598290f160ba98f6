"""How is a typed query searched together with what is added to it?

The typed query is searched as always, and judges whether it is enough; what is added is searched at
the same time, a list each, and the lists are joined by their ranks, one vote a list.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from vademecum.deadline import within
from vademecum.errors import ServiceAway
from vademecum.model.answer import Usage
from vademecum.model.ids import ChunkId
from vademecum.model.passage import Passage, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.rank.fuse import reciprocal_rank
from vademecum.retrieve.expand import NOTHING, Beside, Expanding, beside
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.retrieve.rerank import RERANKED, capped

PART = "queries"


async def search(parts: RetrieveParts, scope: Scope, query: Query) -> Retrieval:
    """Return what a query finds with what the settings add to it, in its turn. A leg by itself is
    not widened. Raises: QueueFull, DatabaseAway."""
    added = NOTHING
    if parts.expanding is not None and query.mode == "hybrid" and query.k:
        added = await beside(parts.expanding, query.text)
    async with parts.turnstile.passing():
        return await widened(parts, scope, query, added)


async def widened(parts: RetrieveParts, scope: Scope, query: Query, added: Beside) -> Retrieval:
    """Return what a query finds with what was added to it. Of lists that are late or lack a part
    `degraded` tells."""
    if not added.how:
        return await retrieve(parts, scope, query)
    started = parts.clock.monotonic()
    # Each list is as deep as what is reranked, so that what stands low in several is found.
    deep = replace(query, k=max(query.k, RERANKED)) if added.texts else query
    typed, (others, failed) = await asyncio.gather(
        retrieve(parts, scope, deep), _others(parts, scope, deep, added)
    )
    if others:
        typed = joined(typed, others, parts.ranking.per_document)
    lacking = [f"{PART}: {why}" for why in (added.failed, failed) if why]
    seconds = parts.clock.monotonic() - started
    times = {PART: added.milliseconds, "total": added.milliseconds + 1000 * seconds}
    found = replace(
        typed,
        passages=typed.passages[: query.k],
        degraded=tuple(dict.fromkeys([*typed.degraded, *lacking])),
        timings_ms={**typed.timings_ms, **times},
    )
    return _named(found, added)


async def divided(
    parts: RetrieveParts, scope: Scope, query: Query, added: Beside
) -> list[Retrieval]:
    """Return the search for a question, and behind it one for each question that it is made of;
    the first one alone, with what it lacks, where those are late."""
    alone = Beside(how=added.how)
    typed, (others, failed) = await asyncio.gather(
        widened(parts, scope, query, replace(added, texts=())),
        _others(parts, scope, query, added),
    )
    if failed:
        typed = replace(typed, degraded=(*typed.degraded, f"{PART}: {failed}"))
    return [typed, *(_named(other, alone) for other in others)]


def _named(found: Retrieval, added: Beside) -> Retrieval:
    return replace(found, fusion={**found.fusion, PART: described(added)})


def described(added: Beside) -> dict[str, Any]:
    """Return what was added, as traces name it; the words of an invented passage stand nowhere."""
    shown = () if added.how == "hyde" else added.texts
    return {
        "how": added.how,
        "lists": 1 + len(added.texts),
        "texts": list(shown),
        "usage": asdict(added.usage),
    }


def added_before(expanding: Expanding | None, fusion: Mapping[str, Any]) -> Beside | None:
    """Return what a trace says was added, so that the same is searched again; None where it was
    something else than is added now, or is not kept."""
    if expanding is None:
        return NOTHING
    was = fusion.get(PART) or {}
    kept = was.get("how") == expanding.how and len(was["texts"]) == was["lists"] - 1
    if not kept:
        return None
    return Beside(how=expanding.how, texts=tuple(was["texts"]), seconds=expanding.seconds)


async def _others(
    parts: RetrieveParts, scope: Scope, query: Query, added: Beside
) -> tuple[list[Retrieval], str]:
    """Return a list for each text that was added, or none and what failed."""
    if not added.texts or added.seconds <= 0:
        return [], "DEADLINE" if added.texts else ""
    # A reranker behind late interaction is asked of the typed words alone, as it may cost money.
    plain = replace(parts, reranker=None)
    searches = [retrieve(plain, scope, _query(query, added, text)) for text in added.texts]
    try:
        return await within(asyncio.gather(*searches), added.seconds), ""
    except TimeoutError:
        return [], "DEADLINE"
    except ServiceAway as error:
        return [], error.code


def _query(typed: Query, added: Beside, text: str) -> Query:
    if added.how == "hyde":
        # Its words are invented: they are not looked for.
        return replace(typed, text=text, mode="dense", role="passage")
    return replace(typed, text=text)


def joined(typed: Retrieval, others: Sequence[Retrieval], per_document: int) -> Retrieval:
    """Return the typed search with the passages of all lists, by reciprocal ranks (k = 60), one
    vote a list; at equal votes the typed one's order stands, and its best is never lost."""
    return replace(
        typed,
        passages=voted([typed, *others], per_document),
        degraded=(*typed.degraded, *(part for other in others for part in other.degraded)),
    )


def voted(lists: Sequence[Retrieval], per_document: int = 0) -> tuple[Passage, ...]:
    """Return the passages of several searches, each once, in the order of their votes. The best of
    the first search counts as much as the second best at least, so that it is never lost."""
    found: dict[ChunkId, Passage] = {}
    for passage in (passage for one in lists for passage in one.passages):
        found.setdefault(passage.source.chunk.id, passage)
    ranked = [[passage.source.chunk.id for passage in one.passages] for one in lists]
    votes = reciprocal_rank(ranked)
    if ranked[0] and len(votes) > 1:
        best = ranked[0][0]
        votes[best] = max(votes[best], sorted(votes.values())[-2])
    order = sorted(votes, key=lambda item: -votes[item])
    signals = {item: replace(found[item].signals, final=votes[item]) for item in order}
    documents = {item: found[item].source.document_id for item in order}
    kept = capped(signals, documents, per_document)
    return tuple(
        replace(found[item], rank=rank, score=own.final, signals=own)
        for rank, (item, own) in enumerate(kept.items(), start=1)
    )


def spent(first: Usage, *more: Usage) -> Usage:
    """Return the tokens of several calls together."""
    every = (first, *more)
    return Usage(
        prompt_tokens=sum(one.prompt_tokens for one in every),
        completion_tokens=sum(one.completion_tokens for one in every),
    )
