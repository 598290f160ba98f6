"""Does a fit find what there is to be found, and the point of refusal lose what it says?"""

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from vademecum.adapters.clock import SystemClock
from vademecum.errors import DatabaseAway
from vademecum.evaluate.calibrate import (
    Case,
    Reached,
    Share,
    best_weight,
    fit_branch,
    reached,
    refusal_point,
    trains,
    worse,
)
from vademecum.evaluate.regression import Fit, fitted, log_loss
from vademecum.model.calibration import Calibration, Weights, stale
from vademecum.model.passage import Signals
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.retrieve.abstain import ACROSS, SAME, judge
from vademecum.retrieve.calibrated import holding, judged_by, named, tuned
from vademecum.retrieve.fuse import Fusion
from vademecum.retrieve.pipeline import DEFAULT_RANKING, RetrieveParts, retrieve
from vademecum.testing.embedders import HashEmbedder
from vademecum.testing.passages import make_passage
from vademecum.testing.stores import Shelf


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_one_signal_of_two_values_has_a_closed_form() -> None:
    """Signals -1 and 1, of deviation 1 already; 3 of 4 are answerable at 1, 1 of 4 at -1. By
    symmetry the constant is 0, and the slope 4 * (2 * sigmoid(w) - 1.5) + ridge * w is 0."""
    rows = np.array([[-1.0]] * 4 + [[1.0]] * 4)
    labels = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    fit = fitted(rows, labels, ridge=1.0)
    [weight] = fit.weights
    assert fit.converged
    assert fit.constant == pytest.approx(0.0, abs=1e-9)
    assert 8 * (sigmoid(weight) - 0.75) + weight == pytest.approx(0.0, abs=1e-7)
    # Hardly any ridge: the plain maximum likelihood, log odds of 3 in 4.
    assert fitted(rows, labels, ridge=1e-9).weights[0] == pytest.approx(math.log(3), abs=1e-6)
    # Far more ridge than cases: almost no weight.
    assert abs(fitted(rows, labels, ridge=1e6).weights[0]) < 1e-5


def test_the_slope_is_flat_at_the_end_on_noisy_signals_of_any_scale() -> None:
    random = np.random.default_rng(7)
    rows = random.normal(size=(2000, 3)) * np.array([1.0, 100.0, 0.01]) + np.array([0.0, 5.0, 1.0])
    truth = rows[:, 0] + (rows[:, 1] - 5) / 100
    labels = (random.random(2000) < 1 / (1 + np.exp(-2 * truth))).astype(np.float64)
    ridge = 2.0
    fit = fitted(rows, labels, ridge=ridge)
    assert fit.converged
    odds = fit.constant + rows @ np.array(fit.weights)
    miss = 1 / (1 + np.exp(-odds)) - labels
    deviation = rows.std(0)
    own = np.array(fit.weights) * deviation
    slope = ((rows - rows.mean(0)) / deviation).T @ miss + ridge * own
    assert np.abs(slope).max() < 1e-6
    assert abs(miss.sum()) < 1e-6  # the constant is free
    # Both signals that tell have about the weight that they were made with, the third about none.
    assert own[:2] == pytest.approx([2.0, 2.0], abs=0.3)
    assert abs(own[2]) < 0.4
    # No other weights have less of what is minimised.
    at = _penalised(fit, rows, labels, ridge)
    for step in random.normal(size=(20, 3)) * 0.01 / deviation:
        other = Fit(
            constant=fit.constant, converged=True,
            weights=tuple((np.array(fit.weights) + step).tolist()),
        )  # fmt: skip
        assert _penalised(other, rows, labels, ridge) > at


def _penalised(fit: Fit, rows: np.ndarray, labels: np.ndarray, ridge: float) -> float:
    own = np.array(fit.weights) * rows.std(0)
    return log_loss(fit, rows, labels) * len(rows) + ridge / 2 * float(own @ own)


