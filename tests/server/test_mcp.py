"""Does a client of the Model Context Protocol find, read, remember and forget?"""

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from http_server import BASE, Served
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support import OPERATOR, source

RULES = "Cameras with a lens of at most 200 mm are allowed in Hall Norte."


@asynccontextmanager
async def connected(served: Served, key: str) -> AsyncIterator[Client]:
    transport = httpx2.ASGITransport(served.asgi, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as sent,
        Client(streamable_http_client(f"{BASE}/mcp", http_client=sent)) as client,
    ):
        yield client


def value(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    read: dict[str, Any] = json.loads(result.content[0].text)
    return read


@pytest.fixture
async def filled(served: Served) -> Served:
    private = source("vault.md", "The vault opens at 03:00.", access=["group:x"])
    await served.bench.app.ingest([source("rules.md", RULES), private], scope=OPERATOR)
    return served


async def test_the_five_tools(filled: Served) -> None:
    async with connected(filled, await filled.key()) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"search", "fetch", "remember", "recall", "forget"}
        found = value(await client.call_tool("search", {"query": "cameras in Hall Norte"}))
        assert found["results"][0]["text"] == RULES
        document = value(await client.call_tool("fetch", {"id": found["results"][0]["id"]}))
        assert (document["text"], document["url"]) == (RULES, "rules.md")
        done = value(await client.call_tool("remember", {"text": "I use a wheelchair."}))
        assert done["memory"]["state"] == "pending", "a model's word waits for the person's"
        memory_id = done["memory"]["id"]
        async with filled.client(await filled.key()) as person:
            assert (await person.post(f"/api/v1/memories/{memory_id}/confirm")).status_code == 200
        recalled = value(await client.call_tool("recall", {"text": "wheelchair places"}))
        assert [m["text"] for m in recalled["profile"] + recalled["memories"]] == [
            "I use a wheelchair."
        ]
        assert value(await client.call_tool("forget", {"id": memory_id}))["deleted"] is True
        gone = value(await client.call_tool("recall", {"text": "wheelchair places"}))
        assert gone["profile"] + gone["memories"] == []


async def test_what_may_not_be_seen_is_not_there(filled: Served) -> None:
    async with filled.client(await filled.key("user:boss", "admin")) as boss:
        listed = (await boss.get("/api/v1/documents")).json()["documents"]
    vault = next(d["id"] for d in listed if d["uri"] == "vault.md")
    async with connected(filled, await filled.key()) as client:
        found = value(await client.call_tool("search", {"query": "When does the vault open?"}))
        assert all("vault" not in result["text"] for result in found["results"])
        hidden = await client.call_tool("fetch", {"id": vault})
        unknown = str(uuid.uuid4())
        missing = await client.call_tool("fetch", {"id": unknown})
        assert hidden.is_error
        assert hidden.content[0].text.replace(vault, unknown) == missing.content[0].text
    async with connected(filled, await filled.key("user:x", "read", labels=("group:x",))) as client:
        assert value(await client.call_tool("fetch", {"id": vault}))["title"]
        refused = await client.call_tool("recall", {"text": "x"})
        assert refused.is_error
        assert "forbidden" in refused.content[0].text


async def test_what_is_wrong_is_one_line(filled: Served) -> None:
    async with connected(filled, await filled.key()) as client:
        answer = await client.call_tool("fetch", {"id": "x"})
        assert answer.is_error
        assert "is no id" in answer.content[0].text
        secret = await client.call_tool("remember", {"text": "my password is hunter2024x"})
        assert secret.is_error
        assert "secret-refused" in secret.content[0].text


async def test_without_a_key_there_is_no_door(filled: Served) -> None:
    async with filled.client() as client:
        answer = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert answer.status_code == 401
