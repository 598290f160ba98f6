"""How far could a mean be off, on other questions of the same kind?

The percentile bootstrap (Efron and Tibshirani 1993, section 13.3): draw n of the n questions with
replacement, B = 1,000 times; the interval runs from the 2.5th to the 97.5th percentile of the B
means (linear between neighbours). The seed is fixed, so that a run read twice says the same.
"""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 1_000
SEED = 20_261
_ENDS = (2.5, 97.5)
# Of this many numbers at once, so that a large set takes no more memory.
_MOST = 4_000_000


def interval(values: Sequence[float], *, resamples: int = RESAMPLES) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the mean of values, one a question.

    Raises: ValueError for no values, and for one that is not finite.
    """
    held = np.asarray(values, np.float64)
    if held.size == 0 or not np.isfinite(held).all():
        raise ValueError("a mean needs values, each a finite number")
    random = np.random.default_rng(SEED)
    rows = max(1, _MOST // held.size)
    means = np.concatenate(
        [
            held[random.integers(0, held.size, size=(min(rows, resamples - at), held.size))].mean(1)
            for at in range(0, resamples, rows)
        ]
    )
    low, high = np.percentile(means, _ENDS)
    # Means of equal numbers differ by rounding.
    return float(np.clip(low, held.min(), held.max())), float(np.clip(high, held.min(), held.max()))
