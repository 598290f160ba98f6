"""Who is let in, and what does everybody else get?"""

import json
import re
from pathlib import Path

import httpx
import pytest
from http_server import EVERYTHING, Served, serve_bench
from support import OPERATOR, Bench

from vademecum.server.application import ROUTES
from vademecum.server.routes import find

OPEN = {route.path for route in ROUTES if route.permission is None}

# What a proxy adds: this machine itself may read some things without a key.
ELSEWHERE = {"X-Forwarded-For": "192.0.2.7"}


def filled(path: str) -> str:
    """A path with some id in every slot."""
    missing = "01890000-0000-7000-8000-000000000000"
    return re.sub(r"\{\w+\}", missing, path)


def test_every_route_of_the_application_is_declared(served: Served) -> None:
    api = served.asgi._app._app  # type: ignore[attr-defined]  # what the gate guards
    declared = {(route.method, route.path) for route in ROUTES}
    mounted = {(method, route.path) for route in api.routes for method in route.methods - {"HEAD"}}
    assert mounted == declared
    assert len(ROUTES) == len(declared), "each once"


def test_a_path_is_found_by_its_method() -> None:
    found = find(ROUTES, "GET", "/api/v1/documents/01890000-0000-7000-8000-000000000000")
    assert found.route is not None
    assert found.route.path == "/api/v1/documents/{document_id}"
    assert find(ROUTES, "PUT", "/api/v1/keys").methods == ("GET", "POST")
    assert find(ROUTES, "GET", "/api/v1/documents/a/b/c").route is None


async def test_without_a_key_nothing_is_open_but_what_says_so(served: Served) -> None:
    async with served.client(headers=ELSEWHERE) as client:
        for route in ROUTES:
            answer = await client.request(route.method, filled(route.path))
            if route.permission is None:
                assert answer.status_code != 401, route.path
            elif route.page and route.method == "GET":
                assert answer.status_code == 303, route.path
            else:
                assert answer.status_code == 401, (route.method, route.path)
                assert answer.headers["www-authenticate"] == "Bearer"
                assert "unauthenticated" in answer.text


async def test_a_key_may_what_it_may_and_no_more(served: Served) -> None:
    for permission in EVERYTHING:
        key = await served.key("user:one", permission)
        async with served.client(key, headers=ELSEWHERE) as client:
            for route in ROUTES:
                if route.permission is None or permission in ("admin", route.permission):
                    continue
                answer = await client.request(route.method, filled(route.path))
                assert answer.status_code == 403, (permission, route.method, route.path)


async def test_what_is_wrong_with_a_key_is_not_told(served: Served) -> None:
    """Unknown, revoked and mistyped keys get the same bytes."""
    key = await served.key()
    keyring = served.bench.app.catalogue.keyring
    [made] = await keyring.all(scope=OPERATOR)
    await keyring.revoke(made.id, scope=OPERATOR)
    seen = set()
    for text in (key, key + "x", "vade_0.x", "", "Bearer", f"vade_{'0' * 32}.{'x' * 43}"):
        async with served.client(text) as client:
            answer = await client.get("/api/v1/me")
            assert answer.status_code == 401
            seen.add(answer.content)
    assert len(seen) == 1


async def test_another_name_of_the_host_is_refused(bench: Bench, tmp_path: Path) -> None:
    """A page of elsewhere whose name was bound to this address gets nothing (DNS rebinding)."""
    served = serve_bench(bench, tmp_path, server__hosts="ask.example.org")
    async with served.client(await served.key()) as client:
        for host, status in (
            ("evil.example.com", 400), ("localhost.evil.example.com", 400), ("", 400),
            ("ask.example.org", 200), ("ASK.example.org:8443", 200), ("127.0.0.1:8080", 200),
            ("[::1]:8080", 200),
        ):  # fmt: skip
            answer = await client.get("/api/v1/me", headers={"Host": host})
            assert answer.status_code == status, host


async def test_every_answer_has_its_id_and_its_fences(served: Served) -> None:
    async with served.client(await served.key()) as client:
        answers = [
            await client.get("/api/v1/me", headers={"X-Request-Id": "mine-1"}),
            await client.get("/health/live", headers={"X-Request-Id": "bad id\t"}),
            await client.get("/nothing/here"),
        ]
    assert answers[0].headers["x-request-id"] == "mine-1"
    assert len(answers[1].headers["x-request-id"]) == 32
    for answer in answers:
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "private, no-store"


