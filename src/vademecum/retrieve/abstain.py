"""Do the passages look able to answer?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.model.passage import Abstention, Hit, Signals

# At this confidence it is refused: the scale's middle, whatever the signals.
REFUSE_BELOW = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A logistic regression; evidence under `refuse_below` is not enough: there a tenth of the
    answerable is lost. `usual_margin` is the mean of the answerable."""

    constant: float
    top: float
    margin: float
    share: float
    refuse_below: float
    usual_margin: float


# Fitted by `python benchmarks/refusal.py --fit` on Pira validation (CC BY 4.0), each question asked
# with its passage and with it removed, and on half of CLAPnq dev (Apache-2.0). Where the best
# passage carries under a fifth of the question's idf mass, question and documents are likely of
# two languages, and other weights hold.
LITTLE_SHARE = 0.2
_SAME = _Model(
    constant=-7.788, top=11.779, margin=13.815, share=2.146, refuse_below=-0.559, usual_margin=0.110
)
_ACROSS = _Model(
    constant=-4.579, top=6.001, margin=38.914, share=0.0, refuse_below=-1.326, usual_margin=0.060
)
# With fewer candidates behind the best there is no margin to speak of.
_BEHIND = 4

# Without late interaction: the same over cosines, fitted on CLAPnq dev and Pira validation.
_CONSTANT, _MARGIN, _HEIGHT, _SHARE = -3.05, 31.0, 0.578, 1.34
_REFUSE_BELOW = math.log(0.3 / 0.7)
# With fewer candidates their spread says nothing; this is its mean over the fitting sets.
_FEWEST, _USUAL_HEIGHT = 10, 3.9
# Equal cosines differ by rounding; a height over that would be noise.
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """What late interaction says of the candidates: the best MaxSim (-1..1), how far it stands
    above the mean of the next four (None where there are fewer), and the largest share (0..1) of
    the question's idf mass."""

    top: float
    margin: float | None
    share: float


def judge(signals: Iterable[Signals], dense: Sequence[Hit]) -> Abstention:
    """Return whether to abstain, with the confidence (0..1) that the candidates can answer.

    `signals` are those of all candidates, `dense` the hits of the dense leg, best first. Late
    interaction tells most; without it the cosines do; without either (the dense leg was not asked
    or failed) only the share of the question's words. Near-miss questions (the right place, the
    wrong detail) pass: similarity cannot refuse them.
    """
    candidates = list(signals)
    if not candidates:
        return Abstention(would=True, reason="nothing was found", confidence=0.0)
    late = late_signals(candidates)
    share = max(s.keyword_share or 0.0 for s in candidates)
    evidence = _cosine_evidence(dense, share) if late is None else _late_evidence(late)
    confidence = 1 / (1 + math.exp(-evidence))
    would = confidence < REFUSE_BELOW
    reason = "the nearest passages are not about this" if would else ""
    return Abstention(would=would, reason=reason, confidence=confidence)


def late_signals(candidates: Iterable[Signals]) -> Late | None:
    """Return what late interaction says, None where no candidate has a MaxSim."""
    reranked = [s for s in candidates if s.maxsim is not None]
    values = sorted((s.maxsim for s in reranked if s.maxsim is not None), reverse=True)
    if not values:
        return None
    behind = values[1 : 1 + _BEHIND]
    margin = values[0] - sum(behind) / _BEHIND if len(behind) == _BEHIND else None
    share = max(s.keyword_share or 0.0 for s in reranked)
    return Late(top=values[0], margin=margin, share=share)


def _late_evidence(late: Late) -> float:
    model = _SAME if late.share >= LITTLE_SHARE else _ACROSS
    margin = model.usual_margin if late.margin is None else late.margin
    weighed = model.top * late.top + model.margin * margin + model.share * late.share
    return model.constant + weighed - model.refuse_below


def _cosine_evidence(dense: Sequence[Hit], share: float) -> float:
    """Weigh how far the best cosine stands above the next four, and above all candidates."""
    cosines = [hit.score for hit in dense]
    evidence = _SHARE * share - _REFUSE_BELOW
    if not cosines:
        return evidence if share > 0 else evidence + _CONSTANT
    margin = cosines[0] - float(np.mean(cosines[1:5])) if len(cosines) > 1 else 0.0
    spread = float(np.std(cosines))
    height = _USUAL_HEIGHT
    if len(cosines) >= _FEWEST and spread > _LEAST_SPREAD:
        height = (cosines[0] - float(np.mean(cosines))) / spread
    return evidence + _CONSTANT + _MARGIN * margin + _HEIGHT * height
