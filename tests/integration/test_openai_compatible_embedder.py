"""Does the remote embedder keep the Embedder port, and what does it say where it cannot?"""

import socket
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from vademecum.adapters.embedders.openai_compatible import RemoteEmbedder, open_embedder
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.errors import EmbeddingInvalid, InvalidSetting, ProviderAway, TextTooLong
from vademecum.testing.openai_server import OpenAIServer, Reply, Rows

CANARY = "sk-canary"


@asynccontextmanager
async def embedder_at(server: OpenAIServer, **settings: int) -> AsyncIterator[RemoteEmbedder]:
    found = await open_embedder(
        "openai:vectors", BpeCounter(), api_key=CANARY, base_url=server.base_url, **settings
    )
    yield found
    await found.aclose()


async def test_vectors_come_in_order_with_norm_one_in_batches() -> None:
    texts = [f"text number {number}" for number in range(200)]
    with OpenAIServer() as server:
        async with embedder_at(server) as embedder:
            vectors = await embedder.embed(texts, "passage")
            assert [len(r.body["input"]) for r in server.received] == [1, 96, 96, 8]
            single = await embedder.embed([texts[150]], "query")
    assert vectors.shape == (200, 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(single[0], vectors[150], atol=1e-6)


async def test_odd_texts_have_vectors_too() -> None:
    odd = ["\ud800 alone and \udfff", "before\x00after", "The mark <|endoftext|>", "a" * 20_000]
    with OpenAIServer() as server:
        async with embedder_at(server) as embedder:
            assert (await embedder.embed(odd, "query")).shape == (4, 64)


async def test_the_space_names_provider_model_and_learned_dimension() -> None:
    with OpenAIServer(dimension=96) as server:
        async with embedder_at(server) as embedder:
            space = embedder.space
            assert (space.provider, space.model, space.dimension) == ("openai", "vectors", 96)
            assert (space.query_prefix, space.passage_prefix) == ("", "")
            assert embedder.max_tokens == 8191
            assert len(server.received) == 1


async def test_nothing_is_asked_for_nothing_or_where_the_dimension_is_given() -> None:
    with OpenAIServer() as server:
        async with embedder_at(server, dimension=64) as embedder:
            assert (await embedder.embed([], "passage")).shape == (0, 64)
            with pytest.raises(ValueError, match="blank"):
                await embedder.embed(["a", " "], "passage")
        assert server.received == []


async def test_rows_are_put_back_into_the_order_of_their_index() -> None:
    with OpenAIServer() as plain, OpenAIServer(change_rows=lambda rows: rows[::-1]) as reversing:
        async with embedder_at(plain) as first, embedder_at(reversing) as second:
            texts = ["one", "two", "three"]
            np.testing.assert_array_equal(
                await first.embed(texts, "passage"), await second.embed(texts, "passage")
            )


def _spoiled(rows: Rows, **changes: object) -> Rows:
    return [{**rows[0], **changes}, *rows[1:]]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[0]],
        lambda rows: _spoiled(rows, index=1),
        lambda rows: _spoiled(rows, index=7),
        lambda rows: _spoiled(rows, embedding=[0.0] * 64),
        lambda rows: _spoiled(rows, embedding=[float("nan")] * 64),
        lambda rows: _spoiled(rows, embedding=[1.0] * 63),
        lambda rows: [{**row, "embedding": [1.0] * 32} for row in rows],
        lambda _: [],
    ],
)
async def test_vectors_that_are_not_whole_are_refused(change: object) -> None:
    with OpenAIServer(change_rows=change) as server:  # type: ignore[arg-type]
        async with embedder_at(server, dimension=64) as embedder:
            with pytest.raises(EmbeddingInvalid):
                await embedder.embed(["one", "two"], "passage")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=401, message=CANARY), "refused the key (status 401). Check OPENAI_API_KEY"),
        (Reply(status=404, message=CANARY), "does not know the model vectors"),
        (Reply(status=429, message=CANARY, retry_after="30"), "Wait 30 s"),
        (Reply(status=500, message=CANARY), "is failing (status 500)"),
    ],
)
async def test_a_failure_is_one_line_without_secrets(reply: Reply, said: str) -> None:
    with OpenAIServer([reply]) as server, pytest.raises(ProviderAway) as raised:
        async with embedder_at(server):
            pass
    assert said in str(raised.value)
    assert CANARY not in "".join(traceback.format_exception(raised.value)) + repr(raised.value)
    assert raised.value.__context__ is None


async def test_rows_that_are_none_are_not_readable() -> None:
    with OpenAIServer(change_rows=lambda _: [{"embedding": "x"}]) as server:
        async with embedder_at(server, dimension=64) as embedder:
            with pytest.raises(ProviderAway, match="cannot be read"):
                await embedder.embed(["one"], "passage")


async def test_a_passing_failure_is_tried_once_more() -> None:
    with OpenAIServer([Reply(status=503), Reply()]) as server:
        async with embedder_at(server) as embedder:
            assert embedder.space.dimension == 64
        assert len(server.received) == 2


async def test_a_service_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ProviderAway, match="cannot be reached"):
            await open_embedder("ollama:vectors", BpeCounter(), base_url=address)


async def test_a_long_query_is_cut_and_a_long_passage_refused() -> None:
    with OpenAIServer() as server:
        async with embedder_at(server, dimension=64, max_tokens=20) as embedder:
            long = "word " * 100
            await embedder.embed([long], "query")
            sent = server.received[-1].body["input"][0]
            assert long.startswith(sent)
            assert 15 <= BpeCounter().count(sent) <= 20
            with pytest.raises(TextTooLong):
                await embedder.embed([long], "passage")


@pytest.mark.parametrize("dimension", [0, 4001])
async def test_a_dimension_that_cannot_be_stored_is_refused(dimension: int) -> None:
    with OpenAIServer() as server, pytest.raises(InvalidSetting, match="dimensions"):
        async with embedder_at(server, dimension=dimension):
            pass


async def test_a_provider_without_embeddings_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="no embeddings"):
        await open_embedder("anthropic:x", BpeCounter(), api_key="sk-x")
