"""Does each way of fusing give the figures of its formula?"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.rank.fuse import (
    RRF_SMALL_K,
    by_upper_bound,
    convex,
    distribution_based,
    min_max,
    reciprocal_rank,
    relative_score,
)

SCORES = st.dictionaries(
    st.sampled_from("ABCDEFGH"), st.floats(-1000, 1000, allow_nan=False), max_size=8
)
LISTS = st.lists(st.lists(st.sampled_from("ABCDEFGH"), max_size=8), max_size=4)


def at_ranks(*ranks: int) -> float:
    """RRF of an item at these ranks, the other places held by items found once."""
    lists = [
        [*(f"{i}-{place}" for place in range(1, rank)), "item"] for i, rank in enumerate(ranks)
    ]
    return reciprocal_rank(lists)["item"]


def test_re_11_first_and_third_is_1_61_plus_1_63() -> None:
    assert at_ranks(1, 3) == pytest.approx(float(Fraction(1, 61) + Fraction(1, 63)), abs=1e-15)
    assert f"{at_ranks(1, 3):.4f}" == "0.0323"
    assert f"{at_ranks(1, 3):.5f}" == "0.03227"


def test_rrf_values() -> None:
    assert f"{at_ranks(1):.4f}" == "0.0164"
    assert f"{at_ranks(2, 5):.6f}" == "0.031514"
    assert f"{at_ranks(3, 1):.5f}" == "0.03227"
    assert at_ranks(3, 1) == at_ranks(1, 3)


def test_ranks_from_0_are_the_other_two_conventions() -> None:
    ranked = reciprocal_rank([["A", "B"]], first_rank=0)
    assert ranked == {"A": 1 / 60, "B": 1 / 61}
    short = reciprocal_rank([["A", "B"], ["B"]], k=RRF_SMALL_K, first_rank=0)
    assert short == {"A": 1 / 2, "B": pytest.approx(1 / 3 + 1 / 2)}


def test_a_repeat_gives_one_vote_and_those_behind_it_move_up() -> None:
    assert reciprocal_rank([["A", "A", "B"]]) == {"A": 1 / 61, "B": 1 / 62}


def test_weights_multiply_each_list() -> None:
    fused = reciprocal_rank([["A"], ["A", "B"]], weights=[3, 0.5])
    assert fused == {"A": pytest.approx(3.5 / 61), "B": pytest.approx(0.5 / 62)}


def test_rrf_of_nothing_is_nothing() -> None:
    assert reciprocal_rank([]) == {}
    assert reciprocal_rank([[], []]) == {}


@pytest.mark.parametrize(("k", "first_rank"), [(-1, 1), (60, -1), (0, 0)])
def test_a_k_that_could_divide_by_zero_is_refused(k: int, first_rank: int) -> None:
    with pytest.raises(ValueError, match="must not be negative, nor both 0"):
        reciprocal_rank([["A"]], k=k, first_rank=first_rank)


@pytest.mark.parametrize("weights", [[], [1.0]])
def test_each_list_needs_its_weight(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="shorter"):
        reciprocal_rank([["A"], ["B"]], weights=weights)


@given(lists=LISTS)
def test_rrf_does_not_depend_on_the_order_of_lists(lists: list[list[str]]) -> None:
    fused, other = reciprocal_rank(lists), reciprocal_rank(list(reversed(lists)))
    assert fused.keys() == other.keys()
    assert all(fused[item] == pytest.approx(other[item]) for item in fused)
    assert all(0 < value <= len(lists) / 61 + 1e-12 for value in fused.values())


@given(ranked=st.lists(st.sampled_from("ABCDEFGH"), unique=True))
def test_rrf_of_one_list_keeps_its_order(ranked: list[str]) -> None:
    fused = reciprocal_rank([ranked])
    assert sorted(fused, key=lambda item: -fused[item]) == ranked


def test_min_max() -> None:
    assert min_max({"A": 2.0, "B": 4.0, "C": 3.0}) == {"A": 0.0, "B": 1.0, "C": 0.5}
    assert min_max({"A": 2.0, "B": 4.0}, low=0.0) == {"A": 0.5, "B": 1.0}
    assert min_max({"A": 2.0, "B": 4.0}, low=3.0) == {"A": 0.0, "B": 1.0}
    assert min_max({"A": 2.0, "B": 2.0}) == {"A": 1.0, "B": 1.0}
    assert min_max({"A": 2.0, "B": 1.0}, low=2.0) == {"A": 0.0, "B": 0.0}
    assert min_max({}) == {}


def test_relative_score_by_hand() -> None:
    dense, keyword = {"A": 0.9, "B": 0.7, "C": 0.5}, {"B": 8.0, "D": 4.0, "C": 5.0}
    fused = relative_score(dense, keyword, alpha=0.75)
    assert fused == {
        "A": pytest.approx(0.75),
        "B": pytest.approx(0.75 * 0.5 + 0.25),
        "C": pytest.approx(0.25 * 0.25),
        "D": 0.0,
    }


def test_convex_measures_from_the_lowest_there_can_be() -> None:
    dense, keyword = {"A": 0.9, "B": 0.8}, {"B": 8.0, "D": 4.0}
    fused = convex(dense, keyword, alpha=0.5, dense_low=0.7)
    assert fused == {
        "A": pytest.approx(0.5),
        "B": pytest.approx(0.5 * 0.5 + 0.5),
        "D": pytest.approx(0.25),
    }


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_alpha_outside_0_to_1_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        relative_score({"A": 1.0}, {}, alpha=alpha)


def test_distribution_based_by_hand() -> None:
    # Mean 3, deviation 1: 2 -> (2 - 0) / 6, 4 -> (4 - 0) / 6.
    fused = distribution_based([{"A": 2.0, "B": 4.0}, {"B": 7.0}])
    assert fused == {"A": pytest.approx(1 / 3), "B": pytest.approx(2 / 3 + 1 / 2)}


def test_distribution_based_cuts_what_lies_beyond_three_deviations() -> None:
    scores = {str(i): 0.0 for i in range(99)} | {"far": 1.0}
    fused = distribution_based([scores])
    assert fused["far"] == 1.0
    assert 0.4 < fused["0"] < 0.5


@given(dense=SCORES, keyword=SCORES, alpha=st.floats(0, 1))
def test_score_fusions_stay_in_range(
    dense: dict[str, float], keyword: dict[str, float], alpha: float
) -> None:
    for fused, most in (
        (relative_score(dense, keyword, alpha=alpha), 1),
        (convex(dense, keyword, alpha=alpha), 1),
        (distribution_based([dense, keyword]), 2),
    ):
        assert fused.keys() == dense.keys() | keyword.keys()
        assert all(0 <= value <= most + 1e-9 for value in fused.values())


@given(scores=SCORES)
def test_score_fusions_of_one_list_never_turn_its_order(scores: dict[str, float]) -> None:
    for fused in (
        relative_score(scores, {}, alpha=1.0),
        convex(scores, {}, alpha=1.0),
        distribution_based([scores]),
    ):
        ordered = [fused[item] for item in sorted(scores, key=lambda item: scores[item])]
        assert ordered == sorted(ordered)


def test_upper_bound_weighs_a_full_keyword_match_as_two_dense_ones() -> None:
    fused = by_upper_bound({"A": 0.9, "B": 0.8}, {"B": 1.0, "C": 0.25})
    assert fused == {"A": 0.5, "B": 1.0, "C": 0.25}
    assert by_upper_bound({}, {}) == {}
