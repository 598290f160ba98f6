"""Does a replay find what it found, and name the right reason where it does not?"""

from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import TraceNotFound, UsageError
from vademecum.evaluate.replay import summary
from vademecum.model.passage import Found
from vademecum.model.principal import Scope
from vademecum.model.replay import Moved, Replay
from vademecum.postgres.pool import Pool
from vademecum.rank.fuse import Method
from vademecum.retrieve.fuse import Fusion

STAFF = Scope.for_principal("default", "user:one", frozenset({"group:staff"}))
RULES = (
    "Cameras with a lens of at most 200 mm are allowed in the arena.",
    "Umbrellas are not allowed in the arena.",
    "The arena opens its gates at nine.",
    "Bags are searched at the gates of the arena.",
)


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    made = await make_bench(pool, database_url, tmp_path)
    await made.ingest(*(source(f"rule-{n}", text) for n, text in enumerate(RULES)))
    return made


async def searched(bench: Bench, scope: Scope = OPERATOR) -> Found:
    return await bench.app.search("cameras and bags in the arena", scope=scope, k=4)


def moves(replay: Replay) -> dict[str, Moved]:
    return {one.uri: one for search in replay.searches for one in search.moved}


async def test_what_has_not_changed_is_the_same(bench: Bench) -> None:
    found = await searched(bench)
    answer = await bench.app.ask("Are cameras allowed in the arena?", scope=OPERATOR)
    for trace_id in (found.trace_id, answer.trace_id):
        replay = await bench.app.replay(trace_id, scope=OPERATOR)
        assert replay.same
        assert (replay.versions, replay.degraded) == ((), ())
        assert [search.overlap for search in replay.searches] == [1.0]
    assert replay.answer is not None
    assert replay.answer.cited == replay.answer.cited_was != ()


async def test_a_changed_document_is_named_with_its_revisions(bench: Bench) -> None:
    found = await searched(bench)
    await bench.ingest(source("rule-0", "Cameras of any kind are allowed in the arena now."))
    replay = await bench.app.replay(found.trace_id, scope=OPERATOR)
    gone, come = [m for s in replay.searches for m in s.moved if m.uri == "rule-0"]
    assert (gone.now, gone.why, gone.detail) == (None, "changed", "revision 1 is now 2")
    assert (come.was, come.why, come.detail) == (None, "published", "revision 2")
    assert replay.searches[0].overlap == 0.75
    assert {one.why for one in moves(replay).values()} <= {"changed", "published", "corpus"}


async def test_a_new_document_and_what_it_pushes_out(bench: Bench) -> None:
    found = await searched(bench)
    await bench.ingest(source("new", "Cameras and bags in the arena: see the new rules."))
    replay = await bench.app.replay(found.trace_id, scope=OPERATOR)
    assert moves(replay)["new"].why == "published"
    (lost,) = [one for one in moves(replay).values() if one.now is None]
    assert lost.why == "corpus"


async def test_a_right_that_was_taken_away(bench: Bench) -> None:
    secret = source(
        "secret", "Cameras and bags in the arena: ask the staff.", access=["group:staff"]
    )
    await bench.ingest(secret)
    found = await searched(bench, STAFF)
    assert "secret" in {p.source.uri for p in found.retrieval.passages}
    await bench.ingest(replace(secret, access=("group:board",)))
    as_operator = await bench.app.replay(found.trace_id, scope=OPERATOR)
    assert moves(as_operator)["secret"].why == "permission"
    as_oneself = await bench.app.replay(found.trace_id, scope=STAFF)
    assert moves(as_oneself)["secret"].why == "deleted", "no more is told to who may not see it"


async def test_an_operator_sees_only_what_the_asker_may(bench: Bench) -> None:
    found = await searched(bench, Scope.for_principal("default", "user:two", frozenset()))
    await bench.ingest(
        source("board", "Cameras and bags in the arena: the board decides.", access=["group:board"])
    )
    replay = await bench.app.replay(found.trace_id, scope=OPERATOR)
    assert "board" not in moves(replay)


