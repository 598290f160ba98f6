"""Do the clients that others made work against this server, unchanged?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import cohere
import httpx
import numpy as np
import openai
import pytest
from http_server import BASE, Served, listening, serve_bench
from support import OPERATOR, make_bench, source

from vademecum.errors import ProviderAway
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ModelFault, ScriptedModel

RULES = "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
SAUNA = "The sauna of Hotel Serra opens at 18:00."


@asynccontextmanager
async def client_of(served: Served, key: str) -> AsyncIterator[openai.AsyncOpenAI]:
    transport = httpx.ASGITransport(served.asgi, raise_app_exceptions=False)
    async with (
        httpx.AsyncClient(transport=transport) as sent,
        openai.AsyncOpenAI(
            api_key=key, base_url=f"{BASE}/v1", http_client=sent, max_retries=0
        ) as client,
    ):
        yield client


@pytest.fixture
async def filled(served: Served) -> Served:
    sources = [
        source("rules.md", RULES, collection="venues"),
        source("hotel.md", SAUNA, collection="hotels"),
        source("secret.md", "The vault opens at 03:00.", collection="vaults", access=["group:x"]),
    ]
    await served.bench.app.ingest(sources, scope=OPERATOR)
    return served


async def test_the_openai_client_gets_an_answer_with_its_citations(filled: Served) -> None:
    async with client_of(filled, await filled.key()) as client:
        answer = await client.chat.completions.create(
            model="venues",
            messages=[
                {"role": "system", "content": "You are a pirate."},
                {"role": "user", "content": "Which cameras are allowed in Hall Norte?"},
            ],
        )
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert choice.message.content == f"{RULES} [1]"
    assert answer.model_extra is not None
    assert answer.model_extra["citations"][0]["uri"] == "rules.md"
    assert answer.model_extra["abstained"] is False


async def test_the_openai_client_gets_the_same_in_pieces(filled: Served) -> None:
    async with client_of(filled, await filled.key()) as client:
        stream = await client.chat.completions.create(
            model="venues",
            messages=[{"role": "user", "content": "Which cameras are allowed in Hall Norte?"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == f"{RULES} [1]"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-3].model_extra is not None
    assert chunks[-3].model_extra["citations"][0]["uri"] == "rules.md"
    assert (chunks[-1].choices, chunks[-1].usage is not None) == ([], True)
    assert len({chunk.id for chunk in chunks}) == 1


async def test_a_collection_is_a_model_and_limits_what_is_searched(filled: Served) -> None:
    async with client_of(filled, await filled.key()) as client:
        models = [model.id async for model in await client.models.list()]
        assert models == ["vademecum", "hotels", "venues"], "nothing of what it may not see"
        question = [{"role": "user", "content": "When does the sauna of Hotel Serra open?"}]
        for name, known in (("hotels", True), ("vademecum", True), ("venues", False)):
            answer = await client.chat.completions.create(model=name, messages=question)  # type: ignore[call-overload]
            assert ("18:00" in answer.choices[0].message.content) is known, name


async def test_what_was_said_before_is_in_the_messages(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    model = ScriptedModel([[f"{SAUNA} [1]"]])
    bench = await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)
    await bench.app.ingest([source("hotel.md", SAUNA)], scope=OPERATOR)
    served = serve_bench(bench, tmp_path)
    async with client_of(served, await served.key()) as client:
        await client.chat.completions.create(
            model="vademecum",
            messages=[
                {"role": "user", "content": "Does Hotel Serra have a sauna?"},
                {"role": "assistant", "content": "Yes, it has a sauna on the roof."},
                {"role": "user", "content": "When does it open?"},
            ],
        )
    assert any("on the roof" in prompt.user for prompt in model.prompts)
    async with served.client(await served.key()) as reader:
        assert (await reader.get("/api/v1/conversations")).json()["conversations"] == []


async def test_errors_come_in_the_clients_own_kinds(filled: Served) -> None:
    messages = [{"role": "user", "content": "x"}]
    async with client_of(filled, "vade_wrong") as client:
        with pytest.raises(openai.AuthenticationError) as refused:
            await client.models.list()
        assert refused.value.code == "unauthenticated"
    async with client_of(filled, await filled.key("user:w", "write")) as client:
        with pytest.raises(openai.PermissionDeniedError):
            await client.models.list()
    async with client_of(filled, await filled.key()) as client:
        for wrong in (
            {"messages": [{"role": "assistant", "content": "x"}]},
            {"messages": messages, "n": 2},
            {"messages": []},
        ):
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="venues", **wrong)  # type: ignore[call-overload]


async def test_an_error_while_it_streams_ends_the_stream(
    pool: Pool, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = ModelFault(after=0, error=ProviderAway("the provider does not answer"))
    model = ScriptedModel([["x"]], faults=dict.fromkeys(range(1, 9), away))
    bench = await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)
    await bench.app.ingest([source("rules.md", RULES)], scope=OPERATOR)
    served = serve_bench(bench, tmp_path)
    async with served.client(await served.key()) as client:
        answer = await client.post(
            "/v1/chat/completions",
            json={
                "model": "vademecum",
                "stream": True,
                "messages": [{"role": "user", "content": "Which cameras are allowed?"}],
            },
        )
    assert answer.text.count("data: [DONE]") == 1, "quotations stand in, and there is an end"
    assert "200 mm" in answer.text


async def test_vectors_are_those_that_the_server_searches_by(filled: Served) -> None:
    async with client_of(filled, await filled.key()) as client:
        packed = await client.embeddings.create(input=[RULES, SAUNA], model="any")
        plain = await client.embeddings.create(input=RULES, model="any", encoding_format="float")
        asked = await client.embeddings.create(
            input=RULES, model="any", extra_body={"input_type": "query"}
        )
        with pytest.raises(openai.BadRequestError):
            await client.embeddings.create(input="x", model="any", dimensions=7)
    own = await filled.bench.embedder.embed([RULES], "passage")
    assert np.allclose(packed.data[0].embedding, own[0], atol=1e-6)
    assert np.allclose(plain.data[0].embedding, own[0], atol=1e-6)
    query = await filled.bench.embedder.embed([RULES], "query")
    assert np.allclose(asked.data[0].embedding, query[0], atol=1e-6)
    assert [item.index for item in packed.data] == [0, 1]


async def test_texts_are_reordered(filled: Served) -> None:
    body = {
        "query": "sauna of Hotel Serra",
        "documents": [RULES, {"text": SAUNA}, "", "word " * 5000],
    }
    async with filled.client(await filled.key()) as client:
        answer = (await client.post("/v1/rerank", json=body)).json()
        top = (await client.post("/v1/rerank", json=body | {"top_n": 1})).json()
    order = [result["index"] for result in answer["results"]]
    assert order[0] == 1
    assert sorted(order) == [0, 1, 2, 3]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(top["results"]) == 1


async def test_texts_come_back_as_each_service_has_it(filled: Served) -> None:
    """Jina sends them unless told not to, Cohere's second API has no such key and never does."""
    body = {"query": "sauna of Hotel Serra", "documents": [RULES, SAUNA], "model": "rerank-x"}
    async with filled.client(await filled.key()) as client:
        for path, said, texts in (
            ("/v1/rerank", {}, True),
            ("/v1/rerank", {"return_documents": True}, True),
            ("/v1/rerank", {"return_documents": False}, False),
            ("/v2/rerank", {"max_tokens_per_doc": 4096, "priority": 0}, False),
            ("/v2/rerank", {"return_documents": True}, False),
        ):
            answer = (await client.post(path, json=body | said)).json()
            first = answer["results"][0]
            assert first["index"] == 1, path
            expected = {"text": SAUNA} if texts else None
            assert first.get("document") == expected, (path, said)
            assert (answer["model"], answer["object"]) == ("rerank-x", "list")
            assert answer["usage"]["total_tokens"] > 0
            assert answer["id"]


