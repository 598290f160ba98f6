"""Is a request that its caller named done once, and its answer nobody else's?"""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_server import RULES, Served, events_of, put, serve_bench
from support import OPERATOR, Bench, make_bench, source

from vademecum.errors import DatabaseAway
from vademecum.model.ids import Tenant
from vademecum.model.principal import Scope
from vademecum.model.serving.repeat import Claim, FirstAnswer
from vademecum.postgres.pool import Pool
from vademecum.postgres.serving.repeat import PostgresRepeats
from vademecum.testing.language_models import ModelFault, ScriptedModel

NAMED = {"Idempotency-Key": "2c1f0c36-4b1e-4f0e-9d1c-0a6f1b7a2d11"}
READER = Scope.for_principal("default", "user:reader", frozenset())
QUESTION = {"question": "Which cameras are allowed in Hall Norte?"}


async def twice(client: httpx.AsyncClient, path: str, **sent: Any) -> list[httpx.Response]:
    return [await client.post(path, headers=NAMED, **sent) for _ in range(2)]


def same(first: httpx.Response, second: httpx.Response) -> None:
    assert first.status_code == second.status_code < 300, (first.text, second.text)
    assert first.content == second.content
    assert first.headers["content-type"] == second.headers["content-type"]
    assert "idempotency-repeated" not in first.headers
    assert second.headers["idempotency-repeated"] == "true"


