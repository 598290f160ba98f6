"""Is each signal and score of a memory what the formula says?

Expected numbers were worked out by hand from VALUES ("Memory"), not taken from the code.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from vademecum.model.memory import Memory, Relationship
from vademecum.rank.memory import (
    E5_SMALL,
    WHOLE_RANGE,
    floor_of,
    profile_of,
    prompt_limit,
    ranked,
    recency,
    scored,
    similarity,
    stage_of,
    usage,
)
from vademecum.testing.memories import MADE_AT, make_memory

NOW = MADE_AT


def memory(number: int, days: float = 0.0, **values: object) -> Memory:
    return make_memory(number=number, changed_at=NOW - timedelta(days=days), **values)


@pytest.mark.parametrize(
    ("own", "cosine", "share", "signals", "score"),
    [
        # .65 * 1 + .12 * .5 + .08 * 0 + .10 * 1 + .05 * 0
        (memory(1), 0.92, None, (1.0, 0.5, 0.0, 1.0, 0.0), 0.81),
        # (.81 - .70) / .22 = .5; 90 days halve; ln 11 / ln 21 = 0.787610
        (memory(2, 90, uses=10), 0.81, None, (0.5, 0.5, 0.0, 0.5, 0.787610), 0.474380),
        # below .70 the cosine says nothing; U = .6 found it by a word; 45 days: 0.707107
        (memory(3, 45, importance=0.9), 0.69, 0.6, (0.6, 0.9, 0.0, 0.707107, 0.0), 0.568711),
        # the better of both counts: (.865 - .70) / .22 = .75; 1 use: ln 2 / ln 21 = 0.227670
        (
            memory(4, 180, emotion=1.0, uses=1),
            0.865,
            0.3,
            (0.75, 0.5, 1.0, 0.25, 0.227670),
            0.663884,
        ),
        # more than twenty uses count as twenty
        (memory(5, 0, uses=400), None, 0.5, (0.5, 0.5, 0.0, 1.0, 1.0), 0.535),
        # half a day: 0.5 ^ (0.5 / 90) = 0.996157
        (memory(6, 0.5, importance=0.0), 0.95, 0.1, (1.0, 0.0, 0.0, 0.996157, 0.0), 0.749616),
    ],
)
def test_signals_and_score_equal_hand_computed_values(
    own: Memory,
    cosine: float | None,
    share: float | None,
    signals: tuple[float, ...],
    score: float,
) -> None:
    near = similarity(None if cosine is None else E5_SMALL(cosine), share)
    found = scored(own, near, NOW)
    assert found.signals is not None
    got = found.signals
    assert (got.similarity, got.importance, got.emotion, got.recency, got.usage) == pytest.approx(
        signals, abs=5e-7
    )
    assert found.score == pytest.approx(score, abs=5e-7)


def test_recency_counts_from_the_newest_of_change_use_and_confirmation() -> None:
    old = memory(1, 180)
    assert recency(old.touched_at, NOW) == pytest.approx(0.25)
    used = replace(old, last_used_at=NOW - timedelta(days=90))
    assert recency(used.touched_at, NOW) == pytest.approx(0.5)
    confirmed = replace(used, confirmed_at=NOW)
    assert recency(confirmed.touched_at, NOW) == 1.0
    assert recency(NOW + timedelta(hours=1), NOW) == 1.0


def test_usage_is_a_logarithm_that_twenty_uses_fill() -> None:
    assert [usage(0), usage(20), usage(21)] == pytest.approx([0.0, 1.0, 1.0])
    assert usage(4) == pytest.approx(0.528634, abs=5e-7)


@pytest.mark.parametrize(
    ("cosine", "e5", "whole"),
    [(0.5, 0.0, 0.5), (0.70, 0.0, 0.70), (0.755, 0.25, 0.755), (0.92, 1.0, 0.92), (1.0, 1.0, 1.0)],
)
def test_a_cosine_is_calibrated_to_its_space(cosine: float, e5: float, whole: float) -> None:
    assert E5_SMALL(cosine) == pytest.approx(e5)
    assert WHOLE_RANGE(cosine) == pytest.approx(whole)
    assert WHOLE_RANGE(-0.3) == 0.0


def test_floor_and_limit_follow_the_stage() -> None:
    assert [floor_of(s) for s in ("early", "normal", "close")] == pytest.approx([0.5, 0.45, 0.45])  # type: ignore[arg-type]
    assert [prompt_limit(s) for s in ("early", "normal", "close")] == [7, 12, 15]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("turns", "days", "stage"),
    [
        (0, 0, "early"), (19, 400, "early"), (20, 0, "normal"), (199, 400, "normal"),
        (200, 13.9, "normal"), (200, 14, "close"),
    ],
)  # fmt: skip
def test_the_stage_is_told_from_the_person_s_own_turns(turns: int, days: float, stage: str) -> None:
    assert stage_of(Relationship(turns=turns, days=days)) == stage


def test_what_is_under_the_floor_is_dropped_and_the_best_come_first() -> None:
    far, near, best = memory(1), memory(2), memory(3, importance=1.0)
    found = ranked(
        [far, near, best],
        {far.id: 0.4499, near.id: 0.45, best.id: 0.45},
        NOW,
        floor=0.45,
        limit=5,
    )
    assert [one.memory.id for one in found] == [best.id, near.id]
    assert len(ranked([near, best], {near.id: 1, best.id: 1}, NOW, floor=0.45, limit=1)) == 1
    assert ranked([near], {near.id: 1.0}, NOW, floor=0.45, limit=-3) == ()


def test_the_profile_is_what_is_pinned_and_five_important_facts_or_boundaries() -> None:
    pinned = memory(1, pinned=True, importance=0.1)
    facts = [memory(n, kind="profile_fact", importance=0.70 + n / 100) for n in range(5, 12)]
    boundary = memory(20, kind="boundary", importance=1.0)
    liked = memory(21, kind="preference", importance=1.0)
    minor = memory(22, kind="profile_fact", importance=0.74)
    chosen = profile_of([minor, liked, *facts, boundary, pinned])
    assert [m.id.int for m in chosen] == [1, 20, 11, 10, 9, 8]