async def test_the_cohere_client_orders_texts(filled: Served) -> None:
    """With the client that Cohere ships; the shape is pinned above."""
    texts = [RULES, SAUNA]
    key = await filled.key()
    async with (
        listening(filled) as address,
        cohere.AsyncClientV2(key, base_url=address) as newest,
        cohere.AsyncClient(key, base_url=address) as first,
    ):
        answer = await newest.rerank(model="x", query="sauna of Hotel Serra", documents=texts)
        assert [result.index for result in answer.results] == [1, 0]
        assert 0 <= answer.results[1].relevance_score <= answer.results[0].relevance_score <= 1
        older = await first.rerank(query="sauna of Hotel Serra", documents=texts, top_n=1)
        assert [(one.index, one.document.text) for one in older.results] == [(1, SAUNA)]


async def test_dify_finds_records(filled: Served) -> None:
    await filled.bench.app.ingest(
        [source("a.md", "Hall Sul has lockers.", collection="venues", metadata={"floor": 2})],
        scope=OPERATOR,
    )
    body = {
        "knowledge_id": "venues",
        "query": "Which hall has lockers?",
        "retrieval_setting": {"top_k": 3, "score_threshold": 0.0},
    }
    condition = {"name": ["floor"], "comparison_operator": "≥", "value": 2}
    async with filled.client(await filled.key()) as client:
        records = (await client.post("/retrieval", json=body)).json()["records"]
        assert records[0]["content"] == "Hall Sul has lockers."
        assert records[0]["metadata"]["uri"] == "a.md"
        assert all(0 <= record["score"] <= 1 for record in records)
        narrowed = {"metadata_condition": {"conditions": [condition]}}
        found = (await client.post("/retrieval", json=body | narrowed)).json()["records"]
        assert [record["metadata"]["uri"] for record in found] == ["a.md"]
        unknown = {"metadata_condition": {"conditions": [condition | {"comparison_operator": "~"}]}}
        assert (await client.post("/retrieval", json=body | unknown)).status_code == 400
        high = {"retrieval_setting": {"top_k": 3, "score_threshold": 1.1}}
        assert (await client.post("/retrieval", json=body | high)).json()["records"] == []


async def test_nobody_becomes_another_by_a_word_in_the_body(filled: Served) -> None:
    """No principal, tenant or label is ever read from what the client says."""
    async with filled.client(await filled.key()) as client:
        answer = await client.post(
            "/v1/chat/completions",
            json={
                "model": "vaults",
                "user": "user:boss",
                "labels": ["group:x"],
                "messages": [{"role": "user", "content": "When does the vault open?"}],
            },
            headers={"X-Principal": "user:boss", "X-Tenant": "other", "X-Labels": "group:x"},
        )
    assert answer.status_code == 200
    assert "03:00" not in answer.text
    assert answer.json()["abstained"] is True
