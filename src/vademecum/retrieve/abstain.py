"""Do the passages look able to answer?"""

import math
from collections.abc import Sequence

import numpy as np

from vademecum.model.passage import Abstention, Hit, Passage

# A logistic regression over signals that do not depend on a collection's scale, fitted on the
# missing-document test (each question with its passage, and with it removed) over CLAPnq dev
# (Apache-2.0) and Pira validation in pt, en and across (CC BY 4.0), 2,200 cases: AUC .96 on CLAPnq,
# .70-.82 on Pira. Near-miss questions pass: similarity cannot refuse them.
_CONSTANT, _MARGIN, _HEIGHT, _SHARE = -3.05, 31.0, 0.578, 1.34
# At this confidence 5-30 % of the answerable ones of those sets would be refused.
REFUSE_BELOW = 0.30
# With fewer candidates their spread says nothing; this is its mean over the fitting sets.
_FEWEST, _USUAL_HEIGHT = 10, 3.9
# Equal cosines differ by rounding; a height over that would be noise.
_LEAST_SPREAD = 1e-6


def judge(passages: Sequence[Passage], dense: Sequence[Hit]) -> Abstention:
    """Return whether to abstain, with the confidence (0..1) that the passages can answer.

    `dense` holds all candidates of the dense leg, best first; without them (the leg was not
    asked or failed) only the keyword share tells.
    """
    if not passages:
        return Abstention(would=True, reason="nothing was found", confidence=0.0)
    share = max(p.signals.keyword_share or 0.0 for p in passages)
    evidence = _CONSTANT + _SHARE * share + _dense_evidence([hit.score for hit in dense], share)
    confidence = 1 / (1 + math.exp(-evidence))
    would = confidence < REFUSE_BELOW
    reason = "the nearest passages are not about this" if would else ""
    return Abstention(would=would, reason=reason, confidence=confidence)


def _dense_evidence(cosines: Sequence[float], share: float) -> float:
    """Weigh how far the best cosine stands above the next four, and above all candidates."""
    if not cosines:
        return -_CONSTANT if share > 0 else 0.0
    margin = cosines[0] - float(np.mean(cosines[1:5])) if len(cosines) > 1 else 0.0
    spread = float(np.std(cosines))
    height = _USUAL_HEIGHT
    if len(cosines) >= _FEWEST and spread > _LEAST_SPREAD:
        height = (cosines[0] - float(np.mean(cosines))) / spread
    return _MARGIN * margin + _HEIGHT * height
