"""Which weights of some signals tell two kinds of cases apart? Logistic regression, ridge.

Signals are first brought to mean 0 and deviation 1, so that the ridge weighs them alike whatever
their scale. Minimised is the sum of the cases' log losses + RIDGE / 2 * |weights|^2; the constant
is free. Newton's method with halved steps (Hastie, Tibshirani and Friedman 2009, section 4.4.1):
the ridge makes it strictly convex, so it has one minimum also where the kinds are separable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 1.0
STEPS = 100
_FLAT = 1e-9
_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Weights of the signals as they came, one a column. `converged` tells that the slope at the
    end is flat, below 1e-9 a case."""

    constant: float
    weights: tuple[float, ...]
    converged: bool

    def evidence(self, row: _Array) -> float:
        """Return the log odds of the first kind for one row of signals."""
        return self.constant + float(np.dot(row, self.weights))


def fitted(rows: _Array, labels: _Array, *, ridge: float = RIDGE) -> Fit:
    """Return the weights for `rows` (cases, signals) with `labels` 1.0 or 0.0.

    Raises: ValueError where a kind is missing, a number is not finite, or the ridge is not above
    0: then there may be no minimum.
    """
    if ridge <= 0 or not np.isfinite(rows).all() or set(labels.tolist()) != {0.0, 1.0}:
        raise ValueError("a fit needs finite signals of both kinds, and a ridge above 0")
    mean, deviation = rows.mean(0), rows.std(0)
    # A signal that is the same everywhere tells nothing: it stays 0, and so does its weight.
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    columns = np.column_stack([np.ones(len(rows)), (rows - mean) / scale])
    penalty = np.full(columns.shape[1], ridge)
    penalty[0] = 0.0
    weights = np.zeros(columns.shape[1])
    loss = _loss(columns, labels, weights, penalty)
    converged = False
    for _ in range(STEPS):
        chance = _chance(columns @ weights)
        slope = columns.T @ (chance - labels) + penalty * weights
        if float(np.abs(slope).max()) < _FLAT * len(rows):
            converged = True
            break
        bend = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        for halved in range(30):
            trial = weights - step / 2**halved
            # Near the end, losses differ by rounding.
            if (new := _loss(columns, labels, trial, penalty)) <= loss + 1e-12 * (1 + loss):
                weights, loss = trial, new
                break
        else:
            break
    plain = weights[1:] / scale
    constant = float(weights[0] - plain @ mean)
    return Fit(constant=constant, weights=tuple(plain.tolist()), converged=converged)


def log_loss(fit: Fit, rows: _Array, labels: _Array) -> float:
    """Return the mean of -log(chance of what is true)."""
    odds = fit.constant + rows @ np.array(fit.weights)
    return float(np.mean(np.logaddexp(0.0, np.where(labels == 1, -odds, odds))))


def _chance(odds: _Array) -> _Array:
    # exp of a large number overflows; of its negative it does not.
    grown = np.exp(-np.abs(odds))
    chance: _Array = np.where(odds >= 0, 1 / (1 + grown), grown / (1 + grown))
    return chance


def _loss(columns: _Array, labels: _Array, weights: _Array, penalty: _Array) -> float:
    odds = columns @ weights
    lost = float(np.logaddexp(0.0, np.where(labels == 1, -odds, odds)).sum())
    return lost + float(penalty @ weights**2) / 2
