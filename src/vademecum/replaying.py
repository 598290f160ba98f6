"""How is a question of before asked again, and what differs? As the one who asked would, now."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from vademecum.answer.pipeline import answer, whole
from vademecum.answer.record import answer_record, retrieval_record
from vademecum.answer.write import AnswerParts
from vademecum.errors import ConversationNotFound, UsageError
from vademecum.evaluate.replay import Now, compared_answer, compared_search, versions_that_differ
from vademecum.model.conversation import Turn
from vademecum.model.filter import Filter
from vademecum.model.filter_json import parse_filter
from vademecum.model.ids import ChunkId, ConversationId, TraceId
from vademecum.model.principal import Scope
from vademecum.model.query import Ask, Mode, Query
from vademecum.model.replay import Replay, ReplayedAnswer
from vademecum.model.trace import Trace
from vademecum.postgres.trace.record import PostgresRecords
from vademecum.retrieve.expand import NOTHING, beside
from vademecum.retrieve.pipeline import Ranking
from vademecum.retrieve.widen import added_before, widened
from vademecum.talking import Talking

# Of an answer each part is searched for so; traces of answers do not say.
_SEARCHED, _HYBRID = 8, "hybrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayParts:
    """What a replay needs: the answering line as it is now, and what was kept of before."""

    answer: AnswerParts
    records: PostgresRecords
    talking: Talking


class _Unkept:
    """A RecordStore for an answer that nobody asked for: what it retrieved is audited as part of
    the replay, and it leaves no trace that would count as an answer."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records

    async def record_trace(self, scope: Scope, trace: Trace) -> None:
        await self._records.record_replay(scope, trace.id, trace.chunks)

    async def trace(self, scope: Scope, trace_id: TraceId) -> Trace:
        return await self._records.trace(scope, trace_id)


def reranked(parts: ReplayParts, ranking: Ranking) -> ReplayParts:
    """Return the same parts with another ranking, to see what it would change."""
    line = parts.answer
    searching = replace(line.retrieve, ranking=ranking)
    versions = {**line.versions, **ranking.named}
    return replace(parts, answer=replace(line, retrieve=searching, versions=versions))


async def replay(
    parts: ReplayParts, scope: Scope, trace_id: TraceId, *, answers: bool = True
) -> Replay:
    """Search again for what a trace searched for, as the one who asked would now, and say what
    differs and why. Nothing of it is kept but that it was retrieved.

    An operator sees with the labels that the asker had, anybody else with their own of now. With
    `answers` one's own question is answered again too; nobody's else, as that takes what they said
    and what is remembered of them. Raises: TraceNotFound; UsageError for a trace that says too
    little.
    """
    trace = await parts.records.trace(scope, trace_id)
    asked = _asked(trace)
    own = _scope(scope, trace, asked)
    as_of = date.fromisoformat(asked["as_of"]) if asked["as_of"] else None
    record = trace.record
    searches = record.get("searches", [record])
    found = [await _searched(parts, own, search, asked, as_of) for search in searches]
    moment = await _moment(parts, scope, own, trace, searches, found, as_of)
    answered: ReplayedAnswer | None = None
    degraded = [part for one in found for part in one["degraded"]]
    chunks = {ChunkId(UUID(c["chunk_id"])) for search in found for c in search["candidates"]}
    await parts.records.record_replay(scope, trace.id, chunks)
    if answers and trace.kind == "ask" and trace.principal == scope.principal:
        again = await _answered(parts, own, trace, asked, as_of)
        answered = compared_answer(record, again)
        degraded += again["degraded"]
    return Replay(
        trace_id=trace.id,
        created_at=trace.created_at,
        versions=tuple(moment.versions),
        searches=tuple(
            compared_search(was, now, moment) for was, now in zip(searches, found, strict=True)
        ),
        answer=answered,
        degraded=tuple(dict.fromkeys(degraded)),
    )


async def replay_day(
    parts: ReplayParts, scope: Scope, day: date, *, most: int = 1_000
) -> AsyncGenerator[Replay, None]:
    """Replay what was searched and asked on a day (UTC) and can be replayed, the oldest first,
    without writing answers."""
    begin = datetime.combine(day, time(), UTC)
    for trace_id in await parts.records.between(scope, begin, begin + timedelta(days=1), most):
        try:
            yield await replay(parts, scope, trace_id, answers=False)
        except UsageError:
            continue