async def test_labels_of_ones_own_that_changed(bench: Bench) -> None:
    await bench.ingest(
        source("secret", "Cameras and bags in the arena: ask.", access=["group:staff"])
    )
    found = await searched(bench, replace(STAFF, labels=frozenset({"tenant", "user:one"})))
    replay = await bench.app.replay(found.trace_id, scope=STAFF)
    assert moves(replay)["secret"].why == "permission"
    assert [version.name for version in replay.versions] == ["labels"]


@pytest.mark.parametrize("method", ["rrf", "relative"])
async def test_another_ranking_is_named(bench: Bench, method: Method) -> None:
    found = await searched(bench)
    own = bench.app.answer_parts.retrieve.ranking
    other = replace(own, fusion=Fusion(method=method, dense_weight=0.0), rerank=False)
    replay = await bench.app.replay(found.trace_id, scope=OPERATOR, ranking=other)
    assert {version.name for version in replay.versions} == {
        "search.fusion", "search.dense_weight", "models.reranker",
    }  # fmt: skip
    assert {one.why for one in moves(replay).values()} <= {"setting"}
    assert all(f"search.fusion upper_bound is now {method}" in m.detail
               for m in moves(replay).values())  # fmt: skip


async def test_a_follow_up_is_asked_after_what_was_said_before(bench: Bench) -> None:
    first = await bench.app.ask("Are cameras allowed in the arena?", scope=STAFF)
    then = await bench.app.ask("and umbrellas?", scope=STAFF, conversation_id=first.conversation_id)
    assert not then.abstained
    replay = await bench.app.replay(then.trace_id, scope=STAFF)
    assert replay.same
    assert replay.answer is not None
    before = bench.count("turn")
    await bench.app.replay(then.trace_id, scope=STAFF)
    assert bench.count("turn") == before, "nothing of a replay stands in the conversation"


async def test_nobody_else_has_a_question_answered_again(bench: Bench) -> None:
    answer = await bench.app.ask("Are cameras allowed in the arena?", scope=STAFF)
    replay = await bench.app.replay(answer.trace_id, scope=OPERATOR)
    assert (replay.same, replay.answer) == (True, None)
    other = Scope.for_principal("default", "user:two", frozenset())
    with pytest.raises(TraceNotFound):
        await bench.app.replay(answer.trace_id, scope=other)


async def test_what_a_replay_retrieves_is_audited(bench: Bench) -> None:
    found = await searched(bench, STAFF)
    await bench.app.replay(found.trace_id, scope=OPERATOR)
    rows = bench.sql(
        "SELECT trace, kind, principal, cardinality(chunks) FROM vademecum.audit_event ORDER BY id"
    )
    assert rows == [
        (found.trace_id, "search", "user:one", 4),
        (found.trace_id, "replay", "user:local", 4),
    ]
    assert bench.count("trace") == 1, "a replay is no search of its own"


async def test_what_says_too_little_is_refused(bench: Bench) -> None:
    quiet = await bench.app.ask("Are cameras allowed?", scope=OPERATOR, temporary=True)
    with pytest.raises(UsageError, match="cannot be replayed"):
        await bench.app.replay(quiet.trace_id, scope=OPERATOR)


async def test_a_whole_day(bench: Bench) -> None:
    await searched(bench)
    await bench.app.ask("Are umbrellas allowed?", scope=STAFF)
    await bench.app.ask("Are cameras allowed?", scope=OPERATOR, temporary=True)
    today = datetime.now(UTC).date()

    async def day() -> list[Replay]:
        async with aclosing(bench.app.replay_day(today, scope=OPERATOR)) as replays:
            return [one async for one in replays]

    told = summary(await day())
    assert told == {"replayed": 2, "same": 2, "overlap": 1.0, "first_kept": 1.0, "why": {}}
    await bench.ingest(source("rule-1", "Umbrellas are allowed in the arena from now on."))
    told = summary(await day())
    assert (told["replayed"], told["same"]) == (2, 0), "a replay is no question of the day"
    assert told["why"]["changed"] == 2
    assert "unexplained" not in told["why"]
