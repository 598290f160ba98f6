"""Are vectors that cannot be used refused?"""

import numpy as np
import pytest

from vademecum.errors import EmbeddingInvalid
from vademecum.model.embedding import unit_vectors


def test_rows_are_scaled_to_norm_one() -> None:
    rows = unit_vectors(np.array([[3, 4], [0, -2]], np.float32), count=2, dimension=2)
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, -1]]
    assert rows.dtype == np.float32


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(EmbeddingInvalid, match="finite"):
        unit_vectors(np.array([[1, 0], [bad, 1]], np.float32), count=2, dimension=2)


def test_a_zero_row_is_refused() -> None:
    with pytest.raises(EmbeddingInvalid, match="zero"):
        unit_vectors(np.zeros((1, 2), np.float32), count=1, dimension=2)


@pytest.mark.parametrize("shape", [(1, 2), (3, 2), (2, 3), (4,)])
def test_missing_or_surplus_rows_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EmbeddingInvalid, match="shape"):
        unit_vectors(np.ones(shape, np.float32), count=2, dimension=2)
