"""Do retrievers of other frameworks find here what their key may see, over a running server?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from http_server import Served, listening
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from support import OPERATOR, source

from vademecum.errors import Forbidden, ServiceAway, Unauthenticated, UsageError
from vademecum.integrations.client import SearchClient
from vademecum.integrations.langchain import VademecumRetriever
from vademecum.integrations.llama_index import VademecumRetriever as LlamaRetriever

RULES = "Cameras with a lens of at most 200 mm are allowed in Hall Norte."
SAUNA = "The sauna of Hotel Serra opens at 18:00."
QUERY = "cameras lens allowed Hall Norte"


@asynccontextmanager
async def running(served: Served) -> AsyncIterator[str]:
    """The address of the server on a port of this machine."""
    await served.bench.app.ingest(
        [
            source("rules.md", RULES, collection="venues", metadata={"season": 2026}),
            source("hotel.md", SAUNA, collection="hotels"),
            source("vault.md", "The vault opens at 03:00.", access=["group:x"]),
        ],
        scope=OPERATOR,
    )
    async with listening(served) as address:
        yield f"{address}/"


async def test_a_retriever_of_langchain(served: Served) -> None:
    async with running(served) as url:
        key = await served.key("user:reader", "read")
        retriever = VademecumRetriever(url=url, key=key, k=3)
        assert key not in repr(retriever)
        found = await asyncio.to_thread(retriever.invoke, QUERY)
        same = await retriever.ainvoke(QUERY)
        assert [d.page_content for d in found] == [d.page_content for d in same]
        assert found[0].page_content == RULES
        about = found[0].metadata
        assert (about["uri"], about["metadata"]) == ("rules.md", {"season": 2026})
        assert (about["start"], about["end"]) == (0, len(RULES))
        assert found[0].id == about["chunk_id"]
        assert about["score"] == max(document.metadata["score"] for document in found)
        for narrowed in ({"collections": ["hotels"]}, {"where": {"season": 2025}}):
            other = retriever.model_copy(update=narrowed)
            assert RULES not in [d.page_content for d in await other.ainvoke(QUERY)]
        hidden = await retriever.ainvoke("When does the vault open?")
        assert not any("vault" in document.page_content for document in hidden)


async def test_a_retriever_of_llama_index(served: Served) -> None:
    async with running(served) as url:
        key = await served.key("user:reader", "read")
        retriever = LlamaRetriever(url, key, k=3)
        found = await asyncio.to_thread(retriever.retrieve, QUERY)
        same = await retriever.aretrieve(QUERY)
        assert [n.node.get_content() for n in found] == [n.node.get_content() for n in same]
        first = found[0].node
        assert first.get_content() == RULES
        assert (first.start_char_idx, first.end_char_idx) == (0, len(RULES))
        assert first.metadata["metadata"] == {"season": 2026}
        assert first.node_id == first.metadata["chunk_id"]
        assert first.ref_doc_id == first.metadata["document_id"]
        told = first.get_content(MetadataMode.LLM)
        assert "rules.md" in told
        assert first.node_id not in told, "an id says nothing to a model"
        scores = [node.score for node in found]
        assert scores == sorted(scores, reverse=True)
        elsewhere: list[dict[str, Any]] = [
            {"collections": ["hotels"]},
            {"where": {"season": 2025}},
        ]
        for narrowed in elsewhere:
            other = LlamaRetriever(url, key, **narrowed)
            assert RULES not in [n.node.get_content() for n in await other.aretrieve(QUERY)]
        hidden = await retriever.aretrieve("When does the vault open?")
        assert not any("vault" in node.node.get_content() for node in hidden)
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        answer = await engine.aquery(QUERY)
        assert RULES in str(answer), "the model that repeats its prompt was given the passage"
        with pytest.raises(Unauthenticated):
            await asyncio.to_thread(LlamaRetriever(url, "vade_wrong").retrieve, QUERY)


async def test_an_error_is_the_servers_own(served: Served) -> None:
    async with running(served) as url:
        reader = await served.key("user:reader", "read")
        wrong: list[tuple[dict[str, Any], type[Exception]]] = [
            ({"key": "vade_wrong"}, Unauthenticated),
            ({"key": await served.key("user:w", "write")}, Forbidden),
            ({"key": reader, "k": 10_000}, UsageError),
            ({"key": reader, "url": f"{url}nowhere"}, Exception),
            ({"key": reader, "url": "http://127.0.0.1:1"}, ServiceAway),
        ]
        for values, kind in wrong:
            client = SearchClient(**({"url": url} | values))
            with pytest.raises(kind) as here:
                await client.asearch(QUERY)
            with pytest.raises(kind) as there:
                await asyncio.to_thread(client.search, QUERY)
            assert str(here.value) == str(there.value)
            assert reader not in str(here.value)
