"""Does anybody see what is not theirs: by search, by list, by id, by score, or through the pool?"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from support import TODAY, Bench, make_bench, source

from vademecum.errors import ConversationNotFound, NotFound
from vademecum.model.change import FIRST
from vademecum.model.embedding import FloatArray
from vademecum.model.ids import (
    ChunkId,
    ConversationId,
    DocumentId,
    RevisionId,
    TraceId,
    new_uuid,
)
from vademecum.model.index import Selection
from vademecum.model.principal import Scope
from vademecum.ports.index import Index
from vademecum.postgres import document as document_module
from vademecum.postgres.pool import Pool, open_pool
from vademecum.postgres.trace.record import PostgresRecords
from vademecum.text.analyse import query_terms, term_id

WORDS = "Tickets are refunded within thirty days at the north gate."
QUESTION = "When are tickets refunded at the north gate?"

RED_A = Scope.for_principal("red", "user:a", frozenset({"group:a"}))
RED_B = Scope.for_principal("red", "user:b", frozenset({"group:b"}))
RED_OPERATOR = Scope.for_operator("red")
RED_NOBODY = replace(RED_A, principal="user:nobody", labels=frozenset())
BLUE_A = Scope.for_principal("blue", "user:a", frozenset({"group:a"}))
BLUE_OPERATOR = Scope.for_operator("blue")

# Whose document it is (tenant, labels), by its canary. All hold the same words.
DOCUMENTS = {
    "zqreda": ("red", ["group:a"]),
    "zqredb": ("red", ["group:b", "user:b"]),
    "zqredhidden": ("red", []),
    "zqbluea": ("blue", ["group:a"]),
    "zqbluehidden": ("blue", []),
}
VISIBLE = [
    (RED_A, {"zqreda"}),
    (RED_B, {"zqredb"}),
    (RED_OPERATOR, {"zqreda", "zqredb", "zqredhidden"}),
    (RED_NOBODY, set()),
    (BLUE_A, {"zqbluea"}),
    (BLUE_OPERATOR, {"zqbluea", "zqbluehidden"}),
]
SCOPES = [scope for scope, _ in VISIBLE]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Every id there is, and the needles (ids and canary) that betray each document."""

    bench: Bench
    documents: list[DocumentId]
    chunks: list[ChunkId]
    revisions: list[RevisionId]
    traces: list[TraceId]
    conversations: list[ConversationId]
    needles: Mapping[str, frozenset[str]]


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs")


@pytest.fixture
async def world(bench: Bench) -> World:
    return await _make_world(bench)


async def _make_world(bench: Bench) -> World:
    for canary, (tenant, access) in DOCUMENTS.items():
        await bench.ingest(
            source(
                f"{canary}.txt",
                f"{WORDS} {canary}",
                title=f"Rules {canary}",
                access=access,
                metadata={"note": canary},
            ),
            scope=Scope.for_operator(tenant),
        )
    for scope, _ in VISIBLE:
        await bench.app.search(QUESTION, scope=scope)
        await bench.app.ask(QUESTION, scope=scope)

    def ids(query: str) -> list[Any]:
        return [row[0] for row in bench.sql(query)]

    needles = {
        canary: frozenset(
            {canary}
            | {
                str(found)
                for found in ids(
                    "SELECT unnest(ARRAY[c.id, c.document, c.revision])"
                    f" FROM vademecum.chunk c WHERE c.text LIKE '%{canary}%'"
                )
            }
        )
        for canary in DOCUMENTS
    }
    assert all(len(each) == 4 for each in needles.values())
    return World(
        bench=bench,
        documents=ids("SELECT id FROM vademecum.document"),
        chunks=ids("SELECT id FROM vademecum.chunk"),
        revisions=ids("SELECT id FROM vademecum.revision"),
        traces=ids("SELECT id FROM vademecum.trace"),
        conversations=ids("SELECT id FROM vademecum.conversation"),
        needles=needles,
    )


async def _or_missing(reading: Awaitable[Any]) -> Any:
    try:
        return await reading
    except NotFound:
        return None


async def proposals(
    index: Index, scope: Scope, vector: FloatArray, terms: Sequence[int]
) -> list[Any]:
    """Return what every method of an index reader gives, but for token states."""
    async with index.reading(scope) as reader:
        statistics = await reader.term_statistics(terms)
        today = Selection(as_of=TODAY)
        weights = dict.fromkeys(terms, 1.0)
        return [
            await reader.search_dense(vector, Selection(), 50),
            await reader.search_keyword(weights, statistics, today, 50, 5_000),
        ]


