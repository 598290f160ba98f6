"""Does a second opinion change an order by what it says, only among the first, and when it is worth
asking for?"""

import pytest

from vademecum.rank.blend import blended, lead

Z = 1.5**0.5  # the deviation of 3, 2, 1 from their mean is the root of 2/3


def test_the_sum_of_both_in_standard_deviations() -> None:
    # z(3, 2, 1) = Z, 0, -Z; z(.1, .9, .5) = -Z, Z, 0
    final = blended(
        {"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 0.1, "b": 0.9, "c": 0.5}, most=3, weight=1
    )
    assert final == pytest.approx({"a": 0.0, "b": Z, "c": -Z})


def test_the_scale_of_either_changes_nothing() -> None:
    first, second = {"a": 3.0, "b": 2.0, "c": 1.0}, {"a": -11.0, "b": 9.0, "c": 2.0}
    scaled = blended(
        {item: 100 * value - 7 for item, value in first.items()},
        {item: value / 20 + 3 for item, value in second.items()},
        most=3,
        weight=0.5,
    )
    assert scaled == pytest.approx(blended(first, second, most=3, weight=0.5))


def test_the_others_stay_behind_in_their_order() -> None:
    first = {"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0}
    final = blended(first, {"a": 0.0, "b": 5.0, "c": 99.0, "d": 100.0}, most=2, weight=3)
    assert sorted(final, key=lambda item: -final[item]) == ["b", "a", "c", "d"]


def test_one_that_has_no_score_keeps_the_mean() -> None:
    final = blended({"a": 2.0, "b": 1.0, "c": 0.0}, {"a": 0.0, "c": 1.0}, most=3, weight=1)
    assert final == pytest.approx({"a": Z - 1, "b": 0.0, "c": 1 - Z})


def test_nothing_stays_nothing() -> None:
    assert blended({}, {"a": 1.0}, most=10, weight=1) == {}


def test_the_lead_is_in_standard_deviations_of_all() -> None:
    # one 10 and nine 0: mean 1, deviation 3, so 3 and -1/3
    scores = {n: 10.0 if n == 4 else 0.0 for n in range(10)}
    assert lead(scores) == pytest.approx(10 / 3)
    assert lead({n: 7 * value + 2 for n, value in scores.items()}) == pytest.approx(10 / 3)


def test_equals_and_few_have_no_lead() -> None:
    assert lead(dict.fromkeys(range(20), 0.5)) == 0.0
    assert lead({n: float(n) for n in range(9)}) == 0.0
    assert lead({}) == 0.0
