"""Are turns ranked by the formulas that RANKING gives, computed here by hand?"""

import math

import numpy as np
import pytest

from vademecum.rank.maxsim import normalised, packed_signs
from vademecum.rank.turns import (
    TurnWeights,
    first_stage,
    keyword_shares,
    late_scores,
    ranked,
    session_scores,
    smoothed,
    standard,
)


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_bm25_and_its_share_of_the_upper_bound() -> None:
    held = [ids(1, 1, 2), ids(2, 3), ids(4)]
    bm25, shares = keyword_shares([{1}, {9}], held)
    # N = 3, term 1 in one text: idf = ln(1 + 2.5 / 1.5); term 9 in none: ln(1 + 3.5 / 0.5).
    idf, unknown = math.log(1 + 2.5 / 1.5), math.log(1 + 3.5 / 0.5)
    saturation = 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 2))
    assert bm25 == pytest.approx([2.2 * idf * saturation, 0, 0], abs=1e-12)
    assert shares == pytest.approx([idf * saturation / (idf + unknown), 0, 0], abs=1e-12)


def test_of_several_stems_of_a_word_the_best_counts_once() -> None:
    held = [ids(1, 2), ids(2)]
    alone, _ = keyword_shares([{1}], held)
    both, _ = keyword_shares([{1, 2}], held)
    assert both[0] == pytest.approx(alone[0], abs=1e-12)
    assert both[1] > 0


@pytest.mark.parametrize("held", [[], [ids(), ids()], [ids(), ids(1)]])
def test_empty_texts_divide_by_nothing(held: list[np.ndarray]) -> None:
    bm25, shares = keyword_shares([{1}], held)
    assert len(bm25) == len(shares) == len(held)
    assert np.isfinite(bm25).all()
    assert keyword_shares([], held)[0].tolist() == [0.0] * len(held)


def test_late_interaction_is_that_of_one_text_by_itself() -> None:
    rng = np.random.default_rng(7)
    query = normalised(rng.normal(size=(5, 16)).astype(np.float32), np.zeros(16, np.float32))
    weights = np.array([1, 2, 3, 1, 1], np.float32)
    states = [rng.normal(size=(n, 16)).astype(np.float32) for n in (3, 1, 7)]
    signs = [packed_signs(state, np.zeros(16, np.float32)) for state in states]
    got = late_scores(query, weights, [signs[0], None, signs[1], signs[2]])
    assert math.isnan(got[1])
    for at, state in ((0, states[0]), (2, states[1]), (3, states[2])):
        unit = np.where(state > 0, 1, -1) / 4
        expected = ((query @ unit.T).max(axis=1) * weights).sum() / weights.sum()
        assert got[at] == pytest.approx(expected, abs=1e-6)


def test_the_first_stage_is_the_default_fusion() -> None:
    weights = TurnWeights(dense=0.5, grams=0.5)
    got = first_stage(
        np.array([0.9, 0.7, np.nan]), np.array([0.4, 0.0, 0.2]), np.array([0.2, 0.0, 0.0]), weights
    )
    assert got == pytest.approx([0.5 * 1 + 0.5 * 2 * (0.4 + 0.1), 0.0, 0.5 * 2 * 0.2], abs=1e-12)


def test_what_is_not_known_stands_at_the_mean() -> None:
    assert standard(np.array([1.0, 3.0, np.nan])) == pytest.approx([-1, 1, 0])
    assert standard(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert standard(np.array([np.nan])).tolist() == [0]


def test_the_speaker_whom_the_question_names_is_two_deviations_ahead() -> None:
    first = np.array([0.0, 1.0, 2.0, 3.0])
    late = np.full(4, np.nan)
    named = np.array([True, False, False, False])
    never = np.zeros(4, np.bool_)
    weights = TurnWeights(late=1, speaker=2, time=0, neighbours=0)
    got = ranked(first, late, by_named=named, in_time=never, sessions=[1, 2, 3, 4], weights=weights)
    z = standard(first)
    expected = z + np.array([2.0, 0, 0, 0])  # the deviation of z is 1
    assert got == pytest.approx(expected - expected.min(), abs=1e-12)


def test_neighbours_of_the_same_session_lend_a_fifth_and_take_nothing() -> None:
    got = smoothed(np.array([1.0, 5.0, 2.0, 9.0]), ["a", "a", "a", "b"], 0.2)
    # Above the lowest: 0, 4, 1, 8.
    assert got == pytest.approx([0 + 0.2 * 4, 4 + 0.2 * 1, 1 + 0.2 * 4, 8], abs=1e-12)
    assert smoothed(np.array([]), [], 0.2).tolist() == []


def test_a_session_is_the_mean_of_its_best_three_turns() -> None:
    scores = np.array([1.0, 9.0, 3.0, 5.0, 4.0])
    got = session_scores(scores, ["a", "a", "a", "a", "b"])
    assert got == {"a": pytest.approx((9 + 5 + 3) / 3), "b": 4.0}
