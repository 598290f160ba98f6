"""Is it refused to answer where the passages are not about the question?"""

import math

import pytest

from vademecum.model.passage import Hit, Signals
from vademecum.retrieve.abstain import REFUSE_BELOW, in_other_language, judge, late_signals
from vademecum.testing.passages import make_chunk


def late(*values: float, share: float | None = None) -> list[Signals]:
    return [Signals(maxsim=value, keyword_share=share) for value in values]


def words(share: float | None = None) -> list[Signals]:
    return [Signals(keyword_share=share)]


def hits(*cosines: float) -> list[Hit]:
    return [
        Hit(chunk_id=make_chunk("x", at=at).id, score=score) for at, score in enumerate(cosines)
    ]


def odds(confidence: float) -> float:
    return math.log(confidence / (1 - confidence))


def test_nothing_found_is_refused() -> None:
    found = judge([], hits(0.9, 0.8))
    assert (found.would, found.reason, found.confidence) == (True, "nothing was found", 0.0)


def test_late_interaction_in_one_language() -> None:
    # -8.158 + 11.602 * .6 + 14.075 * (.6 - .5) + 3.315 * .5 + .922
    found = judge(late(0.5, 0.6, 0.5, 0.5, 0.5, 0.2, share=0.5), [])
    assert odds(found.confidence) == pytest.approx(2.7902, abs=5e-5)
    assert (found.would, found.reason) == (False, "")


def test_late_interaction_across_languages() -> None:
    # -5.821 + 9.642 * .5 + 37.891 * (.5 - .48) + 1.006, whatever words are shared
    signals = late(0.5, 0.48, 0.48, 0.48, 0.48, share=0.2)
    found = judge(signals, [], other_language=True)
    assert odds(found.confidence) == pytest.approx(0.76382, abs=5e-5)
    assert not found.would
    assert found.signals["other_language"] == 1.0
    # in one language: -8.158 + 5.801 + .2815 + .663 + .922
    same = judge(signals, [])
    assert odds(same.confidence) == pytest.approx(-0.4905, abs=5e-5)
    assert (same.would, same.reason) == (True, "the nearest passages are not about this")
    assert same.confidence < REFUSE_BELOW
    assert same.signals["other_language"] == 0.0


@pytest.mark.parametrize(
    ("asked", "language", "other"),
    [
        ("Can I bring my camera to the show?", "pt", True),
        ("Can I bring my camera to the show?", "en", False),
        ("Posso levar câmera fotográfica para o show?", "pt", False),
        ("Posso levar câmera fotográfica para o show?", "en", True),
        ("के म क्यामेरा ल्याउन सक्छु?", "en", True),
        # A code, and few letters, are in the language of the passage.
        ("KH-402", "pt", False),
        ("camera arena?", "pt", False),
        # A passage of no language says nothing.
        ("Can I bring my camera to the show?", "und", False),
    ],
)
def test_the_language_of_the_question_beside_the_best_passage_s(
    asked: str, language: str, *, other: bool
) -> None:
    assert in_other_language(asked, language) is other


def test_the_margin_is_over_the_next_four_whatever_stands_behind() -> None:
    found = late_signals(late(0.1, 0.9, 0.5, 0.7, 0.6, 0.6, share=0.3))
    assert found is not None
    assert (found.top, found.margin, found.share) == pytest.approx((0.9, 0.3, 0.3))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_with_fewer_behind_the_margin_is_the_usual_one(count: int) -> None:
    found = late_signals(late(*([0.6] * count), share=0.5))
    assert found is not None
    assert found.margin is None
    # -8.158 + 11.602 * .6 + 14.075 * .105 + 3.315 * .5 + .922
    judged = judge(late(*([0.6] * count), share=0.5), [])
    assert odds(judged.confidence) == pytest.approx(2.860575, abs=5e-5)


def test_those_that_were_not_reranked_say_nothing() -> None:
    reranked = late(0.6, 0.5, 0.5, 0.5, 0.5, share=0.5)
    assert late_signals([*reranked, Signals(keyword_share=1.0)]) == late_signals(reranked)
    assert late_signals(words(0.9)) is None


def test_cosines_over_few_candidates() -> None:
    # -3.05 + 1.34 * .5 + 31 * (.85 - .80) + .578 * 3.9 = 1.4242, over the point ln(.3 / .7)
    found = judge(words(0.5), hits(0.85, 0.80, 0.80, 0.80, 0.80))
    assert odds(found.confidence) == pytest.approx(1.4242 + 0.8473, abs=5e-4)
    assert (found.would, found.reason) == (False, "")


def test_the_height_counts_from_ten_candidates_on() -> None:
    # mean .81, deviation .03: (.9 - .81) / .03 = 3; -3.05 + 31 * .1 + .578 * 3 = 1.784
    found = judge(words(), hits(0.9, *([0.8] * 9)))
    assert odds(found.confidence) == pytest.approx(1.784 + 0.8473, abs=5e-4)


def test_cosines_of_which_none_stands_out_are_refused() -> None:
    # no margin, no spread: -3.05 + .578 * 3.9 = -.7958
    found = judge(words(), hits(*([0.8] * 20)))
    assert odds(found.confidence) == pytest.approx(-0.7958 + 0.8473, abs=5e-4)
    assert not found.would
    # a little margin, the usual spread: a height of 1 says that nothing stands out
    flat = judge(words(), hits(0.81, *([0.81] * 9), *([0.79] * 10)))
    assert odds(flat.confidence) == pytest.approx(-2.472 + 0.8473, abs=5e-4)
    assert flat.would


def test_more_of_the_question_s_words_raise_the_confidence() -> None:
    cosines = hits(*[0.8 - 0.001 * at for at in range(20)])
    found = [judge(words(share), cosines).confidence for share in (0.0, 0.3, 0.6, 1.0)]
    assert found == sorted(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    ("share", "evidence"), [(0.0, -3.05), (None, -3.05), (0.5, 0.67), (1.0, 1.34)]
)
def test_without_the_dense_leg_only_the_words_tell(share: float | None, evidence: float) -> None:
    found = judge(words(share), [])
    assert odds(found.confidence) == pytest.approx(evidence + 0.8473, abs=5e-4)
    assert found.would == (not share)
