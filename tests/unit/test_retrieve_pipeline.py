"""Does retrieval find what the scope may see, whatever part of it fails?"""

import asyncio
import gc
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from vademecum.adapters.clock import SystemClock
from vademecum.errors import EmbeddingInvalid, ModelUnusable, ProviderAway
from vademecum.model.ids import DocumentId
from vademecum.model.passage import ConfirmedChunk, Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.rank.blend import RERANK_LEAD
from vademecum.retrieve.pipeline import DEFAULT_RANKING, RetrieveParts, retrieve
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.passages import make_passage
from vademecum.testing.rerankers import RerankFault, ScriptedReranker
from vademecum.testing.stores import Shelf

OPERATOR = Scope.for_operator("default")
TEXTS = {
    "doors": "The doors of the hall open two hours before the concert.",
    "bags": "Bags larger than a sheet of paper stay in the cloakroom.",
    "lift": "The lift to the upper gallery is beside the north gate.",
    "secret": "The safe of the box office opens with the code BX-217.",
}


def source(name: str, collection: str = "default") -> ConfirmedChunk:
    return replace(make_passage(TEXTS[name], uri=name).source, collection=collection)


async def parts_over(
    *sources: ConfirmedChunk, faults: dict[int, Fault] | None = None
) -> tuple[RetrieveParts, Shelf]:
    """Fill a shelf; `faults` counts calls from the first query on."""
    shelf = Shelf()
    for item in sources:
        await shelf.add([item], HashEmbedder())
    embedder = HashEmbedder(faults=faults)
    return RetrieveParts(
        store=shelf.store,
        index=shelf,
        embedder=embedder,
        encoder=embedder,
        clock=SystemClock(),
        ranking=DEFAULT_RANKING,
    ), shelf


def query(text: str, **values: Any) -> Query:
    return Query(**{"text": text, "k": 5, "mode": "hybrid", "collections": None} | values)


def uris(found: Retrieval) -> list[str]:
    return [passage.source.uri for passage in found.passages]


async def test_the_best_comes_first_with_its_rank_and_times() -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    found = await retrieve(parts, OPERATOR, query("When do the doors open?", k=2))
    assert uris(found)[0] == "doors"
    assert [passage.rank for passage in found.passages] == [1, 2]
    assert [p.score for p in found.passages] == [p.signals.final for p in found.passages]
    assert found.degraded == ()
    assert set(found.timings_ms) == {"dense", "keyword", "signs", "confirm", "rerank", "total"}
    assert found.query == "When do the doors open?"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(error=ProviderAway("away")), "provider-away"),
        (Fault(error=ModelUnusable("damaged")), "model-unusable"),
        (Fault(error=EmbeddingInvalid("short")), "embedding-invalid"),
        (Fault(nan_rows=(0,)), "embedding-invalid"),
        (Fault(drop_rows=1), "embedding-invalid"),
    ],
)
async def test_without_the_embedder_the_words_still_find(fault: Fault, code: str) -> None:
    parts, _ = await parts_over(*map(source, TEXTS), faults={1: fault})
    found = await retrieve(parts, OPERATOR, query("cloakroom for bags"))
    assert uris(found) == ["bags"]
    assert found.degraded == (f"dense: {code}",)
    assert found.passages[0].signals.dense is None
    assert not found.abstention.would
    assert "dense" in found.timings_ms


@pytest.mark.parametrize(
    ("asked", "other"),
    [("When do the doors open?", 0.0), ("Quando abrem as portas da sala de concertos?", 1.0)],
)
async def test_it_is_told_whether_the_best_passage_is_in_the_question_s_language(
    asked: str, other: float
) -> None:
    parts, _ = await parts_over(source("doors"))
    judged = (await retrieve(parts, OPERATOR, query(asked))).abstention
    assert judged.signals["other_language"] == other


async def test_a_search_that_is_cancelled_at_any_step_leaves_nothing_that_nobody_awaits() -> None:
    """What is left so is an error of the collector, which pytest turns into the test's."""
    parts, _ = await parts_over(*map(source, TEXTS))
    for steps in range(1, 200):
        searching = asyncio.create_task(retrieve(parts, OPERATOR, query("cloakroom for bags")))
        for _ in range(steps):
            await asyncio.sleep(0)
        if searching.done():
            break
        searching.cancel()
        await asyncio.wait({searching})
        assert searching.cancelled()
    assert uris(await searching)[0] == "bags"
    assert steps > 5
    gc.collect()