def test_what_can_be_told_apart_ends_too_and_is_told_apart() -> None:
    rows = np.array([[value, 3.0] for value in (0.1, 0.2, 0.3, 0.7, 0.8, 0.9)])
    labels = np.array([0.0, 0, 0, 1, 1, 1])
    fit = fitted(rows, labels)
    assert fit.converged
    assert all(
        (fit.evidence(row) > 0) == bool(label) for row, label in zip(rows, labels, strict=True)
    )
    assert fit.weights[1] == 0.0  # it is the same everywhere
    assert math.isfinite(fit.weights[0])


@pytest.mark.parametrize(
    ("rows", "labels", "ridge"),
    [
        ([[1.0], [2.0]], [1.0, 1.0], 1.0),
        ([[1.0], [math.nan]], [1.0, 0.0], 1.0),
        ([[1.0], [2.0]], [1.0, 0.0], 0.0),
    ],
)
def test_what_has_no_fit_is_said(
    rows: list[list[float]], labels: list[float], ridge: float
) -> None:
    with pytest.raises(ValueError, match="a fit needs"):
        fitted(np.array(rows), np.array(labels), ridge=ridge)


@pytest.mark.parametrize(
    ("count", "loss", "lost"),
    [(10, 0.1, 1), (30, 0.1, 3), (19, 0.1, 1), (9, 0.1, 0), (20, 0.25, 5)],
)
def test_the_point_of_refusal_loses_exactly_what_was_chosen(
    count: int, loss: float, lost: int
) -> None:
    evidence = [float(value) for value in range(count)]
    point = refusal_point(evidence[::-1], loss)
    assert sum(value < point for value in evidence) == lost
    # The middle between the last that is lost and the first that is kept.
    assert point == pytest.approx(lost - 0.5 if lost else -1e-6)


