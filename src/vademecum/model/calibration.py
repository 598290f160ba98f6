"""What was fitted to one collection's own questions, and with which index and settings?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A logistic regression over signals of a search: their weights, by name, and a constant.

    `usual` stands in place of a signal that a search lacks: its mean over the answerable. Evidence
    under `refuse_below` is not enough.
    """

    constant: float
    weights: Mapping[str, float]
    usual: Mapping[str, float]
    refuse_below: float

    def evidence(self, signals: Mapping[str, float | None]) -> float:
        """Return how far the signals lie above the point of refusal, in log odds."""
        total = self.constant - self.refuse_below
        for name, weight in self.weights.items():
            value = signals.get(name)
            total += weight * (self.usual[name] if value is None else value)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What searches of one collection alone go by, in place of the built-in constants.

    `same` and `across` judge questions in the language of the documents and in another one;
    `dense_weight` (0..1) is the dense leg's share. None of each is as built in, or as set. It was
    fitted on the golden set `name` with `sha256`, over the build `generation` of the index and
    the ranking `ranking` (settings by dotted key), and holds for these alone. `figures` are what
    it reached on the questions that were held apart.
    """

    collection: str
    name: str
    sha256: str
    generation: int
    ranking: Mapping[str, Any]
    created_at: datetime
    same: Weights | None
    across: Weights | None
    dense_weight: float | None
    figures: Mapping[str, Any]

    @property
    def label(self) -> str:
        """How traces name it."""
        return f"{self.collection}, {self.sha256[:12]}, {self.created_at:%Y-%m-%d %H:%M}"


def stale(one: Calibration, generation: int, ranking: Mapping[str, Any]) -> str:
    """Return why a calibration does not hold for a build of the index and a ranking, "" where it
    does."""
    if one.generation != generation:
        return f"fitted on index generation {one.generation}, {generation} is read"
    differ = sorted(
        key
        for key in one.ranking.keys() | ranking.keys()
        if one.ranking.get(key) != ranking.get(key)
    )
    return f"fitted with other settings: {', '.join(differ)}" if differ else ""
