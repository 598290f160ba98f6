"""Are the retrieval metrics right, also where there is nothing to measure?"""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.evaluate.metrics import (
    abstention,
    hit,
    mean,
    mean_reciprocal_rank,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)

Metric = Callable[[Sequence[str], Sequence[str], int], float | None]
AT_K: list[Metric] = [recall, precision, hit, ndcg]
IDS = st.lists(st.sampled_from("ABCDEFGH"), max_size=12)


def test_values_by_hand() -> None:
    hits, relevant = ["A", "B", "C", "D"], ["B", "D", "E"]
    assert recall(hits, relevant, 4) == pytest.approx(2 / 3)
    assert recall(hits, relevant, 2) == pytest.approx(1 / 3)
    assert precision(hits, relevant, 4) == 0.5
    assert precision(hits, relevant, 3) == pytest.approx(1 / 3)
    assert hit(hits, relevant, 1) == 0.0
    assert hit(hits, relevant, 2) == 1.0
    assert reciprocal_rank(hits, relevant) == 0.5
    # Gains at ranks 2 and 4 of 1, 2, 3: (0.630930 + 0.430677) / (1 + 0.630930 + 0.5).
    assert ndcg(hits, relevant, 4) == pytest.approx(0.498189, abs=1e-6)
    assert ndcg(["B", "D", "E"], relevant, 3) == 1.0


def test_ndcg_is_1_when_the_first_k_are_all_relevant_though_more_exist() -> None:
    assert ndcg(["A", "B"], ["A", "B", "C", "D"], 2) == 1.0


def test_ev_01_repeated_hits_count_once() -> None:
    assert recall(["A", "A"], ["A", "B"], 2) == 0.5
    assert precision(["A", "A"], ["A", "B"], 2) == 0.5
    assert ndcg(["A", "A"], ["A", "B"], 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    # The repeat does not take the place of B.
    assert recall(["A", "A", "B"], ["A", "B"], 2) == 1.0
    assert reciprocal_rank(["C", "C", "A"], ["A"]) == 0.5


@pytest.mark.parametrize("metric", AT_K)
def test_ev_02_repeats_in_the_gold_list_do_not_lower_a_score(metric: Metric) -> None:
    assert metric(["A"], ["A", "A"], 1) == 1.0


@pytest.mark.parametrize("metric", AT_K)
def test_ev_04_without_relevant_items_nothing_is_divided(metric: Metric) -> None:
    assert metric(["A"], [], 3) is None
    assert metric([], [], 3) is None
    assert metric([], ["A"], 3) == 0.0


def test_ev_04_no_questions_and_no_relevant_items_have_no_mean() -> None:
    assert reciprocal_rank(["A"], []) is None
    assert mean_reciprocal_rank([]) is None
    assert mean_reciprocal_rank([(["A"], [])]) is None
    assert mean([]) is None


def test_ev_04_questions_without_an_answer_score_abstention_and_no_recall() -> None:
    assert abstention(True, []) == 1.0
    assert abstention(False, []) == 0.0
    assert abstention(True, ["A"]) is None
    questions = [(["A"], ["A"]), (["B"], [])]
    assert mean(recall(hits, relevant, 1) for hits, relevant in questions) == 1.0


@pytest.mark.parametrize("metric", AT_K)
@pytest.mark.parametrize("k", [0, -1])
def test_ev_04_k_below_1_is_refused(metric: Metric, k: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1: {k}"):
        metric(["A"], ["A"], k)


def test_ev_05_precision_divides_by_k_also_with_fewer_hits() -> None:
    assert precision(["A", "B", "C"], ["A", "B", "C"], 10) == 0.3
    assert recall(["A", "B", "C"], ["A", "B", "C"], 10) == 1.0
    assert ndcg(["A", "B", "C"], ["A", "B", "C"], 10) == 1.0


def test_ev_06_mrr_is_the_mean_of_reciprocal_ranks() -> None:
    first, fourth = (["A"], ["A"]), (["B", "C", "D", "A"], ["A"])
    assert reciprocal_rank(*first) == 1.0
    assert reciprocal_rank(*fourth) == 0.25
    assert mean_reciprocal_rank([first, fourth]) == 0.625
    assert mean_reciprocal_rank([first, (["B"], ["A"])]) == 0.5


@given(hits=IDS, relevant=IDS, k=st.integers(1, 15))
def test_scores_lie_in_0_to_1_and_repeats_change_none(
    hits: list[str], relevant: list[str], k: int
) -> None:
    once, wanted = list(dict.fromkeys(hits)), sorted(set(relevant))
    for metric in AT_K:
        value = metric(hits, relevant, k)
        assert value == metric(once, wanted, k)
        assert (value is None) == (not relevant)
        assert value is None or 0 <= value <= 1 + 1e-12


@given(hits=IDS, relevant=IDS.filter(bool), k=st.integers(1, 14))
def test_more_hits_never_lower_recall_or_hit(hits: list[str], relevant: list[str], k: int) -> None:
    for metric in (recall, hit):
        fewer, more = metric(hits, relevant, k), metric(hits, relevant, k + 1)
        assert fewer is not None
        assert more is not None
        assert fewer <= more