def test_equal_evidence_is_never_cut_in_two() -> None:
    assert sum(v < refusal_point([1.0] * 10, 0.3) for v in [1.0] * 10) == 0
    values = [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert sum(value < refusal_point(values, 0.2) for value in values) == 1
    for bad in (([], 0.1), ([1.0], 1.0), ([1.0], -0.1)):
        with pytest.raises(ValueError, match="a point needs"):
            refusal_point(*bad)


def test_half_of_the_ids_train_whatever_they_are_named() -> None:
    # sha256("a") = ca97...48bb ends odd, sha256("b") = 3e23...b00d too, sha256("c") = 2e7d...d1a6 even.
    assert [trains(name) for name in ("a", "b", "c")] == [False, False, True]
    count = sum(trains(f"question-{at}") for at in range(1000))
    assert 450 < count < 550


def case(question: str, answerable: bool, top: float, **values: float) -> Case:
    signals: dict[str, float | None] = {
        "top": top, "margin": 0.1, "share": 0.5, "cosine": 0.8, "height": 3.0,
    }  # fmt: skip
    return Case(
        question=question, answerable=answerable, signals=signals | values,
        confidence=values.get("confidence", 0.5),
    )  # fmt: skip


def _noisy(count: int, *, other_language: bool = False, seed: int = 3) -> list[Case]:
    random = np.random.default_rng(seed)
    return [
        case(
            f"q{at}", answerable, float(random.normal(0.6 if answerable else 0.5, 0.05)),
            margin=float(random.normal(0.1, 0.02)), share=0.5 + float(random.normal(0, 0.01)),
            other_language=float(other_language),
        )
        for at in range(count)
        for answerable in (True, False)
    ]  # fmt: skip


def test_a_branch_loses_what_was_chosen_and_judges_as_the_search_does() -> None:
    cases = _noisy(40)
    found = fit_branch(cases, across=False, loss=0.1)
    assert found.weights is not None
    assert found.converged
    assert (found.answerable, found.unanswerable) == (40, 40)
    weights = found.weights
    good = [weights.evidence(one.signals) for one in cases if one.answerable]
    bad = [weights.evidence(one.signals) for one in cases if not one.answerable]
    assert sum(value < 0 for value in good) == 4
    assert sum(value < 0 for value in bad) > 20
    assert weights.weights["top"] > 0
    # The product's own judgement of the same signals: .6 and four of .5 behind, a share of .5.
    signals = [Signals(maxsim=value, keyword_share=0.5) for value in (0.6, 0.5, 0.5, 0.5, 0.5)]
    judged = judge(signals, [], same=weights)
    evidence = weights.evidence({"top": 0.6, "margin": 0.1, "share": 0.5})
    assert judged.confidence == pytest.approx(sigmoid(evidence))
    assert judged.signals["top"] == 0.6


def test_a_branch_with_too_few_of_a_kind_is_left_as_it_is() -> None:
    few = fit_branch(_noisy(19), across=False, loss=0.1)
    assert (few.weights, few.answerable, few.unanswerable) == (None, 19, 19)
    assert fit_branch(_noisy(20), across=False, loss=0.1).weights is not None
    # Those of another language are another branch, without the share of words.
    assert fit_branch(_noisy(30), across=True, loss=0.1).answerable == 0
    across = fit_branch(_noisy(30, other_language=True), across=True, loss=0.1)
    assert across.weights is not None
    assert "share" not in across.weights.weights


def test_a_signal_joins_only_where_it_helps_on_questions_left_out() -> None:
    random = np.random.default_rng(5)
    cases = [
        case(f"q{at}", answerable, 0.5 + float(random.normal(0, 0.05)),
             height=(5.0 if answerable else 2.0) + float(random.normal(0, 0.3)))
        for at in range(40)
        for answerable in (True, False)
    ]  # fmt: skip
    found = fit_branch(cases, across=False, loss=0.1)
    assert found.weights is not None
    assert "height" in found.weights.weights
    constant = fit_branch(
        [case(one.question, one.answerable, one.signals["top"] or 0.0) for one in _noisy(40)],
        across=False, loss=0.1,
    )  # fmt: skip
    assert constant.weights is not None
    assert set(constant.weights.weights) == {"top", "margin", "share"}


def judged(question: str, answerable: bool, confidence: float) -> Case:
    return Case(question=question, answerable=answerable, signals={}, confidence=confidence)


def test_what_was_reached_by_hand() -> None:
    cases = [
        judged("a", True, 0.9), judged("a", False, 0.2),
        judged("b", True, 0.6), judged("b", False, 0.7),
        judged("c", True, 0.4), judged("c", False, 0.4),
        judged("d", True, 0.8), judged("d", False, 0.1),
    ]  # fmt: skip
    found = reached(cases, [1.0, 0.5, 0.0, 1.0])
    # Of 16 pairs: .9 wins 4, .8 wins 4, .6 wins 3, .4 wins 2 and half of one.
    assert found.auc.mean == pytest.approx(13.5 / 16)
    assert found.lost.mean == 0.25
    assert found.refused.mean == 0.75
    assert found.right == pytest.approx(0.75)
    assert found.ndcg.mean == 0.625
    for share in (found.auc, found.lost, found.refused, found.ndcg):
        assert 0 <= share.low <= share.mean <= share.high <= 1
    assert found.auc.low < found.auc.high
    assert reached(cases, [1.0, 0.5, 0.0, 1.0]) == found
    with pytest.raises(ValueError, match="both kinds"):
        reached([judged("a", True, 0.9)], [1.0])


def _reached(auc: float, refused: float, lost: float) -> Reached:
    def share(mean: float) -> Share:
        return Share(mean=mean, low=mean, high=mean)

    return Reached(auc=share(auc), refused=share(refused), lost=share(lost), ndcg=share(0.5))


def test_worse_is_a_lower_curve_or_fewer_judged_rightly() -> None:
    before = _reached(0.9, 0.7, 0.1)
    assert worse(before, before) == ""
    assert worse(before, _reached(0.92, 0.8, 0.15)) == ""
    assert worse(before, _reached(0.89, 0.8, 0.1)) == "AUC 0.900 > 0.890"
    assert worse(before, _reached(0.9, 0.7, 0.2)) == "judged rightly 0.800 > 0.750"


def test_the_dense_share_stays_unless_another_is_better() -> None:
    assert best_weight({0.4: [0.5, 0.7], 0.5: [0.6, 0.6], 0.6: [0.1, 0.2]}, 0.5) == 0.5
    assert best_weight({0.3: [0.9], 0.4: [0.9], 0.5: [0.6], 0.7: [0.9]}, 0.5) == 0.4


WEIGHTS = Weights(constant=1.0, weights={"top": 2.0}, usual={"top": 0.25}, refuse_below=0.5)


def calibration(**values: object) -> Calibration:
    known: dict[str, object] = {
        "collection": "shop", "name": "golden.toml", "sha256": "ab" * 32, "generation": 3,
        "ranking": {"search.fusion": "rrf"}, "created_at": datetime(2026, 5, 12, 8, 30, tzinfo=UTC),
        "same": WEIGHTS, "across": None, "dense_weight": 0.7, "figures": {},
    }  # fmt: skip
    return Calibration(**(known | values))  # type: ignore[arg-type]


def test_a_signal_that_lacks_is_the_usual_one() -> None:
    assert WEIGHTS.evidence({"top": 0.5}) == pytest.approx(1.5)
    assert WEIGHTS.evidence({"top": None}) == WEIGHTS.evidence({}) == pytest.approx(1.0)


def test_what_a_calibration_acts_on_and_how_it_is_named() -> None:
    own = calibration()
    assert judged_by(own) == {"same": WEIGHTS, "across": ACROSS}
    assert judged_by(None) == {"same": SAME, "across": ACROSS}
    assert tuned(Fusion(k=3), own) == Fusion(k=3, dense_weight=0.7)
    assert (
        tuned(Fusion(k=3), calibration(dense_weight=None))
        == tuned(Fusion(k=3), None)
        == Fusion(k=3)
    )
    assert named(own) == {"calibration": "shop, abababababab, 2026-05-12 08:30"}
    assert named(None) == {}


def test_another_build_or_other_settings_make_it_stale() -> None:
    own = calibration()
    assert stale(own, 3, {"search.fusion": "rrf"}) == ""
    assert stale(own, 4, {"search.fusion": "rrf"}) == "fitted on index generation 3, 4 is read"
    other = {"search.fusion": "upper_bound", "search.new": 1}
    assert stale(own, 3, other) == "fitted with other settings: search.fusion, search.new"
    assert holding(own, other) is None
    assert holding(own, {"search.fusion": "rrf"}) is own


class Away:
    """Calibrations that nobody can read."""

    async def of(self, _scope: Scope, _collection: str) -> Calibration | None:
        raise DatabaseAway("away")


async def test_where_they_cannot_be_read_the_built_in_constants_judge_and_it_is_said() -> None:
    shelf, embedder = Shelf(), HashEmbedder()
    passage = make_passage("The doors of the hall open at nine.", uri="doors")
    await shelf.add([replace(passage.source, collection="hall")], embedder)
    parts = RetrieveParts(
        store=shelf.store, index=shelf, embedder=embedder, encoder=embedder, clock=SystemClock(),
        ranking=DEFAULT_RANKING,
    )  # fmt: skip
    asked = Query(
        text="When do the doors open?", k=5, mode="hybrid", collections=frozenset(["hall"])
    )
    scope = Scope.for_operator("default")
    usual = await retrieve(parts, scope, asked)
    found = await retrieve(replace(parts, calibrations=Away()), scope, asked)
    assert found.degraded == ("calibration: database-away",)
    assert (found.abstention, found.fusion) == (usual.abstention, usual.fusion)
    assert (usual.degraded, usual.fusion.get("calibration")) == ((), None)
    # Nobody is asked where several collections are searched, or one leg alone.
    for other in (
        replace(asked, collections=None),
        replace(asked, collections=frozenset(["hall", "gates"])),
        replace(asked, mode="dense"),
    ):
        assert (await retrieve(replace(parts, calibrations=Away()), scope, other)).degraded == ()
