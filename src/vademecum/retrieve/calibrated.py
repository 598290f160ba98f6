"""How does a search go by what was fitted to its collection?"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vademecum.model.calibration import Calibration, Weights, stale
from vademecum.retrieve.abstain import ACROSS, SAME
from vademecum.retrieve.fuse import Fusion


def holding(found: Calibration | None, ranking: Mapping[str, Any]) -> Calibration | None:
    """Return a calibration that was fitted with the ranking that is set, else None: other settings
    move its signals, and what is set for one run must act."""
    return None if found is None or stale(found, found.generation, ranking) else found


def tuned(fusion: Fusion, fitted: Calibration | None) -> Fusion:
    """Return the fusion with the share of the dense leg that was fitted."""
    if fitted is None or fitted.dense_weight is None:
        return fusion
    return replace(fusion, dense_weight=fitted.dense_weight)


def judged_by(fitted: Calibration | None) -> dict[str, Weights]:
    """Return what `abstain.judge` weighs the signals with."""
    return {
        "same": fitted.same if fitted is not None and fitted.same is not None else SAME,
        "across": fitted.across if fitted is not None and fitted.across is not None else ACROSS,
    }


def named(fitted: Calibration | None) -> dict[str, str]:
    """Return how a trace names what was gone by."""
    return {} if fitted is None else {"calibration": fitted.label}
