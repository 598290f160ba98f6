"""Is a build called worse only where chance does not explain it?"""

import pytest

from vademecum.errors import UsageError
from vademecum.evaluate.gate import compare


def scores(values: list[float]) -> dict[str, float]:
    return {str(number): value for number, value in enumerate(values)}


def test_equal_builds_differ_by_nothing() -> None:
    same = compare(scores([1, 0, 1, 0.5]), scores([1, 0, 1, 0.5]))
    assert (same.questions, same.current, same.candidate) == (4, 0.625, 0.625)
    assert (same.low, same.high, same.worse) == (0.0, 0.0, False)


def test_a_loss_on_every_question_is_worse() -> None:
    lost = compare(scores([1.0] * 20), scores([0.5] * 20))
    assert (lost.low, lost.high, lost.worse) == (-0.5, -0.5, True)


def test_one_question_of_thirty_lost_is_chance() -> None:
    lost = compare(scores([1.0] * 30), scores([1.0] * 29 + [0.0]))
    assert lost.candidate == pytest.approx(29 / 30)
    assert lost.low < 0 <= lost.high
    assert not lost.worse


def test_ten_questions_of_thirty_lost_are_not() -> None:
    lost = compare(scores([1.0] * 30), scores([1.0] * 20 + [0.0] * 10))
    # The bootstrap's interval of a mean of 30 zeros and ones, 10 of them lost: .333 +- 1.96 * .086.
    assert lost.low == pytest.approx(-0.333 - 0.169, abs=0.04)
    assert lost.high == pytest.approx(-0.333 + 0.169, abs=0.04)
    assert lost.worse


def test_a_gain_is_not_worse() -> None:
    assert not compare(scores([0.0] * 5), scores([1.0] * 5)).worse


def test_only_questions_of_both_count() -> None:
    part = compare({"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 0.0})
    assert (part.questions, part.candidate) == (1, 1.0)
    with pytest.raises(UsageError, match="no question"):
        compare({"a": 1.0}, {"b": 1.0})