async def test_a_fault_of_ours_is_not_hidden() -> None:
    parts, _ = await parts_over(source("bags"), faults={1: Fault(error=ValueError("ours"))})
    with pytest.raises(ValueError, match="ours"):
        await retrieve(parts, OPERATOR, query("bags"))


@pytest.mark.parametrize(("text", "k"), [("bags", 0), ("", 5), (" \n\t", 5), ("\u3000", 5)])
async def test_asking_for_nothing_costs_nothing(text: str, k: int) -> None:
    parts, _ = await parts_over(source("bags"))
    found = await retrieve(parts, OPERATOR, query(text, k=k))
    assert found.passages == ()
    assert (found.abstention.would, found.degraded) == (True, ())
    assert isinstance(parts.embedder, HashEmbedder)
    assert parts.embedder.calls == []


async def test_each_mode_asks_its_own_leg_only() -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    words = await retrieve(parts, OPERATOR, query("cloakroom", mode="keyword"))
    assert uris(words) == ["bags"]
    assert isinstance(parts.embedder, HashEmbedder)
    assert parts.embedder.calls == []
    assert words.passages[0].signals.keyword_share is not None
    vectors = await retrieve(parts, OPERATOR, query("cloakroom", mode="dense"))
    assert len(vectors.passages) == len(TEXTS)
    assert {passage.signals.keyword for passage in vectors.passages} == {None}


async def test_a_query_without_any_word_asks_the_dense_leg() -> None:
    parts, _ = await parts_over(source("bags"))
    found = await retrieve(parts, OPERATOR, query("?!"))
    assert uris(found) == ["bags"]
    assert found.passages[0].signals.keyword is None


async def test_collections_narrow_and_never_widen() -> None:
    parts, _ = await parts_over(source("bags", "a"), source("doors", "b"), source("lift", "c"))
    narrow = replace(OPERATOR, collections=frozenset({"a", "b"}))

    async def seen(scope: Scope, *names: str) -> set[str]:
        collections = frozenset(names) if names else None
        return set(uris(await retrieve(parts, scope, query("the", collections=collections))))

    assert await seen(OPERATOR) == {"bags", "doors", "lift"}
    assert await seen(OPERATOR, "c") == {"lift"}
    assert await seen(narrow) == {"bags", "doors"}
    assert await seen(narrow, "b", "c") == {"doors"}
    assert await seen(narrow, "c") == set()
    assert await seen(OPERATOR, "none") == set()
    empty = await retrieve(parts, OPERATOR, query("the", collections=frozenset()))
    assert empty.passages == ()


async def test_only_what_the_scope_may_see_is_found_and_counted() -> None:
    parts, shelf = await parts_over(source("bags"), source("doors"))
    alice = Scope.for_principal("default", "user:alice", frozenset())
    before = await retrieve(parts, alice, query("the code of the doors"))
    await shelf.add([source("secret")], HashEmbedder(), access=frozenset({"role:cashier"}))
    after = await retrieve(parts, alice, query("the code of the doors"))
    assert after.passages == before.passages
    cashier = Scope.for_principal("default", "user:b", frozenset({"role:cashier"}))
    assert "secret" in uris(await retrieve(parts, cashier, query("the code of the doors")))


async def test_equal_passages_come_by_id() -> None:
    sources = [replace(source("bags"), document_id=DocumentId(UUID(int=n))) for n in range(4)]
    sources = [
        replace(s, chunk=make_passage(TEXTS["bags"], uri="bags", at=1000 * n).source.chunk)
        for n, s in enumerate(sources)
    ]
    for order in (sources, sources[::-1]):
        parts, _ = await parts_over(*order)
        found = await retrieve(parts, OPERATOR, query("bags"))
        ids = [passage.source.chunk.id for passage in found.passages]
        assert ids == sorted(ids)


def test_a_negative_k_is_refused() -> None:
    with pytest.raises(ValueError, match="k must not be negative: -1"):
        query("x", k=-1)


# Behind late interaction, a reranker

QUESTION = "When do the doors open?"