async def everything(world: World, scope: Scope) -> list[Any]:
    """Return what every read method there is gives to `scope`, asked for every id there is."""
    app, documents = world.bench.app, world.bench.documents
    records, index = app.catalogue.records, app.answer_parts.retrieve.index
    terms = sorted(
        {term_id(t, scope.tenant) for each in query_terms(QUESTION, frozenset("en")) for t in each}
    )
    vector = (await world.bench.embedder.embed([QUESTION], "query"))[0]
    got: list[Any] = [
        await documents.all(scope),
        await documents.results(scope, world.revisions),
        await documents.confirm(scope, world.chunks, TODAY),
        await proposals(index, scope, vector, terms),
        [(await app.search(QUESTION, scope=scope, mode=m)).retrieval
         for m in ("hybrid", "dense", "keyword")],
        await app.ask(QUESTION, scope=scope),
    ]  # fmt: skip
    for read in (documents.get, documents.text, documents.chunks, documents.history):
        got += [await _or_missing(read(scope, item)) for item in world.documents]
    got += await documents.changes(scope, FIRST, 100) if scope.operator else []
    got += await app.catalogue.jobs.pending(scope)
    got += [await _or_missing(records.trace(scope, item)) for item in world.traces]
    got += [
        await _or_missing(app.catalogue.conversations.turns(scope, item))
        for item in world.conversations
    ]
    return got


async def seen(world: World, scope: Scope) -> set[str]:
    """Return the canaries of the documents of which any read shows text, title or an id."""
    evidence = repr(await everything(world, scope))
    return {
        canary
        for canary, needles in world.needles.items()
        if any(needle in evidence for needle in needles)
    }


def foreign(scope: Scope) -> set[str]:
    return {canary for canary, (tenant, _) in DOCUMENTS.items() if tenant != scope.tenant}


async def foreign_seen(world: World) -> set[str]:
    """The check of all tests below: canaries that a scope of another tenant gets to see."""
    leaks: set[str] = set()
    for scope in SCOPES:
        leaks |= await seen(world, scope) & foreign(scope)
    return leaks


async def test_everybody_sees_exactly_what_is_theirs(world: World) -> None:
    for scope, visible in VISIBLE:
        assert await seen(world, scope) == visible, scope
    assert await foreign_seen(world) == set()


async def test_counts_tell_of_nothing_hidden(world: World) -> None:
    for scope, visible in VISIBLE:
        counts = await world.bench.documents.counts(scope)
        assert counts == {"documents": len(visible), "chunks": len(visible), "waiting": 0}
        terms = [term_id("refund", scope.tenant)]
        async with world.bench.app.answer_parts.retrieve.index.reading(scope) as reader:
            statistics = await reader.term_statistics(terms)
            others = await reader.token_signs(world.chunks)
        assert len(others) == len(visible)
        assert (statistics.chunks, statistics.frequencies[terms[0]]) == (
            len(visible),
            len(visible),
        )


async def test_the_ids_of_others_behave_like_ids_that_do_not_exist(world: World) -> None:
    documents, records = world.bench.documents, world.bench.app.catalogue.records
    conversations = world.bench.app.catalogue.conversations
    of_document: list[Callable[[Scope, Any], Awaitable[Any]]] = [
        documents.get, documents.text, documents.chunks, documents.history, documents.delete,
    ]  # fmt: skip

    async def refusal(read: Callable[[Scope, Any], Awaitable[Any]], item: UUID) -> str:
        with pytest.raises(NotFound) as caught:
            await read(RED_A, item)
        return repr((type(caught.value), str(caught.value))).replace(str(item), "ID")

    for read in of_document:
        missing = await refusal(read, new_uuid())
        for document_id in world.documents:
            if str(document_id) not in world.needles["zqreda"]:
                assert await refusal(read, document_id) == missing
    for read, ids, table in (
        (records.trace, world.traces, "trace"),
        (conversations.turns, world.conversations, "conversation"),
    ):
        missing = await refusal(read, new_uuid())
        own = world.bench.sql(
            f"SELECT id FROM vademecum.{table} WHERE tenant = 'red' AND principal = 'user:a'"
        )
        assert own
        for item in set(ids) - {row[0] for row in own}:
            assert await refusal(read, item) == missing
    assert world.bench.count("document") == len(DOCUMENTS), "none of them was deleted"


async def test_nobody_continues_anothers_conversation(world: World) -> None:
    for tenant, principal, conversation in world.bench.sql(
        "SELECT tenant, principal, id FROM vademecum.conversation"
    ):
        for scope in SCOPES:
            if (scope.tenant, scope.principal) == (tenant, principal):
                await world.bench.app.ask(QUESTION, scope=scope, conversation_id=conversation)
            elif scope.tenant == tenant:
                with pytest.raises(ConversationNotFound):
                    await world.bench.app.ask(QUESTION, scope=scope, conversation_id=conversation)
    assert await foreign_seen(world) == set()


