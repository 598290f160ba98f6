"""How is refusing fitted to a collection's own questions, and is it better on others?

Half of the questions train, the other half are held apart and only measured. Which half a question
is in, its id tells. A question and what is made of it stay together in everything below.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vademecum.evaluate.bootstrap import RESAMPLES, SEED, interval
from vademecum.evaluate.regression import fitted, log_loss
from vademecum.model.calibration import Weights
from vademecum.retrieve.abstain import REFUSE_BELOW

# So many of each kind (answerable or not) are needed to fit the weights of one language relation,
# and to measure them on the questions held apart; so many with an answer, to fit the fusion.
LEAST_FITTED, LEAST_HELD, LEAST_FUSED = 20, 10, 30
WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)
FOLDS = 5
# What is fitted, with what may join it where that helps on training questions left out. Across
# languages the question's words are hardly there: their share says nothing.
SAME_SIGNALS = ("top", "margin", "share")
ACROSS_SIGNALS = ("top", "margin")
MORE_SIGNALS = ((), ("height",), ("cosine",), ("height", "cosine"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question as a search judged it, by its signals and with its confidence; `answerable` where
    what answers it was among the documents."""

    question: str
    answerable: bool
    signals: Mapping[str, float | None]
    confidence: float

    @property
    def across(self) -> bool:
        """Whether the question is in another language than the best passage."""
        return bool(self.signals.get("other_language"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What was fitted for one language relation: from how many cases of each kind, over which
    signals, and whether the fit ended; `weights` are None where there were too few cases."""

    answerable: int
    unanswerable: int
    weights: Weights | None
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A mean over questions with the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What was reached on questions: the area under the curve of the confidence, the share of the
    unanswerable that is `refused` and of the answerable that is `lost`, and nDCG@10."""

    auc: Share
    refused: Share
    lost: Share
    ndcg: Share

    @property
    def right(self) -> float:
        """The share that is judged rightly, both kinds weighing the same."""
        return (self.refused.mean + 1 - self.lost.mean) / 2


def trains(question: str) -> bool:
    """Return whether a question is of the training half: the lowest bit of the sha256 of its id
    is 0."""
    return _digest(question)[-1] % 2 == 0


def fit_branch(
    cases: Sequence[Case],
    *,
    across: bool,
    loss: float,
    more: Sequence[tuple[str, ...]] = MORE_SIGNALS,
) -> Branch:
    """Return what the cases of one language relation give, with the point of refusal at which
    `loss` (0..1) of the answerable are lost; one of `more` joins the usual signals."""
    own = [one for one in cases if one.across == across and one.signals]
    good = sum(one.answerable for one in own)
    bad = len(own) - good
    if min(good, bad) < LEAST_FITTED:
        return Branch(answerable=good, unanswerable=bad, weights=None, converged=True)
    names = _best_signals(own, ACROSS_SIGNALS if across else SAME_SIGNALS, more)
    usual = _usual(own, names)
    rows = _rows(own, names, usual)
    fit = fitted(rows, _labels(own))
    evidence = [fit.evidence(row) for row in rows]
    point = refusal_point([e for e, one in zip(evidence, own, strict=True) if one.answerable], loss)
    weights = Weights(
        constant=fit.constant,
        weights=dict(zip(names, fit.weights, strict=True)),
        usual=usual,
        refuse_below=point,
    )
    return Branch(answerable=good, unanswerable=bad, weights=weights, converged=fit.converged)


def refusal_point(answerable: Sequence[float], loss: float) -> float:
    """Return the evidence under which exactly floor(loss * n) of the n answerable are refused, or
    fewer where several have the same: the middle between the last lost and the first kept.

    Raises: ValueError for no evidence, or a loss outside 0..1 (1 not included)."""
    if not answerable or not 0 <= loss < 1:
        raise ValueError("a point needs evidence, and a loss in 0..1")
    ordered = sorted(answerable)
    # 0.1 * 30 is 3.0000000000000004 in one order and 2.9999999999999996 in another.
    lost = math.floor(loss * len(ordered) + 1e-9)
    kept = ordered[lost]
    below = [value for value in ordered[:lost] if value < kept]
    return (below[-1] + kept) / 2 if below else kept - 1e-6


def best_weight(scores: Mapping[float, Sequence[float]], current: float) -> float:
    """Return the dense leg's share with the highest mean score; the current one where none is
    higher, else the one nearest to it."""
    means = {weight: math.fsum(values) / len(values) for weight, values in scores.items()}
    most = max(means.values())
    if means[current] >= most - 1e-12:
        return current
    best = [weight for weight, mean in means.items() if mean >= most - 1e-12]
    return min(best, key=lambda weight: (abs(weight - current), weight))


def reached(cases: Sequence[Case], ndcg: Sequence[float]) -> Reached:
    """Return what the confidence of cases is worth; `ndcg` has a value for each question with an
    answer. Raises: ValueError where either kind is missing."""
    good = [float(one.confidence < REFUSE_BELOW) for one in cases if one.answerable]
    bad = [float(one.confidence < REFUSE_BELOW) for one in cases if not one.answerable]
    return Reached(auc=_auc(cases), refused=_share(bad), lost=_share(good), ndcg=_share(ndcg))


def worse(before: Reached, after: Reached) -> str:
    """Return in which way refusing got worse on the questions held apart, "" where it did not."""
    told = []
    if after.auc.mean < before.auc.mean - 1e-9:
        told.append(f"AUC {before.auc.mean:.3f} > {after.auc.mean:.3f}")
    if after.right < before.right - 1e-9:
        told.append(f"judged rightly {before.right:.3f} > {after.right:.3f}")
    return "; ".join(told)


def _digest(question: str) -> bytes:
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()


def _fold(question: str) -> int:
    return _digest(question)[0] % FOLDS


def _best_signals(
    cases: Sequence[Case], first: tuple[str, ...], more: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the signals whose log loss is least on the folds that were left out of their fit; the
    fewest of those that are equal."""
    losses = {names: _left_out_loss(cases, (*first, *names)) for names in more}
    least = min(losses.values())
    joined = next(names for names, loss in losses.items() if loss <= least + 1e-12)
    return (*first, *joined)


def _left_out_loss(cases: Sequence[Case], names: tuple[str, ...]) -> float:
    total = 0.0
    for fold in range(FOLDS):
        learnt = [one for one in cases if _fold(one.question) != fold]
        left = [one for one in cases if _fold(one.question) == fold]
        if not left or len({one.answerable for one in learnt}) < 2:
            continue
        usual = _usual(learnt, names)
        fit = fitted(_rows(learnt, names, usual), _labels(learnt))
        total += log_loss(fit, _rows(left, names, usual), _labels(left)) * len(left)
    return total / len(cases)


def _usual(cases: Sequence[Case], names: tuple[str, ...]) -> dict[str, float]:
    """Return the mean of each signal over the answerable cases that have it, 0 where none has."""
    found = {}
    for name in names:
        seen = [v for one in cases if one.answerable and (v := one.signals.get(name)) is not None]
        found[name] = math.fsum(seen) / len(seen) if seen else 0.0
    return found


def _rows(
    cases: Sequence[Case], names: tuple[str, ...], usual: Mapping[str, float]
) -> NDArray[np.float64]:
    """Return the signals, shape (cases, names)."""
    return np.array(
        [
            [usual[name] if (v := one.signals.get(name)) is None else v for name in names]
            for one in cases
        ],
        np.float64,
    )


def _labels(cases: Sequence[Case]) -> NDArray[np.float64]:
    return np.array([one.answerable for one in cases], np.float64)


def _share(values: Sequence[float]) -> Share:
    low, high = interval(values)
    return Share(mean=math.fsum(values) / len(values), low=low, high=high)


def _auc(cases: Sequence[Case]) -> Share:
    """Return how often an answerable case has the higher confidence, equal ones counting half,
    with the interval of a bootstrap over questions: what is made of one is drawn with it."""
    good = [one for one in cases if one.answerable]
    bad = [one for one in cases if not one.answerable]
    if not good or not bad:
        raise ValueError("a curve needs questions of both kinds")
    above = np.array([one.confidence for one in good])[:, None]
    under = np.array([one.confidence for one in bad])[None, :]
    won = (above > under) + 0.5 * (above == under)
    names = list(dict.fromkeys(one.question for one in cases))
    place = {name: at for at, name in enumerate(names)}
    of_good = np.array([place[one.question] for one in good])
    of_bad = np.array([place[one.question] for one in bad])
    random = np.random.default_rng(SEED)
    areas = []
    for _ in range(RESAMPLES):
        drawn = np.bincount(random.integers(0, len(names), len(names)), minlength=len(names))
        first, second = drawn[of_good].astype(np.float64), drawn[of_bad].astype(np.float64)
        pairs = first.sum() * second.sum()
        if pairs:
            areas.append(float(first @ won @ second) / pairs)
    low, high = np.percentile(areas, (2.5, 97.5)) if areas else (0.0, 1.0)
    return Share(mean=float(won.mean()), low=float(low), high=float(high))