async def test_a_question_is_answered_once(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with served.client(key) as client:
        same(*await twice(client, "/api/v1/ask", json=QUESTION))
        [conversation] = (await client.get("/api/v1/conversations")).json()["conversations"]
        assert conversation["turns"] == 2, "one question, one answer"
        other = await client.post("/api/v1/ask", json=QUESTION)
        assert len((await client.get("/api/v1/conversations")).json()["conversations"]) == 2
    assert "200 mm" in other.json()["answer"], "without a name it is a new question"


async def test_a_statement_is_remembered_once(served: Served) -> None:
    async with served.client(await served.key()) as client:
        first, second = await twice(client, "/api/v1/memories", json={"text": "I like jazz."})
        same(first, second)
        again = await client.post("/api/v1/memories", json={"text": "I like jazz."})
    assert (first.json()["outcome"], again.json()["outcome"]) == ("added", "confirmed")


async def test_feedback_is_given_once(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with served.client(key) as client:
        trace = (await client.post("/api/v1/ask", json=QUESTION)).json()["trace_id"]
        word = {"trace_id": trace, "verdict": "up"}
        first, second = await twice(client, "/api/v1/feedback", json=word)
    same(first, second)
    assert first.status_code == 201


async def test_an_upload_is_the_same_whatever_divides_its_parts(served: Served) -> None:
    """The client makes up a boundary for every request; a long text crosses pieces of the body."""
    text = RULES.encode() * 3_000
    async with served.client(await served.key()) as client:
        first, second = await twice(
            client,
            "/api/v1/uploads",
            files=[("file", ("rules.md", text))],
            data={"collection": "venues"},
        )
        same(first, second)
        other = await client.post(
            "/api/v1/uploads", headers=NAMED, files=[("file", ("rules.md", text + b"x"))],
            data={"collection": "venues"},
        )  # fmt: skip
    assert other.status_code == 422


async def test_a_name_stands_for_one_request(served: Served) -> None:
    async with served.client(await served.key()) as client:
        await client.post("/api/v1/memories", headers=NAMED, json={"text": "I like jazz."})
        for path, body in (
            ("/api/v1/memories", {"text": "I like tea."}),
            ("/api/v1/ask", QUESTION),
        ):
            answer = await client.post(path, headers=NAMED, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "repeat-differs")
            assert answer.headers["content-type"] == "application/problem+json"
        memories = (await client.get("/api/v1/memories")).json()["memories"]
        assert [memory["text"] for memory in memories] == ["I like jazz."]
        for bad in ("", "a b", "x" * 256, "\x7f"):
            answer = await client.post(
                "/api/v1/memories", headers={"Idempotency-Key": bad}, json={"text": "x y"}
            )
            assert answer.status_code == 400, bad


async def test_who_comes_too_early_is_told_when_to_come_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, go_on = asyncio.Event(), asyncio.Event()
    remember = type(served.bench.app).remember

    async def slowly(*args: Any, **values: Any) -> Any:
        going.set()
        await go_on.wait()
        return await remember(*args, **values)

    monkeypatch.setattr(type(served.bench.app), "remember", slowly)
    body = {"text": "I like jazz."}
    async with served.client(await served.key()) as client:
        sent = client.post("/api/v1/memories", headers=NAMED, json=body)
        first = asyncio.create_task(sent)
        await going.wait()
        early = await client.post("/api/v1/memories", headers=NAMED, json=body)
        assert (early.status_code, early.json()["code"]) == (409, "repeat-running")
        assert int(early.headers["retry-after"]) >= 1
        go_on.set()
        done = await first
        same(done, await client.post("/api/v1/memories", headers=NAMED, json=body))


async def test_nobody_gets_the_answer_of_another(served: Served) -> None:
    """The same name and body of a colleague, of another tenant, of the same person who sees less."""
    strangers = [
        await served.key(),
        await served.key("user:colleague"),
        await served.key(tenant="other"),
        await served.key(labels=("group:staff",)),
    ]
    seen = []
    for key in strangers:
        async with served.client(key) as client:
            answer = await client.post("/api/v1/ask", headers=NAMED, json=QUESTION)
        assert "idempotency-repeated" not in answer.headers
        seen.append(answer.json()["trace_id"])
    assert len(set(seen)) == len(strangers)
    async with served.client(await served.key()) as client:  # another key of the same person
        again = await client.post("/api/v1/ask", headers=NAMED, json=QUESTION)
    assert again.json()["trace_id"] == seen[0]


async def test_what_failed_may_be_asked_anew(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember, calls = type(served.bench.app).remember, 0

    async def first_away(*args: Any, **values: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise DatabaseAway("the database does not answer")
        return await remember(*args, **values)

    monkeypatch.setattr(type(served.bench.app), "remember", first_away)
    async with served.client(await served.key()) as client:
        answers = await twice(client, "/api/v1/memories", json={"text": "I like jazz."})
    assert [answer.status_code for answer in answers] == [503, 201]


async def test_nothing_is_kept_of_a_temporary_question(served: Served) -> None:
    async with served.client(await served.key()) as client:
        first, second = await twice(client, "/api/v1/ask", json=QUESTION | {"temporary": True})
    assert first.json()["trace_id"] != second.json()["trace_id"]
    assert served.bench.count("first_answer") == 0


async def test_a_stream_comes_again_but_not_one_that_broke(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    said = "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]."
    bench = await make_bench(
        pool, database_url, tmp_path / "blobs", language_model=ScriptedModel([[said]])
    )
    served = serve_bench(bench, tmp_path, limits__idle_seconds=0.3)
    key = await served.key()
    await put(served, key)
    async with served.client(key) as client:
        first, second = await twice(client, "/api/v1/ask", json=QUESTION | {"stream": True})
        same(first, second)
        assert events_of(second.text)[-1][0] == "done"
        whole = await client.post("/api/v1/ask", headers=NAMED, json=QUESTION)
        assert whole.status_code == 422, "whole it is another request"
    stalled = ScriptedModel([[said]], faults={1: ModelFault(stall=30)})
    other = await make_bench(pool, database_url, tmp_path / "blobs", language_model=stalled)
    served = serve_bench(other, tmp_path, limits__idle_seconds=0.3)
    async with served.client(key, {"Idempotency-Key": "another"}) as client:
        ends = []
        for _ in range(2):
            answer = await client.post("/api/v1/ask", json=QUESTION | {"stream": True})
            ends.append(events_of(answer.text)[-1][0])
    assert ends == ["error", "done"]


async def test_an_answer_goes_with_what_it_quotes(served: Served) -> None:
    """A document deleted, or seen by fewer; a conversation; a memory: nobody gets them again."""
    key = await served.key()
    document = await put(served, key)
    kept = served.bench.count
    async with served.client(key) as client:

        async def ask() -> dict[str, Any]:
            answer = await client.post("/api/v1/ask", headers=NAMED, json=QUESTION)
            told: dict[str, Any] = answer.json()
            return told

        first = await ask()
        assert (await client.delete(f"/api/v1/documents/{document['id']}")).status_code == 200
        assert kept("first_answer") == 0
        assert (await ask())["trace_id"] != first["trace_id"]
        assert (await ask())["abstained"] is True
        await client.delete(f"/api/v1/conversations/{(await ask())['conversation_id']}")
        assert kept("first_answer") == 0
        await put(served, key)
        assert (await ask())["abstained"] is False
        await put(served, key, access=["user:reader"])
        assert kept("first_answer") == 0
        memory = await client.post("/api/v1/memories", headers=NAMED, json={"text": "I like jazz."})
        assert kept("first_answer") == 1
        await client.delete(f"/api/v1/memories/{memory.json()['memory']['id']}")
        assert kept("first_answer") == 0


async def test_whoever_is_forgotten_leaves_no_answer(served: Served) -> None:
    async with served.client(await served.key()) as client:
        await client.post("/api/v1/memories", headers=NAMED, json={"text": "I like zqjazz."})
        receipt = (await client.post("/api/v1/purges", json={})).json()
    [store] = [s for s in receipt["stores"] if s["store"].endswith("first_answer")]
    assert (store["found"], store["deleted"], store["left"]) == (1, 1, 0)
    assert served.bench.tables_with("zqjazz") == []


async def test_a_day_later_it_is_another_request(served: Served) -> None:
    body = {"text": "I like jazz."}
    async with served.client(await served.key()) as client:
        await client.post("/api/v1/memories", headers=NAMED, json=body)
        served.bench.sql(
            "UPDATE vademecum.first_answer SET created_at = created_at - interval '24 hours'"
        )
        again = await client.post("/api/v1/memories", headers=NAMED, json=body)
        assert again.json()["outcome"] == "confirmed"
        catalogue = served.bench.app.catalogue
        assert await catalogue.let_go(Tenant("default")) == 0
        served.bench.sql(
            "UPDATE vademecum.first_answer SET created_at = created_at - interval '25 hours'"
        )
        assert await catalogue.let_go(Tenant("other")) == 0
        assert await catalogue.let_go(Tenant("default")) == 1
    assert served.bench.count("first_answer") == 0


async def test_what_is_too_large_to_keep_is_not_done_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vademecum.server.repeats.MOST_BYTES", 20)
    async with served.client(await served.key()) as client:
        first, second = await twice(client, "/api/v1/memories", json={"text": "I like jazz."})
        assert (first.status_code, second.status_code) == (201, 409)
        [memory] = (await client.get("/api/v1/memories")).json()["memories"]
    assert memory["confirmed_at"] == first.json()["memory"]["confirmed_at"]


async def test_a_request_whose_process_died_is_anothers_after_a_minute(bench: Bench) -> None:
    repeats = PostgresRepeats(bench.app.catalogue.pool)
    died = await repeats.claim(READER, b"name")
    assert isinstance(died, Claim)
    assert await repeats.claim(READER, b"name") is None
    await repeats.renew(READER, died)
    bench.sql("UPDATE vademecum.first_answer SET lease_until = now() - interval '1 s'")
    other = await repeats.claim(READER, b"name")
    assert isinstance(other, Claim)
    late = FirstAnswer(asked=b"a", status=200, media_type="text/plain", body=b"late")
    await repeats.keep(READER, died, late)  # it was not dead after all: its word counts no more
    await repeats.release(READER, died)
    assert await repeats.claim(READER, b"name") is None
    await repeats.keep(READER, other, late)
    assert await repeats.claim(READER, b"name") == late
    assert isinstance(await repeats.claim(OPERATOR, b"name"), Claim)


async def test_one_person_keeps_so_many_and_no_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vademecum.postgres.serving.repeat.MOST_KEPT", 3)
    repeats = PostgresRepeats(bench.app.catalogue.pool)
    for number in range(5):
        claim = await repeats.claim(READER, bytes([number]))
        assert isinstance(claim, Claim)
        answer = FirstAnswer(asked=b"a", status=200, media_type="text/plain", body=b"x")
        await repeats.keep(READER, claim, answer)
    assert [row[0] for row in bench.sql("SELECT id FROM vademecum.first_answer ORDER BY 1")] == [
        b"\x02", b"\x03", b"\x04",
    ]  # fmt: skip


async def test_the_worker_lets_sessions_go_that_are_over(served: Served) -> None:
    keyring = served.bench.app.catalogue.keyring
    caller = await keyring.enter(await served.key())
    assert caller is not None
    over = await keyring.open_session(caller, timedelta(hours=1))
    await keyring.open_session(caller, timedelta(hours=1))
    await served.bench.app.ingest([source("a.md", "Lift 4.")], scope=OPERATOR)
    served.bench.sql("UPDATE vademecum.api_key SET expires_at = now() WHERE id = %s", over.key.id)
    from vademecum.worker.loop import once

    _, (_, _, served_left) = await once(served.bench.app)
    assert served_left.served == 1
    assert served.bench.count("api_key") == 2