async def test_no_label_means_nothing_and_no_access_means_the_operator(world: World) -> None:
    assert await seen(world, RED_NOBODY) == set()
    everyone = replace(
        RED_A, labels=frozenset({"tenant", "user:a", "group:a", "group:b", "", "{}"})
    )
    assert await seen(world, everyone) == {"zqreda", "zqredb"}
    assert "zqredhidden" in await seen(world, RED_OPERATOR)


async def test_the_very_next_read_follows_a_change_of_labels(world: World) -> None:
    text = f"{WORDS} zqreda"
    for access, a_sees, b_sees in (
        (["group:b"], set(), {"zqreda", "zqredb"}),
        ([], set(), {"zqredb"}),
        (["tenant"], {"zqreda"}, {"zqreda", "zqredb"}),
        (["group:a"], {"zqreda"}, {"zqredb"}),
    ):
        (result,) = await world.bench.ingest(
            source("zqreda.txt", text, title="Rules zqreda", access=access), scope=RED_OPERATOR
        )
        assert result.status == "unchanged"
        found = [
            {p.source.uri[:-4] for p in (await world.bench.app.search(QUESTION, scope=scope)).retrieval.passages}
            for scope in (RED_A, RED_B)
        ]  # fmt: skip
        assert found == [a_sees, b_sees]
    assert await seen(world, RED_B) == {"zqredb"}


@pytest.mark.parametrize(
    "label",
    ["NULL", "a,b", "{a}", '"q"', "back\\slash", "group:a' OR '1'='1", " ", "*", "%", "Ä", "🧿"],
)
async def test_a_label_is_compared_literally(bench: Bench, label: str) -> None:
    operator = Scope.for_operator("red")
    await bench.ingest(source("a", "One text.", access=[label]), scope=operator)
    await bench.ingest(source("b", "Another text.", access=["a", "group:a"]), scope=operator)
    holder = replace(RED_A, labels=frozenset({label}))
    assert [d.uri for d in await bench.documents.all(holder)] == ["a"]
    (own,) = await bench.documents.all(holder)
    assert own.access == (label,)
    assert [d.uri for d in await bench.documents.all(RED_A)] == ["b"]


async def test_a_hidden_document_changes_no_visible_score(world: World) -> None:
    bench = world.bench

    async def scores() -> list[Any]:
        found: list[Any] = []
        for mode in ("hybrid", "dense", "keyword"):
            retrieval = (await bench.app.search(QUESTION, scope=RED_A, mode=mode)).retrieval
            found.append([(p.source.uri, p.score, p.signals) for p in retrieval.passages])
            found.append(retrieval.abstention)
        terms = [term_id(term, RED_A.tenant) for term in ("refund", "ticket", "reembols", "gate")]
        async with bench.app.answer_parts.retrieve.index.reading(RED_A) as reader:
            found.append(await reader.term_statistics(terms))
            found.append(await reader.languages())
        found.append(await bench.documents.counts(RED_A))
        return found

    for number in range(3):  # so that there are scores to change
        await bench.ingest(
            source(f"v{number}", f"Ticket number {number} at a gate.", access=["group:a"]),
            scope=RED_OPERATOR,
        )
    before = await scores()
    assert len(before[0]) == 4
    hidden = [
        ("red", ["group:b"], "en", QUESTION + " " + WORDS),
        ("red", [], "pt", "Reembolso de ingressos no portão norte: refunded tickets gate. " * 9),
        ("blue", ["tenant", "group:a"], "en", (QUESTION + "\n\n") * 20),
    ]
    results = []
    for tenant, access, language, text in hidden:
        scope = Scope.for_operator(tenant)
        (result,) = await bench.ingest(
            source("hidden", text, access=access, collection=language, language=language),
            scope=scope,
        )
        assert result.status == "ready"
        results.append((scope, result.id))
        assert await scores() == before
    for scope, document_id in results:
        await bench.app.catalogue.delete(document_id, scope=scope)
        assert await scores() == before
    # The comparison sees a change where there is one.
    await bench.ingest(source("visible", WORDS, access=["group:a"]), scope=RED_OPERATOR)
    assert await scores() != before


