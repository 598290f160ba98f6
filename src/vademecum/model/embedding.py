"""What is an embedding, and in which space may it be compared?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vademecum.errors import EmbeddingInvalid

FloatArray = NDArray[np.float32]
Role = Literal["query", "passage"]
_HINT = "check models.embedding and its server, then try again"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """Everything that makes two vectors comparable; vectors of two spaces never are.

    `revision` pins the weights (a digest or a provider's version). The prefixes are put
    before each text by the embedder and belong to the space: changing one is another space.
    """

    provider: str
    model: str
    revision: str
    dimension: int
    metric: Literal["cosine"]
    query_prefix: str
    passage_prefix: str

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= 4000:
            raise ValueError(f"dimension must lie in 1..4000, not {self.dimension}")

    @property
    def name(self) -> str:
        """A stable text that is equal for equal spaces, for keys and messages."""
        return (
            f"{self.provider}:{self.model}@{self.revision}/{self.dimension}/{self.metric}"
            f"/{self.query_prefix!r}/{self.passage_prefix!r}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStates:
    """One text as the encoder saw it.

    `vector` has shape (d,), L2 norm 1. `token_ids` has shape (t,), `states` (t, d): the last
    layer's states of the text's own tokens, prefix and special tokens left out, not normalised.
    `weights` (t,) tells how much each token says, more than 0: rare ones say more.
    """

    vector: FloatArray
    token_ids: NDArray[np.int64]
    states: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """What a chunk is found by: its vector, shape (d,), and the packed signs of its centred token
    states (see `rank.maxsim.packed_signs`), None where no encoder gave any."""

    vector: FloatArray
    signs: bytes | None


def check_vectors(vectors: FloatArray, *, count: int, dimension: int) -> None:
    """Raise EmbeddingInvalid where rows are missing, not finite or zero: such a row would be
    stored beside the wrong text or upset every ordering."""
    if vectors.shape != (count, dimension):
        raise EmbeddingInvalid(
            f"the embedder gave vectors of shape {vectors.shape}, not {(count, dimension)}",
            hint=_HINT,
        )
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.isfinite(norms).all():
        raise EmbeddingInvalid(
            "the embedder gave a vector of which a value is not a number or not finite", hint=_HINT
        )
    if not norms.all():
        raise EmbeddingInvalid("the embedder gave a zero vector", hint=_HINT)


def check_states(encoded: Sequence["TokenStates"], *, count: int) -> None:
    """Raise EmbeddingInvalid where a text has no token states, or states that are not finite."""
    if len(encoded) != count:
        raise EmbeddingInvalid(
            f"the encoder gave {len(encoded)} texts, not {count}", hint="try again"
        )
    if not all(np.isfinite(own.states).all() for own in encoded):
        raise EmbeddingInvalid("the encoder gave states that are not finite", hint="try again")


def unit_vectors(vectors: FloatArray, *, count: int, dimension: int) -> FloatArray:
    """Return the rows scaled to L2 norm 1, shape (count, dimension), float32.

    Raises: EmbeddingInvalid, as `check_vectors`.
    """
    check_vectors(vectors, count=count, dimension=dimension)
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    scaled: FloatArray = (vectors / norms).astype(np.float32)
    return scaled
