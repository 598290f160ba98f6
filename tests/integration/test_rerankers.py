"""Does each reranker keep its port, over a real HTTP connection and a real graph, and what does it
say where it cannot?"""

import asyncio
import socket
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cross_encoder import make_cross_encoder

from vademecum.adapters.rerankers.cross_encoder import CrossEncoder
from vademecum.adapters.rerankers.http import (
    HttpReranker,
    make_http_reranker,
    read_scores,
    split_reranker,
)
from vademecum.errors import (
    InvalidSetting,
    ModelFileDamaged,
    ModelFileMissing,
    ModelUnusable,
    ProviderAway,
)
from vademecum.testing.conformance_reranker import (
    ABOUT,
    OTHER,
    QUERY,
    TEXTS,
    RerankerConformance,
)
from vademecum.testing.rerankers import RerankReply, RerankServer, ScriptedReranker

CANARY = "sk-canary"


@asynccontextmanager
async def reranker_at(
    server: RerankServer, name: str = "cohere:rerank-x", **settings: float
) -> AsyncIterator[HttpReranker]:
    found = make_http_reranker(name, api_key=CANARY, base_url=server.base_url, **settings)
    yield found
    await found.aclose()


class TestScripted(RerankerConformance):
    @pytest.fixture
    def reranker(self) -> ScriptedReranker:
        return ScriptedReranker()


class TestHttp(RerankerConformance):
    @pytest.fixture
    async def reranker(self) -> AsyncIterator[HttpReranker]:
        with RerankServer() as server:
            async with reranker_at(server) as found:
                yield found


class TestCrossEncoder(RerankerConformance):
    @pytest.fixture
    async def reranker(self, tmp_path: Path) -> AsyncIterator[CrossEncoder]:
        found = CrossEncoder.load(make_cross_encoder(tmp_path / "graph", texts=(QUERY, *TEXTS)))
        yield found
        await found.aclose()


# The remote side


@pytest.mark.parametrize(
    ("name", "model", "extra"),
    [
        ("cohere:rerank-x", "rerank-x", {}),
        ("jina:jina-reranker-x", "jina-reranker-x", {"return_documents": False}),
    ],
)
async def test_a_request_has_the_shape_of_the_service(
    name: str, model: str, extra: dict[str, Any]
) -> None:
    with RerankServer() as server:
        async with reranker_at(server, name) as reranker:
            assert reranker.name == name
            scores = await reranker.scores(QUERY, [OTHER, " ", ABOUT])
        [received] = server.received
    # `ticket`, `office`, `is` and `the` are shared; `in a cool room` shares no word
    assert scores == [0.0, None, 4.0]
    assert received.path == "/v1/rerank"
    assert received.headers["authorization"] == f"Bearer {CANARY}"
    assert received.body == {
        "model": model, "query": QUERY, "documents": [OTHER, ABOUT], "top_n": 2,
    } | extra  # fmt: skip


