"""Do the passages look able to answer?"""

import math
from collections.abc import Sequence

from vademecum.model.passage import Abstention, Passage

# e5 cosines of answerable questions lie in .79-.90, of unanswerable ones in .73-.78. The keyword
# share speaks where cosine does not: a made-up name or code leaves most of it unfound. Weights
# by hand; they are calibrated on data with the evaluation.
_COSINE_MIDDLE, _COSINE_WEIGHT = 0.80, 60.0
_SHARE_MIDDLE, _SHARE_WEIGHT = 0.20, 4.0
REFUSE_BELOW = 0.35


def judge(passages: Sequence[Passage]) -> Abstention:
    """Return whether to abstain, with the confidence (0..1) that the passages can answer."""
    if not passages:
        return Abstention(would=True, reason="nothing was found", confidence=0.0)
    cosine = max((p.signals.dense for p in passages if p.signals.dense is not None), default=None)
    share = max((p.signals.keyword_share or 0.0 for p in passages), default=0.0)
    evidence = _SHARE_WEIGHT * (share - _SHARE_MIDDLE)
    if cosine is not None:
        evidence += _COSINE_WEIGHT * (cosine - _COSINE_MIDDLE)
    confidence = 1 / (1 + math.exp(-evidence))
    would = confidence < REFUSE_BELOW
    reason = "the nearest passages are not about this" if would else ""
    return Abstention(would=would, reason=reason, confidence=confidence)