def _asked(trace: Trace) -> Mapping[str, Any]:
    asked = trace.record.get("asked")
    if not isinstance(asked, Mapping):
        raise UsageError(
            f"trace {trace.id} cannot be replayed",
            hint="it is of a temporary or interrupted question, or of an older release",
        )
    return asked


def _scope(scope: Scope, trace: Trace, asked: Mapping[str, Any]) -> Scope:
    """Return with whose eyes the replay sees. Only an operator, who sees everything, may take
    another's, and so never sees more by it."""
    if not scope.operator:
        return scope
    collections = asked["scope_collections"]
    return replace(
        scope,
        principal=trace.principal,
        labels=frozenset(asked["labels"]),
        operator=asked["operator"],
        collections=None if collections is None else frozenset(collections),
    )


async def _searched(
    parts: ReplayParts,
    scope: Scope,
    search: Mapping[str, Any],
    asked: Mapping[str, Any],
    as_of: date | None,
) -> dict[str, Any]:
    mode: Mode = asked.get("mode", _HYBRID)
    query = Query(
        text=search["query"],
        k=asked.get("k", _SEARCHED),
        mode=mode,
        collections=_collections(asked),
        as_of=as_of,
        filter=_filter(search["filter"]),
    )
    line = parts.answer.retrieve
    added = added_before(line.expanding, search.get("fusion", {})) if mode == _HYBRID else NOTHING
    if added is None:
        added = await beside(line.expanding, query.text)
    return retrieval_record(await widened(line, scope, query, added))


async def _moment(
    parts: ReplayParts,
    scope: Scope,
    own: Scope,
    trace: Trace,
    was: list[Mapping[str, Any]],
    now: list[dict[str, Any]],
    as_of: date | None,
) -> Now:
    ids = {ChunkId(UUID(c["chunk_id"])) for search in [*was, *now] for c in search["candidates"]}
    asked = _asked(trace)
    before = dict(trace.record["versions"]) | {"labels": asked["labels"]} | _calibrated(was)
    current = dict(parts.answer.versions) | {"labels": sorted(own.labels)} | _calibrated(now)
    return Now(
        fates=await parts.records.fates(scope, ids, as_of),
        seen=frozenset(await parts.answer.retrieve.store.confirm(own, list(ids), as_of)),
        versions=versions_that_differ(before, current),
        asked_at=trace.created_at,
        documents_changed=await parts.records.documents_changed(scope, trace.created_at),
    )


def _calibrated(searches: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return which calibration searches went by, as traces name it, "" for none."""
    named = {search.get("fusion", {}).get("calibration", "") for search in searches}
    return {"search.calibration": "; ".join(sorted(named - {""}))}


async def _answered(
    parts: ReplayParts, scope: Scope, trace: Trace, asked: Mapping[str, Any], as_of: date | None
) -> dict[str, Any]:
    """Return the record of an answer that is written now, of which nothing is kept."""
    ask = Ask(
        question=trace.record["question"],
        temporary=True,
        collections=_collections(asked),
        as_of=as_of,
        filter=_filter(asked["filter"]),
        persona=asked["persona"],
        stage=asked["stage"],
        zone=asked["zone"],
        said=await _said_before(parts, scope, trace),
    )
    talk = replace(parts.answer.talk, records=_Unkept(parts.records))
    fresh = replace(parts.answer, reuse=None, talk=talk)
    return answer_record(await whole(answer(fresh, scope, ask)), (), fresh.versions)


async def _said_before(parts: ReplayParts, scope: Scope, trace: Trace) -> tuple[Turn, ...]:
    """Return the turns before the question, each in full, () where its conversation is gone."""
    place = _asked(trace)["conversation_id"]
    try:
        turns = (await parts.talking.show(ConversationId(UUID(place)), scope=scope)).turns
    except ConversationNotFound:
        return ()
    before: list[Turn] = []
    for turn in turns:
        if turn.trace_id == trace.id:
            break
        before.append(turn)
    return tuple(before[:-1])  # the last one is the question itself


def _collections(asked: Mapping[str, Any]) -> frozenset[str] | None:
    return None if asked["collections"] is None else frozenset(asked["collections"])


def _filter(written: object) -> Filter | None:
    return None if written is None else parse_filter(written)