async def test_a_service_of_ones_own_needs_no_key_and_no_model() -> None:
    with RerankServer() as server:
        plain = make_http_reranker(server.base_url)
        named = make_http_reranker(f"http:{server.base_url}/rerank#own-model")
        assert await plain.scores(QUERY, [ABOUT]) == await named.scores(QUERY, [ABOUT])
        await plain.aclose()
        await named.aclose()
        first, second = server.received
    assert (first.path, second.path) == ("/v1/rerank", "/v1/rerank")
    assert "authorization" not in first.headers
    assert "model" not in first.body
    assert second.body["model"] == "own-model"
    assert plain.name == f"{server.base_url}/rerank"
    assert named.name == f"{server.base_url}/rerank#own-model"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (RerankReply(status=401), "refused the key (status 401). Check COHERE_API_KEY"),
        (RerankReply(status=404), "does not know the model rerank-x"),
        (RerankReply(status=429, retry_after="30"), "Wait 30 s"),
        (RerankReply(status=500), "is failing (status 500)"),
        (RerankReply(status=413), "finds the text too long"),
        (RerankReply(raw=b"<html>"), "sent a reply that cannot be read"),
        (RerankReply(raw=b"x" * 5_000_000), "sent a reply that cannot be read"),
    ],
)
async def test_a_failure_is_one_line_without_secrets(reply: RerankReply, said: str) -> None:
    with RerankServer([reply]) as server:
        async with reranker_at(server) as reranker:
            with pytest.raises(ProviderAway) as raised:
                await reranker.scores(QUERY, [ABOUT])
    assert said in str(raised.value)
    whole = "".join(traceback.format_exception(raised.value)) + repr(raised.value)
    assert CANARY not in whole
    assert ABOUT not in whole


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found[:-1],
        lambda found: [*found, found[0]],
        lambda found: [{**one, "index": 0} for one in found],
        lambda found: [{**one, "index": one["index"] + 1} for one in found],
        lambda found: [{**one, "relevance_score": [0.1, 0.9]} for one in found],
        lambda found: [{**one, "relevance_score": "0.9"} for one in found],
        lambda found: [{**one, "relevance_score": float("nan")} for one in found],
        lambda _: [{"index": 0}, {"index": 1}],
        lambda _: [1, 2],
    ],
)
async def test_scores_that_are_not_whole_are_refused(
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
) -> None:
    with RerankServer([RerankReply(change=change)]) as server:
        async with reranker_at(server) as reranker:
            with pytest.raises(ProviderAway, match="cannot be read"):
                await reranker.scores(QUERY, [ABOUT, OTHER])


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b'{"results": 3}', b'{"results": [[0, 1.0]]}', b"[" * 100_000,
     b'{"results": [{"index": 0, "relevance_score": 1e999}]}',
     b'{"results": [{"index": true, "relevance_score": 1.0}]}'],
)  # fmt: skip
def test_what_is_no_reply_has_no_scores(content: bytes) -> None:
    assert read_scores(content, 1) is None


def test_a_reply_is_read_by_the_numbers_of_its_texts() -> None:
    content = (
        b'{"results": [{"index": 1, "relevance_score": 2}, {"index": 0, "relevance_score": -1.5}]}'
    )
    assert read_scores(content, 2) == [-1.5, 2.0]


async def test_a_busy_service_is_asked_once_more_after_the_wait_it_wishes() -> None:
    with RerankServer([RerankReply(status=429, retry_after="0.3"), RerankReply()]) as server:
        async with reranker_at(server) as reranker:
            began = time.monotonic()
            assert await reranker.scores(QUERY, [ABOUT]) == [4.0]
            assert time.monotonic() - began >= 0.3
        assert len(server.received) == 2


async def test_a_refusal_and_a_long_wait_are_not_tried_again() -> None:
    replies = [RerankReply(status=429, retry_after="30"), RerankReply(status=401)]
    with RerankServer(replies) as server:
        async with reranker_at(server) as reranker:
            for _ in replies:
                with pytest.raises(ProviderAway):
                    await reranker.scores(QUERY, [ABOUT])
        assert len(server.received) == 2


async def test_a_silent_service_is_not_waited_for() -> None:
    with RerankServer([RerankReply(stall=2.0)]) as server:
        async with reranker_at(server, idle_seconds=0.2) as reranker:
            with pytest.raises(ProviderAway, match=r"was silent for 0\.2 s"):
                await reranker.scores(QUERY, [ABOUT])


async def test_a_service_that_is_not_there_is_named_without_its_path() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        reranker = make_http_reranker(f"http://127.0.0.1:{free.getsockname()[1]}/secret-path")
        with pytest.raises(ProviderAway, match="cannot be reached") as raised:
            await reranker.scores(QUERY, [ABOUT])
        await reranker.aclose()
    assert "secret-path" not in str(raised.value)


@pytest.mark.parametrize("name", ["cohere:x", "jina:x"])
def test_a_provider_needs_a_key_or_an_address(name: str) -> None:
    with pytest.raises(InvalidSetting, match=r"needs a key.*_API_KEY \(providers\."):
        make_http_reranker(name)


