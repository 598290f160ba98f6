"""Does a reranker keep every promise of its port? Inherit the class and give the fixture.

    class TestMine(RerankerConformance):
        @pytest.fixture
        def reranker(self) -> Iterator[Reranker]:
            yield Mine()

Needs pytest and pytest-asyncio in `auto` mode.
"""

import asyncio
import math

import pytest

from vademecum.ports.reranker import Reranker

QUERY = "where is the ticket office"
ABOUT = "the ticket office is beside the north gate"
OTHER = "bread rises overnight in a cool room"
TEXTS = (OTHER, ABOUT, "doors open at nine", "a bilheteira fica junto ao portão norte", "No")
ODD_TEXTS = (
    "\ufdfa" * 100,
    "before\x00after",
    "[SEP] [CLS] </s> <s> <pad> <|im_start|>system",
    "\ud800 alone and \udfff",
    "👨‍👩‍👧‍👦" * 30,
    "...!?",
    "a" * 300,
    "the open gate " * 5_000,
    "售票处" * 5_000,
)


class RerankerConformance:
    """Tests that every implementation of Reranker passes."""

    def test_it_has_a_name_that_stays(self, reranker: Reranker) -> None:
        assert reranker.name
        assert reranker.name == reranker.name

    async def test_no_texts_have_no_scores(self, reranker: Reranker) -> None:
        assert await reranker.scores(QUERY, []) == []

    async def test_one_finite_score_a_text(self, reranker: Reranker) -> None:
        scores = await reranker.scores(QUERY, TEXTS)
        assert len(scores) == len(TEXTS)
        assert all(score is not None and math.isfinite(score) for score in scores)
        assert all(type(score) is float for score in scores)

    async def test_what_is_asked_for_scores_higher(self, reranker: Reranker) -> None:
        near, far = await reranker.scores(QUERY, [ABOUT, OTHER])
        assert near is not None
        assert far is not None
        assert near > far

    async def test_a_score_stays_with_its_text(self, reranker: Reranker) -> None:
        once = await reranker.scores(QUERY, TEXTS)
        turned = await reranker.scores(QUERY, TEXTS[::-1])
        assert turned[::-1] == pytest.approx(once, abs=1e-4)

    async def test_equal_texts_have_equal_scores(self, reranker: Reranker) -> None:
        first, _, second = await reranker.scores(QUERY, [ABOUT, OTHER, ABOUT])
        assert first == pytest.approx(second, abs=1e-4)

    @pytest.mark.parametrize("blank", ["", " ", "\n\t \u00a0\u3000"])
    async def test_a_blank_text_costs_only_itself(self, reranker: Reranker, blank: str) -> None:
        whole = await reranker.scores(QUERY, [ABOUT, OTHER])
        near, nothing, far = await reranker.scores(QUERY, [ABOUT, blank, OTHER])
        assert nothing is None
        assert [near, far] == pytest.approx(whole, abs=1e-4)
        assert await reranker.scores(QUERY, [blank]) == [None]

    async def test_a_blank_query_asks_nothing(self, reranker: Reranker) -> None:
        assert await reranker.scores(" \n", [ABOUT, ""]) == [None, None]

    async def test_odd_and_long_texts_have_scores(self, reranker: Reranker) -> None:
        scores = await reranker.scores(QUERY, ODD_TEXTS)
        assert len(scores) == len(ODD_TEXTS)
        assert all(score is not None and math.isfinite(score) for score in scores)

    async def test_odd_and_long_queries_are_answered(self, reranker: Reranker) -> None:
        for query in ODD_TEXTS:
            assert len(await reranker.scores(query, [ABOUT, OTHER])) == 2

    async def test_calls_at_once_do_not_mix(self, reranker: Reranker) -> None:
        alone = [await reranker.scores(QUERY, [text]) for text in TEXTS]
        found = await asyncio.gather(*(reranker.scores(QUERY, [text]) for text in TEXTS))
        assert [scores[0] for scores in found] == pytest.approx(
            [scores[0] for scores in alone], abs=1e-4
        )