async def test_ca_07_no_cache_between_keeps_what_is_for_one(served: Served) -> None:
    """Of every route, whatever it answers; the pages' own files are the same for everybody."""
    lasting = {"/mcp"}  # one that answers for as long as its client stays
    async with served.client(await served.key("user:boss", *EVERYTHING)) as client:
        for route in (one for one in ROUTES if one.path not in lasting):
            answer = await client.request(route.method, filled(route.path))
            kept = answer.headers["cache-control"]
            if route.path.startswith("/static/") and answer.status_code == 200:
                assert "private" not in kept
            else:
                assert kept == "private, no-store", route


async def test_a_body_is_not_read_before_it_is_known_who_sends_it(served: Served) -> None:
    read = 0

    async def body() -> object:
        nonlocal read
        for _ in range(10):
            read += 1
            yield b"x" * 1000

    async with served.client("vade_nobody") as client:
        answer = await client.post("/api/v1/uploads", content=body())
    assert answer.status_code == 401
    assert read <= 1, "the test's transport may have taken one piece"


@pytest.mark.parametrize("told", [True, False])
async def test_what_is_too_large_is_stopped_while_it_comes(served: Served, *, told: bool) -> None:
    """SE-09: at the limit, whether the length is told or not."""
    sent = 0

    async def body() -> object:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield b'{"query": "' + b"x" * 10_000

    headers = {"Content-Type": "application/json"}
    async with served.client(await served.key()) as client:
        if told:
            answer = await client.post("/api/v1/search", content=b"x" * 70_000, headers=headers)
        else:
            answer = await client.post("/api/v1/search", content=body(), headers=headers)
            assert sent < 10
    assert answer.status_code == 413
    assert answer.json()["code"] == "limit-exceeded"


async def test_too_many_requests_are_told_when_to_come_again(bench: Bench, tmp_path: Path) -> None:
    served = serve_bench(bench, tmp_path, limits__requests_per_minute=3)
    async with served.client(await served.key()) as client:
        answers = [await client.post("/api/v1/search", json={"query": "x"}) for _ in range(5)]
        looks = await client.get("/api/v1/me")
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
    assert answers[-1].json()["code"] == "too-many"
    assert looks.status_code == 200, "looking counts apart"