async def test_interleaved_requests_with_cancellations_keep_apart(
    database_url: str, tmp_path: Path
) -> None:
    """50 requests of 5 tenants over 2 connections, every third one cancelled at some moment."""
    draw = random.Random(7)
    async with open_pool(database_url, size=2) as pool:
        bench = await make_bench(pool, database_url, tmp_path)
        tenants = [f"tenant{number}" for number in range(5)]
        for tenant in tenants:
            await bench.ingest(source("a", f"{WORDS} zq{tenant}"), scope=Scope.for_operator(tenant))

        async def request(tenant: str) -> str:
            scope = Scope.for_principal(tenant, f"user:{tenant}", frozenset())
            found = await bench.app.search(QUESTION, scope=scope)
            listed = await bench.documents.all(scope)
            answer = await bench.app.ask(QUESTION, scope=scope)
            texts = [await bench.documents.text(scope, d.id) for d in listed]
            return repr((found, listed, answer, texts))

        tasks = {asyncio.create_task(request(tenant)): tenant for tenant in tenants * 10}
        for number, task in enumerate(tasks):
            if number % 3 == 0:
                asyncio.get_running_loop().call_later(draw.uniform(0, 0.8), task.cancel)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        ended = 0
        for tenant, result in zip(tasks.values(), results, strict=True):
            if isinstance(result, asyncio.CancelledError):
                continue
            assert isinstance(result, str), result
            ended += 1
            assert f"zq{tenant}" in result
            assert not any(f"zq{other}" in result for other in tenants if other != tenant)
        assert 33 <= ended < 50, "some were cancelled, the rest ended"
        await _assert_clean(pool, 2)


async def _assert_clean(pool: Pool, size: int) -> None:
    """No setting of a transaction stays on a pooled connection."""
    names = ("tenant", "principal", "labels", "operator")
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(size):
            connection = await stack.enter_async_context(pool.connection())
            row = await (
                await connection.execute(
                    "SELECT current_setting('role') AS role, current_user = session_user AS own, "
                    + ", ".join(f"current_setting('vademecum.{n}', true) AS {n}" for n in names)
                )
            ).fetchone()
            assert row is not None
            assert (row["role"], row["own"]) == ("none", True)
            assert not any(row[name] for name in names)


# The planted faults. Each wall alone must hold; and with both gone the check must see it.


def _without_predicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the tenant and the permission out of the confirming query."""
    query = document_module._SQL["confirm"]
    for predicate in (
        "c.tenant = %(tenant)s AND ",
        "d.tenant = c.tenant AND ",
        "AND d.access_set = ANY ((SELECT visible_access_sets())::int[])",
    ):
        assert query.count(predicate) == 1
        query = query.replace(predicate, "")
    monkeypatch.setitem(document_module._SQL, "confirm", query)


def _without_row_security(bench: Bench) -> None:
    tables = bench.sql(
        "SELECT relname FROM pg_class WHERE relrowsecurity"
        " AND relnamespace = 'vademecum'::regnamespace"
    )
    assert len(tables) >= 7
    for (table,) in tables:
        bench.sql(f"ALTER TABLE vademecum.{table} DISABLE ROW LEVEL SECURITY")
        bench.sql(f"ALTER TABLE vademecum.{table} NO FORCE ROW LEVEL SECURITY")


async def test_without_the_predicate_row_level_security_isolates(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_predicates(monkeypatch)
    assert await foreign_seen(world) == set()
    for scope, visible in VISIBLE:
        assert await seen(world, scope) == visible, scope


async def test_without_row_level_security_the_predicate_isolates(world: World) -> None:
    _without_row_security(world.bench)
    assert await foreign_seen(world) == set()
    for scope, visible in VISIBLE:
        confirmed = await world.bench.documents.confirm(scope, world.chunks, TODAY)
        assert {c.uri[:-4] for c in confirmed.values()} == visible


async def test_without_both_the_check_sees_the_leak(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_predicates(monkeypatch)
    _without_row_security(world.bench)
    assert await foreign_seen(world) == set(DOCUMENTS)


async def test_traces_are_for_their_principal_and_the_operator(world: World) -> None:
    """An operator reads the traces of its tenant's principals, and of no other tenant."""
    records: PostgresRecords = world.bench.app.catalogue.records
    readable = {
        scope: {item for item in world.traces if await _or_missing(records.trace(scope, item))}
        for scope in SCOPES
    }
    assert readable[RED_OPERATOR] | readable[BLUE_OPERATOR] == set(world.traces)
    assert not readable[RED_OPERATOR] & readable[BLUE_OPERATOR]
    assert readable[RED_A] < readable[RED_OPERATOR]
    assert len(readable[RED_A]) == len(readable[RED_B]) == 2
    assert not readable[RED_A] & readable[RED_B]