async def test_a_reranker_reads_the_first_texts_and_changes_their_order() -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    before = await retrieve(parts, OPERATOR, query(QUESTION))
    assert uris(before)[0] == "doors"
    second = uris(before)[1]
    reranker = ScriptedReranker(
        lambda _, text: (TEXTS[second] in text) - float(TEXTS["doors"] in text)
    )
    ranking = replace(parts.ranking, rerank_first=3)
    found = await retrieve(
        replace(parts, reranker=reranker, ranking=ranking), OPERATOR, query(QUESTION)
    )
    [(asked, texts)] = reranker.calls
    assert asked == QUESTION
    assert texts == tuple(p.source.chunk.embedded_text for p in before.passages[:3])
    # The best has z <= 1.41 - 1.22, the second z >= -0.71 + 1.22.
    assert uris(found) == [second, "doors", *uris(before)[2:]]
    assert [p.signals.reranked for p in found.passages] == [1.0, -1.0, 0.0, None]
    assert [p.score for p in found.passages] == [p.signals.final for p in found.passages]
    assert found.fusion["reranker"] == "testing:scripted"
    assert found.fusion["asked"] is True
    assert set(found.timings_ms) - set(before.timings_ms) == {"reranker"}
    assert found.degraded == ()
    assert found.abstention == before.abstention


async def test_where_the_best_leads_clearly_nobody_is_asked() -> None:
    parts, _ = await parts_over(
        source("doors"),
        *(
            replace(
                make_passage(f"Row {n} of the upper gallery has a rail.", uri=f"row{n}").source,
                collection="default",
            )
            for n in range(12)
        ),
    )
    reranker = ScriptedReranker()
    parts = replace(parts, reranker=reranker)
    found = await retrieve(parts, OPERATOR, query(QUESTION))
    assert uris(found)[0] == "doors"
    assert reranker.calls == []
    assert found.fusion["asked"] is False
    always = replace(parts, ranking=replace(parts.ranking, rerank_lead=100.0))
    assert (await retrieve(always, OPERATOR, query(QUESTION))).fusion["asked"] is True
    assert len(reranker.calls) == 1


@pytest.mark.parametrize("mode", ["dense", "keyword"])
async def test_a_leg_by_itself_is_not_reranked(mode: str) -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    reranker = ScriptedReranker()
    await retrieve(replace(parts, reranker=reranker), OPERATOR, query("the", mode=mode))
    assert reranker.calls == []


async def test_where_reranking_is_off_the_reranker_is_too() -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    reranker = ScriptedReranker()
    off = replace(parts.ranking, rerank=False, reranker=reranker.name)
    found = await retrieve(
        replace(parts, reranker=reranker, ranking=off), OPERATOR, query(QUESTION)
    )
    assert reranker.calls == []
    assert off.named["models.reranker"] == ""
    assert "reranker" not in found.fusion


async def test_a_reranker_that_fails_otherwise_is_not_hidden() -> None:
    parts, _ = await parts_over(*map(source, TEXTS))

    def fault(_query: str, _text: str) -> float:
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await retrieve(replace(parts, reranker=ScriptedReranker(fault)), OPERATOR, query(QUESTION))


@pytest.mark.parametrize("fault", [RerankFault(nan=1), RerankFault(drop=1)])
async def test_scores_that_are_not_whole_change_nothing(fault: RerankFault) -> None:
    parts, _ = await parts_over(*map(source, TEXTS))
    before = await retrieve(parts, OPERATOR, query(QUESTION))
    reranker = ScriptedReranker(faults={1: fault})
    found = await retrieve(replace(parts, reranker=reranker), OPERATOR, query(QUESTION))
    assert found.passages == before.passages
    assert found.degraded == ("reranker: model-unusable",)


def test_the_ranking_names_what_it_depends_on() -> None:
    assert DEFAULT_RANKING.named["models.reranker"] == "local:maxsim"
    assert not {"search.rerank_first", "search.per_document"} & DEFAULT_RANKING.named.keys()
    other = replace(DEFAULT_RANKING, reranker="cohere:x", rerank_first=20, per_document=2)
    assert other.named["models.reranker"] == "cohere:x"
    assert other.named["search.rerank_first"] == 20
    assert other.named["search.rerank_lead"] == RERANK_LEAD
    assert other.named["search.per_document"] == 2


async def test_of_one_document_at_most_so_many_are_found() -> None:
    same = [make_passage(text, uri="rules", at=1000 * n).source
            for n, text in enumerate(TEXTS.values())]  # fmt: skip
    other = replace(make_passage("The doors of the shop are green.", uri="shop").source)
    parts, _ = await parts_over(*same, other)
    capped = replace(parts, ranking=replace(parts.ranking, per_document=1))
    for mode in ("hybrid", "dense"):
        whole = await retrieve(parts, OPERATOR, query(QUESTION, mode=mode))
        found = await retrieve(capped, OPERATOR, query(QUESTION, mode=mode))
        assert sorted(uris(found)) == ["rules", "shop"]
        assert [p.rank for p in found.passages] == [1, 2]
        assert found.passages[0].source == whole.passages[0].source
        assert found.abstention == whole.abstention