async def test_a_cookie_changes_nothing_for_another_site(served: Served) -> None:
    """A browser sends it unasked, so that a change needs the word that it is ours."""
    keyring = served.bench.app.catalogue.keyring
    caller = await keyring.enter(await served.key())
    assert caller is not None
    session = (await keyring.open_session(caller, served.service.session)).text
    body = {"text": "I use a wheelchair."}
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    for headers, status in (
        ({"Origin": "http://evil.example.com"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://other.localhost"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
        (own, 201),
    ):
        async with served.client(headers={"Cookie": f"vade={session}", **headers}) as client:
            answer = await client.post("/api/v1/memories", json=body)
            assert answer.status_code == status, headers
            assert (await client.get("/api/v1/me")).status_code == 200


async def test_what_breaks_inside_says_nothing_of_it(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> object:
        raise RuntimeError("secret canary of a person")

    monkeypatch.setattr(type(served.bench.app), "search", broken)
    async with served.client(await served.key()) as client:
        answer = await client.post("/api/v1/search", json={"query": "canary question"})
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "canary" not in answer.text
    assert "canary" not in caplog.text
    assert "RuntimeError" in caplog.text


async def test_a_bad_body_names_the_place_and_not_what_stood_there(served: Served) -> None:
    async with served.client(await served.key()) as client:
        for body, place in (
            ({"query": "x", "k": "canary"}, "k"),
            ({"query": "x", "tenant": "other"}, "tenant"),
            ({"query": "x", "principal": "user:canary"}, "principal"),
            ({"query": " "}, "query"),
            ({}, "query"),
        ):
            answer = await client.post("/api/v1/search", json=body)
            assert answer.status_code == 400, body
            assert place in answer.json()["message"], body
            assert "canary" not in answer.text
        for broken in (b"{", b"\xff\xfe", b"[]", b'{"query": "\\ud800"}'):
            answer = await client.post(
                "/api/v1/search", content=broken, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (200, 400), broken
            assert json.loads(answer.content)


async def test_a_database_that_is_away_is_said_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vademecum.errors import DatabaseAway

    async def away(*_: object, **__: object) -> object:
        raise DatabaseAway("the database does not answer")

    monkeypatch.setattr(type(served.bench.app.catalogue.keyring.store), "admit", away)
    async with served.client("vade_" + "0" * 32 + ".x") as client:
        answer = await client.get("/api/v1/me")
        live = await client.get("/health/live")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert live.status_code == 200


async def test_a_look_without_a_body_is_answered(served: Served) -> None:
    """HEAD, as balancers ask for health."""
    async with served.client(await served.key()) as client:
        for path in ("/health/live", "/api/v1/me"):
            answer = await client.head(path)
            assert answer.status_code == 200, path
        assert (await client.head("/api/v1/nowhere")).status_code == 404


async def test_ready_says_what_is_there(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served.client() as client:
        assert (await client.get("/health/ready")).json()["ready"] is True
        await served.bench.app.catalogue.pool.close()
        gone = await client.get("/health/ready")
        assert gone.status_code == 503
        assert gone.json()["parts"] == {"database": "database-away"}


async def test_what_no_database_can_hold_is_refused_or_cleaned(served: Served) -> None:
    """Half characters are refused; a NUL is in a name, and left out of a text."""
    async with served.client(await served.key()) as client:
        for address in ("/api/v1/documents?collection=%00", "/api/v1/documents?after=%00"):
            assert (await client.get(address)).status_code == 400
        for bad in ("\\u0000", "\\ud800"):
            for path, body in (
                ("/api/v1/search", '{"query": "x", "collections": ["a%s"]}'),
                ("/api/v1/ask", '{"question": "x", "persona": "a%s"}'),
                ("/api/v1/documents", '{"uri": "a%s", "text": "x"}'),
                ("/v1/chat/completions",
                 '{"model": "a%s", "messages": [{"role": "user", "content": "x"}]}'),
                ("/api/v1/search", '{"query": "x", "where": {"a": "b%s"}}'),
                ("/api/v1/search", '{"query": "x", "where": {"a%s": "b"}}'),
                ("/api/v1/documents", '{"uri": "a", "text": "x", "metadata": {"a": "%s"}}'),
            ):  # fmt: skip
                sent = (body % bad).encode()
                answer = await client.post(
                    path, content=sent, headers={"Content-Type": "application/json"}
                )
                assert answer.status_code in (200, 202, 400), (path, body, answer.text)
            for path, body in (
                ("/api/v1/search", '{"query": "cameras%s"}'),
                ("/api/v1/ask", '{"question": "cameras%s?"}'),
                ("/api/v1/memories", '{"text": "I like jazz%s."}'),
                ("/api/v1/documents", '{"uri": "a", "text": "Lift%s 4"}'),
            ):
                sent = (body % bad).encode()
                answer = await client.post(
                    path, content=sent, headers={"Content-Type": "application/json"}
                )
                expected = (200, 201, 202) if bad == "\\u0000" else (400,)
                assert answer.status_code in expected, (path, body, answer.text)


async def test_a_page_gets_a_page_whatever_is_refused(served: Served) -> None:
    """401, 413, 429 and 503, to a browser; a program gets a problem of the same code."""
    html = {"Accept": "text/html"}
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    async with served.client(headers=html) as nobody:
        answer = await nobody.post("/ask", data={"question": "x"})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        is_page(answer, "unauthenticated")
    async with served.client(await served.key(), html | own) as client:
        large = await client.post("/ask", content=b"x" * 200_000)
        assert large.status_code == 413
        is_page(large, "limit-exceeded")
        part = await client.post("/ask", content=b"x" * 200_000, headers={"HX-Request": "true"})
        assert "<html" not in part.text
        assert "limit-exceeded" in part.text
        program = await client.post("/api/v1/search", content=b"x" * 200_000)
        assert program.headers["content-type"] == "application/problem+json"


async def test_a_page_says_when_to_come_again(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vademecum.errors import DatabaseAway

    async def away(*_: object, **__: object) -> object:
        raise DatabaseAway("the database does not answer")

    served = serve_bench(bench, tmp_path, limits__requests_per_minute=1)
    headers = {
        "Accept": "text/html", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin",
    }  # fmt: skip
    async with served.client(await served.key(), headers) as client:
        answers = [await client.post("/ask", data={"question": "x"}) for _ in range(2)]
        assert answers[1].status_code == 429
        assert 1 <= int(answers[1].headers["retry-after"]) <= 60
        is_page(answers[1], "too-many")
        monkeypatch.setattr(type(bench.app.catalogue.keyring.store), "admit", away)
        answer = await client.get("/sources")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    is_page(answer, "database-away")


def is_page(answer: httpx.Response, code: str) -> None:
    assert answer.headers["content-type"].startswith("text/html")
    assert f"<code>{code}</code>" in answer.text
