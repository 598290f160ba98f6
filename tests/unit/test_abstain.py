"""Is it refused to answer where the passages are not about the question?"""

from dataclasses import replace

import pytest

from vademecum.model.passage import Hit, Passage, Signals
from vademecum.retrieve.abstain import REFUSE_BELOW, judge
from vademecum.testing.passages import make_chunk, make_passage


def passages(share: float | None = None) -> list[Passage]:
    return [replace(make_passage("Doors open at nine."), signals=Signals(keyword_share=share))]


def hits(*cosines: float) -> list[Hit]:
    return [
        Hit(chunk_id=make_chunk("x", at=at).id, score=score) for at, score in enumerate(cosines)
    ]


def test_nothing_found_is_refused() -> None:
    found = judge([], hits(0.9, 0.8))
    assert (found.would, found.reason, found.confidence) == (True, "nothing was found", 0.0)


def test_the_formula_over_few_candidates() -> None:
    # -3.05 + 1.34 * .5 + 31 * (.85 - .80) + .578 * 3.9 = 1.4242
    found = judge(passages(0.5), hits(0.85, 0.80, 0.80, 0.80, 0.80))
    assert found.confidence == pytest.approx(0.806, abs=5e-4)
    assert (found.would, found.reason) == (False, "")


def test_the_height_counts_from_ten_candidates_on() -> None:
    # mean .81, deviation .03: (.9 - .81) / .03 = 3; -3.05 + 31 * .1 + .578 * 3 = 1.784
    found = judge(passages(), hits(0.9, *([0.8] * 9)))
    assert found.confidence == pytest.approx(0.8562, abs=5e-4)


def test_equal_candidates_are_refused() -> None:
    # no margin, no spread: -3.05 + .578 * 3.9 = -.7958
    found = judge(passages(), hits(*([0.8] * 20)))
    assert found.confidence == pytest.approx(0.311, abs=5e-4)
    assert not found.would
    # a little margin, the usual spread: a height of 1 says that nothing stands out
    flat = judge(passages(), hits(0.81, *([0.81] * 9), *([0.79] * 10)))
    assert flat.confidence == pytest.approx(0.0778, abs=5e-4)
    assert flat.would
    assert flat.reason == "the nearest passages are not about this"
    assert flat.confidence < REFUSE_BELOW


def test_more_of_the_question_s_words_raise_the_confidence() -> None:
    cosines = hits(*[0.8 - 0.001 * at for at in range(20)])
    found = [judge(passages(share), cosines).confidence for share in (0.0, 0.3, 0.6, 1.0)]
    assert found == sorted(found)
    assert len(set(found)) == 4


def test_one_candidate_has_no_margin() -> None:
    found = judge(passages(1.0), hits(0.9))
    # -3.05 + 1.34 + .578 * 3.9
    assert found.confidence == pytest.approx(0.6328, abs=5e-4)


@pytest.mark.parametrize(
    ("share", "confidence"), [(0.0, 0.0452), (None, 0.0452), (0.5, 0.6615), (1.0, 0.7925)]
)
def test_without_the_dense_leg_only_the_words_tell(share: float | None, confidence: float) -> None:
    found = judge(passages(share), [])
    assert found.confidence == pytest.approx(confidence, abs=5e-4)
    assert found.would == (not share)
