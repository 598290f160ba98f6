"""Does the native API do what the command line does, in the same JSON?"""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from http_server import RULES, Served, events_of, put, serve_bench
from support import OPERATOR, Bench, make_bench

from vademecum.model.answer import Event
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ModelFault, ScriptedModel


async def test_a_document_comes_in_is_found_and_goes_out(served: Served) -> None:
    key = await served.key()
    document = await put(served, key)
    assert document["status"] == "ready"
    one = f"/api/v1/documents/{document['id']}"
    async with served.client(key) as client:
        assert (await client.get(one)).json()["title"] == "Cameras"
        text = (await client.get(one + "/text")).json()["text"]
        chunks = (await client.get(one + "/chunks")).json()["chunks"]
        assert text[chunks[0]["start"] : chunks[0]["end"]].startswith("# Cameras")
        assert len((await client.get(one + "/history")).json()["revisions"]) == 1
        original = await client.get(one + "/original")
        assert original.content == RULES.encode()
        assert original.headers["content-disposition"].startswith("attachment")
        found = (await client.post("/api/v1/search", json={"query": "cameras lens"})).json()
        assert found["passages"][0]["document_id"] == document["id"]
        assert found["scope"]["principal"] == "user:reader"
        trace = await client.get(f"/api/v1/traces/{found['trace_id']}")
        assert trace.json()["kind"] == "search"
        receipt = (await client.delete(one)).json()
        assert receipt["complete"] is True
        assert (await client.get(one)).status_code == 404
        again = (await client.post("/api/v1/search", json={"query": "cameras lens"})).json()
        assert again["passages"] == []


async def test_files_come_in_by_upload(served: Served) -> None:
    files = [
        ("file", ("../../etc/rules.md", RULES.encode())),
        ("file", ("notes.txt", b"Lift 9 is closed on Mondays.")),
    ]
    data = {"collection": "venues", "metadata": '{"season": 2026}', "wait": "true"}
    async with served.client(await served.key()) as client:
        answer = await client.post("/api/v1/uploads", files=files, data=data)
        assert answer.status_code == 200, answer.text
        documents = answer.json()["documents"]
        assert [d["uri"] for d in documents] == ["rules.md", "notes.txt"]
        shown = (await client.get(f"/api/v1/documents/{documents[0]['id']}")).json()
        assert (shown["collection"], shown["metadata"]) == ("venues", {"season": 2026})
        assert (await client.post("/api/v1/uploads", data=data)).status_code == 400
        bad = await client.post("/api/v1/uploads", files=files, data={"metadata": "[1]"})
        assert bad.status_code == 400


async def test_without_waiting_it_is_accepted(served: Served) -> None:
    async with served.client(await served.key()) as client:
        answer = await client.post("/api/v1/documents", json={"uri": "a.md", "text": RULES})
        assert answer.status_code == 202
        assert answer.json()["documents"][0]["status"] == "accepted"


