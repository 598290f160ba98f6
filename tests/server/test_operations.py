"""What do operators see, and what stands nowhere?"""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from http_server import Served
from support import OPERATOR, source

from vademecum.server import logs


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[io.StringIO]:
    """All that the process logs, as `vade serve` writes it."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    logs.configure("debug")
    written = io.StringIO()
    for handler in root.handlers:
        assert isinstance(handler, logging.StreamHandler)
        handler.setStream(written)
    yield written
    root.handlers[:] = before
    root.setLevel(level)


async def test_metrics_count_requests_and_answers(served: Served) -> None:
    await served.bench.app.ingest([source("a.md", "Lift 4 goes to sector C.")], scope=OPERATOR)
    async with served.client(await served.key()) as client:
        rules = {"question": "Which lift goes to sector C?"}
        known = (await client.post("/api/v1/ask", json=rules)).json()["abstained"]
        other = (await client.post("/api/v1/ask", json={"question": "llama?"})).json()["abstained"]
        assert (known, other) == (False, True)
        assert (
            await client.get("/metrics", headers={"X-Forwarded-For": "1.2.3.4"})
        ).status_code == 403
    async with served.client(await served.key("user:boss", "admin")) as boss:
        text = (await boss.get("/metrics")).text
    assert 'vademecum_requests_total{route="/api/v1/ask",status="200"} 2.0' in text
    assert 'vademecum_answers_total{abstained="false",mode="extractive"} 1.0' in text
    assert 'vademecum_answers_total{abstained="true",mode="extractive"} 1.0' in text
    assert 'vademecum_stage_seconds_count{stage="retrieve"} 2.0' in text
    assert "vademecum_answers_under_way 0.0" in text


async def test_this_machine_reads_metrics_without_a_key_but_no_proxy_for_another(
    served: Served,
) -> None:
    async with served.client() as client:  # the test's transport comes from 127.0.0.1
        assert (await client.get("/metrics")).status_code == 200
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            assert (await client.get("/metrics", headers={name: "1.2.3.4"})).status_code == 401


async def test_the_description_is_for_the_operator_and_names_every_route(served: Served) -> None:
    async with served.client(await served.key()) as client:
        assert (await client.get("/api/openapi.json")).status_code == 403
    async with served.client(await served.key("user:boss", "admin")) as boss:
        described = (await boss.get("/api/openapi.json")).json()
    assert described["openapi"].startswith("3.")
    assert {"/api/v1/ask", "/api/v1/documents/{document_id}", "/v1/rerank"} <= set(
        described["paths"]
    )


async def test_no_text_and_nobody_stands_in_log_or_metrics(
    served: Served, log: io.StringIO
) -> None:
    """SE-06 and threat 18: canaries in every field, at the most talkative level."""
    key = await served.key("user:zqperson", "read", "write", "memory")
    async with served.client(key) as client:
        await client.post(
            "/api/v1/documents",
            json={"uri": "zquri.md", "text": "zqtext of a rule.", "metadata": {"zqmeta": "zqvalue"},
                  "collection": "zqcollection", "wait": True},
        )  # fmt: skip
        await client.post("/api/v1/search?zqquery=zqstring", json={"query": "zqsearch"})
        await client.post("/api/v1/ask", json={"question": "zqquestion of a rule?"})
        await client.post("/api/v1/memories", json={"text": "I like zqmemory."})
        await client.get("/api/v1/documents", params={"after": "zqcursor"})
        await client.get("/zqpath/zqmore")
        await client.post("/api/v1/search", json={"zqfield": "zqx"})
        await client.post("/v1/chat/completions", json={"model": "zqmodel", "messages": [
            {"role": "user", "content": "zqchat?"}]})  # fmt: skip
        await client.get("/api/v1/me", headers={"User-Agent": "zqagent", "X-Zq": "zqheader"})
    async with served.client("vade_zqkey.zqsecret") as stranger:
        await stranger.get("/api/v1/me")
    logging.getLogger("other.library").warning("loaded %s", "zqforeign")
    told = log.getvalue() + served.service.metrics.text().decode()
    assert "zq" not in told
    assert key.partition(".")[2] not in told
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    access = [line for line in lines if line["event"] == "request"]
    assert {line["route"] for line in access} >= {"/api/v1/ask", "/api/v1/search", ""}
    assert all(line["request_id"] for line in access)
    assert any(line["event"] == "loaded %s" for line in lines)


async def test_a_line_cannot_be_forged(served: Served, log: io.StringIO) -> None:
    async with served.client() as client:
        await client.get("/health/live", headers={"X-Request-Id": 'x"}\n{"event":"forged'})
    logging.getLogger("vademecum.test").error("one\ntwo\r\nthree")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert "forged" not in log.getvalue()
    assert lines[-1]["event"] == "one two three"


async def test_handlers_do_not_pile_up(served: Served, log: io.StringIO) -> None:
    """SE-08: a thousand requests, and as many starts, leave one handler and one line each."""
    for _ in range(10):
        logs.configure("info")
    [handler] = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(log)
    before = len(log.getvalue().splitlines())
    async with served.client() as client:
        for _ in range(1000):
            await client.get("/health/live")
    lines = [json.loads(line) for line in log.getvalue().splitlines()[before:]]
    assert sum(line["event"] == "request" for line in lines) == 1000
    assert len(logging.getLogger().handlers) == 1
