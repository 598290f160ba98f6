"""How well do a query's tokens find themselves in a text? Late interaction (Khattab 2020)."""

from collections.abc import Sequence

import numpy as np

from vademecum.model.embedding import FloatArray, TokenStates


def centre(texts: Sequence[TokenStates]) -> FloatArray:
    """Return the mean token state, shape (d,), of several texts; zeros if they have no token."""
    states = np.concatenate([text.states for text in texts])
    total: FloatArray = states.sum(axis=0) / max(1, len(states))
    return total


def normalised(states: FloatArray, mean: FloatArray) -> FloatArray:
    """Return states minus `mean`, each of norm 1 (a zero row stays zero). Shape (t, d)."""
    shifted = states - mean
    norms = np.linalg.norm(shifted, axis=1, keepdims=True)
    result: FloatArray = np.divide(
        shifted, norms, out=np.zeros_like(shifted), where=norms > 0
    ).astype(np.float32)
    return result


def maxsim(query: FloatArray, passage: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the weighted mean over query tokens of the best cosine with a passage token.

    `query` (q, d) and `passage` (p, d) hold unit rows; `weights` (q,) sum to more than 0. The
    value lies in -1..1; 0 where either is empty.
    """
    if not len(query) or not len(passage):
        return 0.0
    return float(np.average(best_cosines(query, passage), weights=weights))


def best_cosines(query: FloatArray, passage: FloatArray) -> FloatArray:
    """Return, for each unit row of `query` (q, d), its best cosine with a unit row of `passage`
    (p, d): shape (q,); zeros where there is none."""
    if not len(passage):
        return np.zeros(len(query), np.float32)
    best: FloatArray = (query @ passage.T).max(axis=1)
    return best


def packed_signs(states: FloatArray, mean: FloatArray) -> bytes:
    """Return one bit a dimension of the centred states (t, d), d / 8 bytes a token.

    One bit keeps most of what late interaction gains, at a 32nd of the size.
    """
    return np.packbits(states > mean, axis=1).tobytes()


def unpacked_signs(packed: bytes, dimension: int) -> FloatArray:
    """Return unit rows, shape (t, d), each component 1 or -1 over the root of d."""
    bits = np.frombuffer(packed, np.uint8).reshape(-1, -(-dimension // 8))
    signs = np.unpackbits(bits, axis=1)[:, :dimension].astype(np.float32)
    signs *= 2
    signs -= 1
    signs /= np.sqrt(np.float32(dimension))
    return signs