async def test_pages_of_documents_miss_and_repeat_none(served: Served) -> None:
    key = await served.key()
    for name in ("b", "a", "d", "c", "e"):
        await put(served, key, uri=f"{name}.md", text=f"Rule {name}.")
    seen: list[str] = []
    cursor: str | None = None
    async with served.client(key) as client:
        while True:
            asked = {"limit": "2"} | ({"after": cursor} if cursor else {})
            page = (await client.get("/api/v1/documents", params=asked)).json()
            seen += [document["uri"] for document in page["documents"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert (await client.get("/api/v1/documents", params={"after": "x"})).status_code == 400
    assert seen == ["a.md", "b.md", "c.md", "d.md", "e.md"]


async def test_an_answer_is_whole_or_comes_as_events(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    asked = {"question": "Which cameras are allowed in Hall Norte?"}
    async with served.client(key) as client:
        answer = (await client.post("/api/v1/ask", json=asked)).json()
        streamed = await client.post("/api/v1/ask", json=asked | {"stream": True})
        accepted = await client.post(
            "/api/v1/ask", json=asked, headers={"Accept": "text/event-stream"}
        )
    assert "200 mm" in answer["answer"]
    assert answer["citations"][0]["uri"] == "rules.md"
    assert answer["conversation_id"]
    for response in (streamed, accepted):
        assert response.headers["content-type"].startswith("text/event-stream")
        events = events_of(response.text)
        names = [name for name, _ in events]
        assert names[0] == "retrieved"
        assert names[-1] == "done"
        assert {"delta", "citation", "sentence"} <= set(names)
        assert sum(name in ("done", "error") for name in names) == 1
        done = json.loads(events[-1][1])
        assert done["answer"] == answer["answer"]


async def test_a_conversation_is_its_owners(served: Served) -> None:
    key = await served.key()
    await put(served, key)
    async with served.client(key) as client:
        answer = (await client.post("/api/v1/ask", json={"question": "Which cameras?"})).json()
        one = f"/api/v1/conversations/{answer['conversation_id']}"
        listed = (await client.get("/api/v1/conversations")).json()["conversations"]
        assert [c["id"] for c in listed] == [answer["conversation_id"]]
        assert len((await client.get(one)).json()["turns"]) == 2
        assert len((await client.get(one + "/turns")).json()["turns"]) == 2
        again = {"question": "Which cameras?", "again": True}
        more = await client.post(
            "/api/v1/ask", json=again | {"conversation_id": answer["conversation_id"]}
        )
        assert more.status_code == 200
        assert (await client.post("/api/v1/ask", json=again)).status_code == 400
        assert (await client.delete(one)).json()["complete"] is True
        assert (await client.get(one)).status_code == 404


async def test_memories_are_kept_changed_recalled_and_forgotten(served: Served) -> None:
    async with served.client(await served.key()) as client:
        made = await client.post("/api/v1/memories", json={"text": "I use a wheelchair."})
        assert made.status_code == 201
        memory = made.json()["memory"]
        one = f"/api/v1/memories/{memory['id']}"
        assert (await client.patch(one, json={"pinned": True})).json()["memory"]["pinned"] is True
        edited = await client.patch(one, json={"text": "I use an electric wheelchair."})
        now = edited.json()["memory"]
        assert now["text"] == "I use an electric wheelchair."
        assert (await client.patch(one, json={})).status_code == 400
        found = await client.post("/api/v1/memories/recall", json={"text": "wheelchair places"})
        recalled = found.json()
        assert [m["text"] for m in recalled["profile"] + recalled["memories"]] == [now["text"]]
        waiting = await client.post(
            "/api/v1/memories", json={"text": "I like jazz.", "client": "player"}
        )
        pending = waiting.json()["memory"]
        assert pending["state"] == "pending"
        assert (await client.post(f"/api/v1/memories/{pending['id']}/reject")).status_code == 200
        exported = (await client.get("/api/v1/export")).json()
        assert [m["text"] for m in exported["memories"]] == [now["text"]]
        assert (await client.delete(f"/api/v1/memories/{now['id']}")).json()["deleted"] is True
        assert (await client.get("/api/v1/memories")).json()["memories"] == []


async def test_a_person_has_themselves_forgotten_keys_and_all(served: Served) -> None:
    key, other = await served.key(), await served.key("user:other")
    async with served.client(key) as client:
        await client.post("/api/v1/memories", json={"text": "I use a wheelchair."})
        dry = (await client.post("/api/v1/purges", json={"dry_run": True})).json()
        assert dry["held"]["postgres.memory"] == 1
        denied = await client.post("/api/v1/purges", json={"principal": "user:other"})
        assert denied.status_code == 403
        receipt = (await client.post("/api/v1/purges", json={})).json()
        assert receipt["complete"] is True
        assert (await client.get("/api/v1/me")).status_code == 401, "the key was theirs, too"
    async with served.client(other) as client:
        assert (await client.get("/api/v1/me")).status_code == 200


async def test_the_operator_makes_lists_and_ends_keys(served: Served) -> None:
    async with served.client(await served.key("user:boss", "admin")) as client:
        made = await client.post("/api/v1/keys", json={"principal": "user:new", "scopes": ["read"]})
        assert made.status_code == 201
        listed = (await client.get("/api/v1/keys")).json()["keys"]
        assert [key["principal"] for key in listed] == ["user:boss", "user:new"]
        assert "digest" not in json.dumps(listed)
        async with served.client(made.json()["key"]) as new:
            me = (await new.get("/api/v1/me")).json()
            assert (me["scope"]["principal"], me["scopes"]) == ("user:new", ["read"])
            revoked = await client.delete(f"/api/v1/keys/{made.json()['id']}")
            assert revoked.json()["revoked_at"]
            assert (await new.get("/api/v1/me")).status_code == 401


async def test_one_tenant_and_one_colleague_see_nothing_of_another(served: Served) -> None:
    own = await served.key("user:ana-desk")
    private = await put(served, own, access=["user:ana-desk"])
    async with served.client(own) as client:
        answer = (await client.post("/api/v1/ask", json={"question": "Which cameras?"})).json()
        memory = (await client.post("/api/v1/memories", json={"text": "I use a lift."})).json()
    ids = {
        "documents": private["id"],
        "conversations": answer["conversation_id"],
        "memories": memory["memory"]["id"],
        "traces": answer["trace_id"],
    }
    missing = "01890000-0000-7000-8000-000000000000"
    for stranger in (
        await served.key("user:colleague"),
        await served.key("user:ana-desk", tenant="other"),
        await served.key("user:boss", "admin", tenant="other"),
    ):
        async with served.client(stranger) as client:
            for noun, known in ids.items():
                foreign = await client.get(f"/api/v1/{noun}/{known}")
                unknown = await client.get(f"/api/v1/{noun}/{missing}")
                assert foreign.status_code == unknown.status_code == 404, noun
                assert foreign.text.replace(str(known), missing) == unknown.text, noun


async def test_who_leaves_stops_the_model_and_keeps_what_was_written(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """SE-01: the call ends within two seconds, and the turn is kept and marked."""
    pieces = [
        "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]. ",
        "More ",
        "words.",
    ]
    stalled = ModelFault(after=2, stall=60)
    model = ScriptedModel([pieces], faults={1: stalled, 2: stalled})
    bench = await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)
    served = serve_bench(bench, tmp_path)
    key = await served.key()
    await put(served, key)
    for calls, body in ((1, {"stream": True}), (2, {})):
        await left_after(served, key, {"question": "Which cameras are allowed?"} | body)
        await asyncio.sleep(0.5)
        assert served.service.streams.count == 0
        assert (len(model.prompts), model.closed) == (calls, calls)
    scope = Scope.for_principal("default", "user:reader", frozenset())
    for conversation in await bench.app.talking.list(scope=scope):
        dialogue = await bench.app.talking.show(conversation.id, scope=scope)
        assert [turn.state for turn in dialogue.turns] == ["complete", "interrupted"]
        assert dialogue.turns[1].text.startswith("Cameras with a lens")


async def left_after(served: Served, key: str, body: dict[str, object]) -> None:
    """Send a question and leave a second later."""
    content = json.dumps(body).encode()
    sent = False

    async def receive() -> dict[str, object]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": content, "more_body": False}
        await asyncio.sleep(1)
        return {"type": "http.disconnect"}

    async def send(_message: object) -> None: ...

    scope = {
        "type": "http", "method": "POST", "path": "/api/v1/ask", "raw_path": b"/api/v1/ask",
        "query_string": b"", "scheme": "http", "http_version": "1.1", "root_path": "",
        "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "headers": [
            (b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode()),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(content)).encode()),
        ],
    }  # fmt: skip
    await asyncio.wait_for(served.asgi(scope, receive, send), 10)  # type: ignore[arg-type]


