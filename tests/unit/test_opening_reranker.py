"""Is the reranker that the settings name opened with the key and the address that are meant for it?"""

from pathlib import Path
from typing import Any

import pytest

from vademecum.adapters.rerankers.http import HttpReranker
from vademecum.errors import InvalidSetting, ModelFileMissing
from vademecum.opening import open_reranker, search_rules
from vademecum.settings import Settings, load
from vademecum.testing.rerankers import RerankServer, ScriptedReranker


def settings(tmp_path: Path, **flags: Any) -> Settings:
    dotted = {key.replace("__", "."): value for key, value in flags.items()}
    environment = {
        "VADE_HOME": str(tmp_path),
        "OPENAI_API_KEY": "k-openai",
        "COHERE_API_KEY": "k-cohere",
        "JINA_API_KEY": "k-jina",
        "VADE_PROVIDERS__RERANKER_API_KEY": "k-own",
    }
    return load(config=None, flags=dotted, environment=environment).settings


@pytest.mark.parametrize("name", ["", "local:maxsim"])
def test_nothing_is_opened_by_default(tmp_path: Path, name: str) -> None:
    own = settings(tmp_path, models__reranker=name)
    assert open_reranker(own) is None
    ranking = search_rules(own).ranking
    assert (ranking.rerank, ranking.reranker) == (bool(name), "local:maxsim")
    assert (ranking.per_document, ranking.rerank_first) == (0, 10)


@pytest.mark.parametrize(
    ("name", "address", "key"),
    [
        ("cohere:x", "providers__cohere_base_url", "k-cohere"),
        ("jina:x", "providers__jina_base_url", "k-jina"),
        ("", "", "k-own"),
    ],
)
async def test_each_service_gets_its_own_key(
    tmp_path: Path, name: str, address: str, key: str
) -> None:
    with RerankServer() as server:
        flags = {address: server.base_url} if address else {}
        own = settings(tmp_path, models__reranker=name or server.base_url, **flags)
        reranker = open_reranker(own)
        assert isinstance(reranker, HttpReranker)
        await reranker.scores("a", ["a"])
        await reranker.aclose()
        assert [one.headers["authorization"] for one in server.received] == [f"Bearer {key}"]


def test_a_key_that_is_missing_is_said_at_start(tmp_path: Path) -> None:
    own = settings(tmp_path, models__reranker="cohere:x", providers__cohere_api_key="")
    with pytest.raises(InvalidSetting, match=r"cohere needs a key. Set COHERE_API_KEY"):
        open_reranker(own)


def test_a_file_that_is_missing_is_said_at_start(tmp_path: Path) -> None:
    own = settings(tmp_path, models__reranker=f"file:{tmp_path / 'none.onnx'}")
    with pytest.raises(ModelFileMissing, match=r"none\.onnx"):
        open_reranker(own)


def test_the_rules_of_a_search_name_the_reranker(tmp_path: Path) -> None:
    own = settings(
        tmp_path,
        models__reranker="cohere:x",
        search__rerank_first=20,
        search__rerank_lead=2.5,
        search__per_document=3,
    )
    ranking = search_rules(own, ScriptedReranker(name="file:/m@abc")).ranking
    assert ranking.rerank
    assert ranking.named["models.reranker"] == "file:/m@abc"
    assert (ranking.rerank_first, ranking.rerank_lead, ranking.per_document) == (20, 2.5, 3)
