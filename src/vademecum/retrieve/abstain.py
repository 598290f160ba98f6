"""Do the passages look able to answer?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.model.calibration import Weights
from vademecum.model.passage import Abstention, Hit, Signals
from vademecum.text.language import UNKNOWN, detect

# At this confidence it is refused: the scale's middle, whatever the signals.
REFUSE_BELOW = 0.5


# Fitted by `python benchmarks/refusal.py --fit` on Pira validation (CC BY 4.0), each question asked
# with its passage and with it removed, and on half of CLAPnq dev (Apache-2.0), so that a tenth of
# the answerable is lost. Across languages words are hardly there, and other weights hold.
SAME = Weights(
    constant=-8.158,
    weights={"top": 11.602, "margin": 14.075, "share": 3.315},
    usual={"top": 0.0, "margin": 0.105, "share": 0.0},
    refuse_below=-0.922,
)
ACROSS = Weights(
    constant=-5.821,
    weights={"top": 9.642, "margin": 37.891},
    usual={"top": 0.0, "margin": 0.063},
    refuse_below=-1.006,
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


def judge(
    signals: Iterable[Signals],
    dense: Sequence[Hit],
    *,
    other_language: bool = False,
    same: Weights = SAME,
    across: Weights = ACROSS,
) -> Abstention:
    """Return whether to abstain, with the confidence (0..1) that the candidates can answer.

    `signals` are those of all candidates, `dense` the hits of the dense leg, best first. Where late
    interaction tells, which is most, `same` weighs them, or `across` where the question is in
    another language than the best passage (`other_language`). Else the cosines do;
    without either (the dense leg was not asked or failed) only the share of the question's words.
    Near-miss questions (the right place, the wrong detail) pass: similarity cannot refuse them.
    """
    candidates = list(signals)
    if not candidates:
        return Abstention(would=True, reason="nothing was found", confidence=0.0)
    late = late_signals(candidates)
    seen: dict[str, float | None] = {}
    if late is None:
        share = max(s.keyword_share or 0.0 for s in candidates)
        evidence = _cosine_evidence(dense, share)
    else:
        seen = _seen(late, dense) | {"other_language": float(other_language)}
        evidence = (across if other_language else same).evidence(seen)
    confidence = chance(evidence)
    would = confidence < REFUSE_BELOW
    reason = "the nearest passages are not about this" if would else ""
    return Abstention(would=would, reason=reason, confidence=confidence, signals=seen)


def chance(evidence: float) -> float:
    """Return 1 / (1 + exp(-evidence)), whatever its size."""
    if evidence >= 0:
        return 1 / (1 + math.exp(-evidence))
    grown = math.exp(evidence)
    return grown / (1 + grown)


def in_other_language(asked: str, language: str) -> bool:
    """Tell whether a question is in another language than a passage in `language` (ISO 639-1)."""
    return language != UNKNOWN and detect(asked, frozenset([language])) != language


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


def _seen(late: Late, dense: Sequence[Hit]) -> dict[str, float | None]:
    """Return every signal that weights may name: those of late interaction, the best cosine, and
    how many deviations it stands above all candidates' mean (`height`)."""
    cosines = [hit.score for hit in dense]
    return {
        "top": late.top,
        "margin": late.margin,
        "share": late.share,
        "cosine": cosines[0] if cosines else None,
        "height": _height(cosines),
    }


def _height(cosines: Sequence[float]) -> float | None:
    spread = float(np.std(cosines)) if len(cosines) >= _FEWEST else 0.0
    return (cosines[0] - float(np.mean(cosines))) / spread if spread > _LEAST_SPREAD else None


def _cosine_evidence(dense: Sequence[Hit], share: float) -> float:
    """Weigh how far the best cosine stands above the next four, and above all candidates."""
    cosines = [hit.score for hit in dense]
    evidence = _SHARE * share - _REFUSE_BELOW
    if not cosines:
        return evidence if share > 0 else evidence + _CONSTANT
    margin = cosines[0] - float(np.mean(cosines[1:5])) if len(cosines) > 1 else 0.0
    height = _height(cosines)
    return (
        evidence + _CONSTANT + _MARGIN * margin
        + _HEIGHT * (_USUAL_HEIGHT if height is None else height)
    )  # fmt: skip