async def test_a_revoked_key_ends_its_stream(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve_bench(bench, tmp_path)
    key = await served.key()
    monkeypatch.setattr("vademecum.server.streams._LOOK_SECONDS", 0.2)
    keyring = bench.app.catalogue.keyring
    caller = await keyring.enter(key)
    assert caller is not None

    async def slow() -> AsyncGenerator[Event, None]:
        await asyncio.sleep(60)
        yield  # type: ignore[misc]

    async def alive() -> bool:
        return await keyring.enter(key) is not None

    from vademecum.errors import Unauthenticated

    async def read() -> None:
        async for _ in served.service.streams.follow(caller, slow(), alive):
            pass

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.5)
    assert not reading.done()
    await keyring.revoke(caller.key_id, scope=OPERATOR)
    with pytest.raises(Unauthenticated):
        await asyncio.wait_for(reading, 5)


async def test_too_many_answers_at_once(bench: Bench, tmp_path: Path) -> None:
    from vademecum.errors import TooMany

    served = serve_bench(bench, tmp_path, limits__streams=1)
    caller = await bench.app.catalogue.keyring.enter(await served.key())
    assert caller is not None

    async def slow() -> AsyncGenerator[Event, None]:
        await asyncio.sleep(60)
        yield  # type: ignore[misc]

    async def alive() -> bool:
        return True

    first = served.service.streams.follow(caller, slow(), alive)
    waiting = asyncio.create_task(anext(first))
    await asyncio.sleep(0.05)
    with pytest.raises(TooMany):
        await anext(served.service.streams.follow(caller, slow(), alive))
    waiting.cancel()
    await asyncio.wait({waiting})
    await first.aclose()
    await served.service.streams.close()
    assert served.service.streams.count == 0


