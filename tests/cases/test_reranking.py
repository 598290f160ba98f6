"""CASES, section 6: does a reranker that is asked badly, or answers badly, cost anybody a search?"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cross_encoder import make_cross_encoder
from http_server import Served, serve_bench
from support import OPERATOR, Bench, make_bench, source

from vademecum import opening
from vademecum.adapters.rerankers.cross_encoder import CrossEncoder
from vademecum.adapters.rerankers.http import make_http_reranker
from vademecum.errors import ModelUnusable, ProviderAway
from vademecum.model.passage import Found
from vademecum.opening import DEFAULT_ANSWERS, DEFAULT_SEARCH, SearchRules
from vademecum.ports.reranker import Reranker
from vademecum.postgres.pool import Pool
from vademecum.settings import Settings
from vademecum.settings.tree import ModelsSettings
from vademecum.testing.rerankers import (
    RerankFault,
    RerankReply,
    RerankServer,
    ScriptedReranker,
)

TEXTS = {
    "doors": "The doors of the hall open two hours before the concert.",
    "shop": "The shop beside the doors of the hall sells scarves.",
    "bags": "Bags larger than a sheet of paper stay in the cloakroom.",
}
QUESTION = "When do the doors of the hall open?"
GOOD, BAD = "Doors open at nine.", "Bread rises overnight."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def bench_with(
    reranker: Reranker | None,
    pool: Pool,
    url: str,
    folder: Path,
    search: SearchRules = DEFAULT_SEARCH,
) -> Bench:
    """A system with three documents."""
    ranking = search.ranking
    if reranker is not None:
        ranking = replace(ranking, reranker=reranker.name)
    bench = await make_bench(
        pool, url, folder, tokens=60, reranker=reranker, search=replace(search, ranking=ranking)
    )
    await bench.ingest(*(source(uri, text) for uri, text in TEXTS.items()))
    return bench


def uris(found: Found) -> list[str]:
    return [passage.source.uri for passage in found.retrieval.passages]


async def reordered(bench: Bench, tmp_path: Path, **body: Any) -> Any:
    """The reply of our own endpoint in the shape of Cohere."""
    served: Served = serve_bench(bench, tmp_path)
    async with served.client(await served.key()) as client:
        return await client.post("/v1/rerank", json={"query": "when do doors open"} | body)


async def test_rr_01_an_empty_candidate_costs_only_itself(
    pool: Pool, database_url: str, folder: Path
) -> None:
    """RR-01, over a service that refuses the whole request for one empty text, over a file, and at
    our own endpoint."""
    with RerankServer() as server:
        remote = make_http_reranker("cohere:x", api_key="k", base_url=server.base_url)
        found = await remote.scores("when do doors open", [GOOD, "", BAD])
        await remote.aclose()
        assert server.received[0].body["documents"] == [GOOD, BAD]
    assert found == [2.0, None, 0.0]
    local = CrossEncoder.load(make_cross_encoder(folder / "graph", texts=(GOOD, BAD)))
    near, nothing, far = await local.scores("doors open", [GOOD, "", BAD])
    await local.aclose()
    assert (near, nothing, far) == (3.0, None, 1.0)

    bench = await make_bench(pool, database_url, folder)
    answer = (await reordered(bench, folder, documents=[BAD, "", GOOD])).json()
    scores = {one["index"]: one["relevance_score"] for one in answer["results"]}
    assert scores[1] == 0.0
    assert scores[2] > scores[0] >= 0.0


async def test_rr_01_falling_back_is_said_in_the_trace(
    pool: Pool, database_url: str, folder: Path
) -> None:
    """RR-01: quietly falling back was the other half of the fault."""
    reranker = ScriptedReranker(faults={1: RerankFault(error=ProviderAway("refused"))})
    bench = await bench_with(reranker, pool, database_url, folder)
    found = await bench.app.search(QUESTION, scope=OPERATOR)
    trace = await bench.app.catalogue.records.trace(OPERATOR, found.trace_id)
    assert trace.record["degraded"] == ["reranker: provider-away"]


async def test_rr_02_no_candidates_give_none(pool: Pool, database_url: str, folder: Path) -> None:
    """RR-02"""
    with RerankServer() as server:
        remote = make_http_reranker(server.base_url)
        assert await remote.scores("doors", []) == []
        assert await remote.scores("doors", [" "]) == [None]
        await remote.aclose()
        assert server.received == []
    local = CrossEncoder.load(make_cross_encoder(folder / "graph", texts=(GOOD,)))
    assert await local.scores("doors", []) == []
    await local.aclose()

    reranker = ScriptedReranker()
    empty = await make_bench(pool, database_url, folder, reranker=reranker)
    found = await empty.app.search(QUESTION, scope=OPERATOR)
    assert (found.retrieval.passages, found.retrieval.degraded) == ((), ())
    assert reranker.calls == []
    response = await reordered(empty, folder, documents=[])
    assert (response.status_code, response.json()["results"]) == (200, [])


async def test_rr_03_each_score_stays_with_its_text(
    pool: Pool, database_url: str, folder: Path
) -> None:
    """RR-03: the service sends them sorted, the passages are sorted again."""
    given = {"doors": 0.1, "shop": 0.9, "bags": 0.5}
    scores = {TEXTS[uri]: score for uri, score in given.items()}

    def score(_query: str, text: str) -> float:
        return next(value for own, value in scores.items() if own in text)

    with RerankServer(score=score) as server:
        remote = make_http_reranker("jina:x", api_key="k", base_url=server.base_url)
        assert await remote.scores("q", list(scores)) == [0.1, 0.9, 0.5]
        bench = await bench_with(remote, pool, database_url, folder)
        found = await bench.app.search(QUESTION, scope=OPERATOR)
        await remote.aclose()
    passages = found.retrieval.passages
    assert {p.source.uri: p.signals.reranked for p in passages} == given
    finals = [p.signals.final for p in passages]
    assert finals == sorted(finals, reverse=True)
    # z of doors is at most 1.42 before and -1.22 after, of the shop at least -0.71 and 1.22
    assert uris(found)[0] == "shop"


@pytest.mark.parametrize(("top_n", "kept"), [(-1, None), (0, 0), (None, 3), (99, 3), (2, 2)])
async def test_rr_04_top_n(
    pool: Pool, database_url: str, folder: Path, top_n: int | None, kept: int | None
) -> None:
    """RR-04: an error, none, all, all."""
    bench = await make_bench(pool, database_url, folder)
    response = await reordered(bench, folder, documents=[GOOD, BAD, "Nine"], top_n=top_n)
    if kept is None:
        assert response.status_code == 400
        assert "top_n" in response.text
    else:
        assert response.status_code == 200
        assert len(response.json()["results"]) == kept


async def test_rr_05_a_model_with_two_outputs_is_refused_at_start(folder: Path) -> None:
    """RR-05"""
    two = make_cross_encoder(folder / "two", texts=(GOOD,), outputs=2)
    settings = Settings(models=ModelsSettings(reranker=f"file:{two}"))
    with pytest.raises(ModelUnusable, match="gives 2 numbers a pair, not one score"):
        opening.open_reranker(settings)


async def test_rr_05_a_service_that_gives_pairs_changes_nothing(
    pool: Pool, database_url: str, folder: Path
) -> None:
    """RR-05: what a service gives is known only when it is asked."""
    paired = RerankReply(
        change=lambda found: [{**one, "relevance_score": [0.2, 0.8]} for one in found]
    )
    with RerankServer([paired]) as server:
        remote = make_http_reranker("jina:x", api_key="k", base_url=server.base_url)
        bench = await bench_with(remote, pool, database_url, folder)
        found = await bench.app.search(QUESTION, scope=OPERATOR)
        await remote.aclose()
    assert uris(found)[0] == "doors"
    assert {p.signals.reranked for p in found.retrieval.passages} == {None}
    assert found.retrieval.degraded == ("reranker: provider-away",)


async def test_rr_06_a_slow_reranker_is_not_waited_for(
    pool: Pool, database_url: str, folder: Path
) -> None:
    """RR-06, in a search and in an answer, over a service that is silent."""
    before = await bench_with(None, pool, database_url, folder)
    expected = uris(await before.app.search(QUESTION, scope=OPERATOR))
    seconds = 1.0
    quick = replace(DEFAULT_SEARCH, ranking=replace(DEFAULT_SEARCH.ranking, leg_seconds=seconds))
    with RerankServer([RerankReply(stall=6.0)]) as server:
        remote = make_http_reranker("cohere:x", api_key="k", base_url=server.base_url)
        bench = await bench_with(remote, pool, database_url, folder, quick)
        found = await bench.app.search(QUESTION, scope=OPERATOR)
        timings = found.retrieval.timings_ms
        assert uris(found) == expected
        assert found.retrieval.degraded == ("reranker: DEADLINE",)
        assert 1_000 * seconds <= timings["reranker"] < 1_500 * seconds
        began = time.monotonic()
        answer = await bench.app.ask(QUESTION, scope=OPERATOR)
        assert time.monotonic() - began < 4.0
        await remote.aclose()
    assert not answer.abstained
    assert "reranker: DEADLINE" in answer.degraded


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (RerankFault(error=ProviderAway("down")), "reranker: provider-away"),
        (RerankFault(error=ModelUnusable("broken")), "reranker: model-unusable"),
        (RerankFault(nan=0), "reranker: model-unusable"),
        (RerankFault(drop=1), "reranker: model-unusable"),
    ],
)
async def test_rr_06_a_reranker_that_fails_keeps_the_order(
    pool: Pool, database_url: str, folder: Path, fault: RerankFault, said: str
) -> None:
    """RR-06"""
    before = await bench_with(None, pool, database_url, folder)
    expected = await before.app.search(QUESTION, scope=OPERATOR)
    reranker = ScriptedReranker(faults={1: fault})
    bench = await bench_with(reranker, pool, database_url, folder)
    found = await bench.app.search(QUESTION, scope=OPERATOR)
    assert uris(found) == uris(expected)
    scores = [p.score for p in found.retrieval.passages]
    assert scores == [p.score for p in expected.retrieval.passages]
    assert found.retrieval.degraded == (said,)


async def test_the_trace_names_the_reranker_and_a_replay_without_it(
    pool: Pool, database_url: str, folder: Path
) -> None:
    reranker = ScriptedReranker(lambda _, text: float("scarves" in text) - ("concert" in text))
    bench = await bench_with(reranker, pool, database_url, folder)
    found = await bench.app.search(QUESTION, scope=OPERATOR)
    trace = await bench.app.catalogue.records.trace(OPERATOR, found.trace_id)
    assert trace.record["versions"]["models.reranker"] == "testing:scripted"
    assert trace.record["fusion"]["reranker"] == "testing:scripted"
    assert trace.record["fusion"]["asked"] is True
    assert (await bench.app.replay(found.trace_id, scope=OPERATOR)).same
    own = bench.app.answer_parts.retrieve.ranking
    off = await bench.app.replay(found.trace_id, scope=OPERATOR, ranking=replace(own, rerank=False))
    assert "models.reranker" in {version.name for version in off.versions}
    assert {moved.why for search in off.searches for moved in search.moved} == {"setting"}


async def test_what_is_off_by_default_is_named_in_no_trace(
    pool: Pool, database_url: str, folder: Path
) -> None:
    usual = (await make_bench(pool, database_url, folder)).app.answer_parts
    assert not {"answer.best_at_ends", "search.per_document"} & usual.versions.keys()
    assert not usual.best_at_ends
    capped = replace(DEFAULT_SEARCH, ranking=replace(DEFAULT_SEARCH.ranking, per_document=1))
    answers = replace(DEFAULT_ANSWERS, best_at_ends=True)
    other = await make_bench(pool, database_url, folder, search=capped, answers=answers)
    parts = other.app.answer_parts
    assert parts.best_at_ends
    assert parts.versions["answer.best_at_ends"] is True
    assert parts.versions["search.per_document"] == 1
