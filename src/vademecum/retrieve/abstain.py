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
    """A logistic regression; evidence under `refuse_below` is not enough."""

    constant: float
    top: float
    margin: float
    share: float
    refuse_below: float


# Fitted on Pira validation (CC BY 4.0) and half of CLAPnq dev (Apache-2.0), each question with its
# passage and with it removed. Where the best passage carries under a fifth of the question's idf
# mass, question and documents are likely of two languages, and other weights hold.
LITTLE_SHARE = 0.2
_SAME = _Model(constant=-6.523, top=7.876, margin=22.661, share=4.313, refuse_below=-0.371)
_ACROSS = _Model(constant=-5.359, top=7.576, margin=37.085, share=0.0, refuse_below=-1.360)
# With fewer candidates there is no margin to speak of; this is its mean over the fitting sets.
_BEHIND = 4
_USUAL_MARGIN = 0.07

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
    above the mean of the next four, and the largest share (0..1) of the question's idf mass."""

    top: float
    margin: float
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
    margin = values[0] - sum(behind) / _BEHIND if len(behind) == _BEHIND else _USUAL_MARGIN
    share = max(s.keyword_share or 0.0 for s in reranked)
    return Late(top=values[0], margin=margin, share=share)


def _late_evidence(late: Late) -> float:
    model = _SAME if late.share >= LITTLE_SHARE else _ACROSS
    weighed = model.top * late.top + model.margin * late.margin + model.share * late.share
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