async def test_a_silent_answer_is_ended(bench: Bench, tmp_path: Path) -> None:
    """SE-03: the stream gets an error of its own, and nothing hangs."""
    from vademecum.errors import ServiceAway

    served = serve_bench(bench, tmp_path, limits__idle_seconds=0.3)
    caller = await bench.app.catalogue.keyring.enter(await served.key())
    assert caller is not None

    async def silent() -> AsyncGenerator[Event, None]:
        await asyncio.sleep(60)
        yield  # type: ignore[misc]

    async def alive() -> bool:
        return True

    with pytest.raises(ServiceAway):
        async with asyncio.timeout(3):
            await anext(served.service.streams.follow(caller, silent(), alive))


async def test_feedback_is_each_ones_own_and_the_last_word_counts(served: Served) -> None:
    key, other = await served.key(), await served.key("user:other")
    async with served.client(key) as client:
        found = (await client.post("/api/v1/search", json={"query": "cameras"})).json()
        word = {"trace_id": found["trace_id"], "verdict": "down", "reason": "outdated"}
        first = (await client.post("/api/v1/feedback", json=word | {"note": "see 2027"})).json()
        last = await client.post("/api/v1/feedback", json=word | {"verdict": "up", "reason": ""})
        assert last.status_code == 201
        listed = (await client.get("/api/v1/feedback")).json()["feedback"]
        assert [(f["id"], f["verdict"], f["note"]) for f in listed] == [(first["id"], "up", "")]
        assert (await client.get("/api/v1/feedback?verdict=down")).json()["feedback"] == []
        for wrong in ({"verdict": "meh"}, {"reason": "because"}, {"trace_id": "x"}):
            assert (await client.post("/api/v1/feedback", json=word | wrong)).status_code == 400
    async with served.client(other) as client:
        assert (await client.post("/api/v1/feedback", json=word)).status_code == 404
        assert (await client.get("/api/v1/feedback")).json()["feedback"] == []
        assert (await client.get(f"/api/v1/feedback/{first['id']}")).status_code == 404
    async with served.client(await served.key("user:boss", "admin")) as client:
        assert (await client.get(f"/api/v1/feedback/{first['id']}")).json()["verdict"] == "up"
    async with served.client(key) as client:
        receipt = (await client.post("/api/v1/purges", json={})).json()
        stores = {store["store"]: store["deleted"] for store in receipt["stores"]}
        assert stores["postgres.feedback"] == 1


async def test_a_trace_is_replayed_by_whoever_it_is_of(served: Served) -> None:
    async with served.client(await served.key()) as client:
        await put(served, await served.key())
        answer = (await client.post("/api/v1/ask", json={"question": "Which cameras?"})).json()
        path = f"/api/v1/traces/{answer['trace_id']}/replay"
        replay = (await client.post(path)).json()
        assert (replay["trace_id"], replay["same"]) == (answer["trace_id"], True)
        assert replay["answer"]["same"] is True
        assert (await client.post(path, json={"rerank": True})).json()["same"] is True
        refused = await client.post(path, json={"fusion": "rrf"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert (await client.post(path, json={"fusion": "magic"})).status_code == 400
    async with served.client(await served.key("user:boss", "read", "admin")) as boss:
        tried = (await boss.post(path, json={"fusion": "rrf", "dense_weight": 0.2})).json()
        assert [v["name"] for v in tried["versions"]] == ["search.dense_weight", "search.fusion"]
        assert tried["answer"] is None, "nobody else's question is answered again"