@pytest.mark.parametrize(
    "name",
    ["voyage:x", "cohere:", "http:localhost", "http://", "http://user:pw@host/v1",
     "http://host/v1?key=1", "http://host:99999/"],
)  # fmt: skip
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        make_http_reranker(name, api_key=CANARY)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("cohere:rerank-v3.5", ("cohere", "rerank-v3.5")),
        ("http://h/v1#m", ("http", "http://h/v1#m")),
        ("https://h", ("http", "https://h")),
        ("http:https://h", ("http", "https://h")),
        ("file:/models/x", ("file", "/models/x")),
        ("local:maxsim", ("", "")),
        ("", ("", "")),
    ],
)
def test_a_name_says_what_it_is(name: str, split: tuple[str, str]) -> None:
    assert split_reranker(name) == split


# The file


async def test_the_graph_reads_question_and_text_together(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, texts=(QUERY, *TEXTS))
    reranker = CrossEncoder.load(folder / "model.onnx")
    # `the` twice in the text, `ticket`, `office`, `is`; [SEP] ends both texts
    assert await reranker.scores(QUERY, [ABOUT, OTHER]) == [6.0, 1.0]
    await reranker.aclose()


async def test_another_graph_has_another_name(tmp_path: Path) -> None:
    one = make_cross_encoder(tmp_path / "one", texts=TEXTS)
    first = CrossEncoder.load(one).name
    make_cross_encoder(one, texts=TEXTS, value=1.0)
    second = CrossEncoder.load(one).name
    assert first.startswith(f"file:{one}@")
    assert first != second


async def test_no_text_spells_a_special_token(tmp_path: Path) -> None:
    reranker = CrossEncoder.load(make_cross_encoder(tmp_path, texts=(*TEXTS, "[SEP]")))
    [score] = await reranker.scores("No", ["[SEP] [SEP] [SEP]"])
    assert score == 1.0, "only the mark that ends both texts is shared"
    await reranker.aclose()


async def test_a_long_pair_is_cut_and_not_the_short_side(tmp_path: Path) -> None:
    reranker = CrossEncoder.load(make_cross_encoder(tmp_path, texts=("gate word",)))
    # of 128 tokens, as its file says, 3 are marks and 1 is the question: 124 are of the text
    assert await reranker.scores("word", ["word " * 1_000]) == [125.0]
    assert await reranker.scores("word " * 1_000, ["word"]) == [125.0]
    await reranker.aclose()


async def test_who_stops_waiting_stops_the_work(tmp_path: Path) -> None:
    reranker = CrossEncoder.load(make_cross_encoder(tmp_path, texts=TEXTS))
    texts = [ABOUT] * 200_000
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reranker.scores(QUERY, texts), 0.2)
    began = time.monotonic()
    await reranker.aclose()
    assert time.monotonic() - began < 1.0


async def test_a_graph_with_two_numbers_a_pair_is_refused_at_start(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, texts=TEXTS, outputs=2)
    with pytest.raises(ModelUnusable, match="gives 2 numbers a pair, not one score"):
        CrossEncoder.load(folder)


async def test_a_graph_that_gives_no_number_is_refused_at_start(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, texts=TEXTS, value=float("inf"))
    with pytest.raises(ModelUnusable, match="no finite number"):
        CrossEncoder.load(folder)


async def test_a_graph_that_wants_more_is_refused_at_start(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, texts=TEXTS, extra_input="pixel_values")
    with pytest.raises(ModelUnusable, match="wants the input pixel_values"):
        CrossEncoder.load(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path, name: str) -> None:
    folder = make_cross_encoder(tmp_path, texts=TEXTS)
    (folder / name).write_bytes(b"not such a file")
    with pytest.raises(ModelFileDamaged, match=name):
        CrossEncoder.load(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFileMissing, match=name):
        CrossEncoder.load(folder)
