"""How does text become vectors?"""

from collections.abc import Sequence
from typing import Protocol

from vademecum.model.embedding import (
    EmbeddingSpace,
    FloatArray,
    Role,
    TokenStates,
    check_vectors,
)


class Embedder(Protocol):
    """Turn texts into vectors of one EmbeddingSpace; the space's prefixes are added inside."""

    @property
    def space(self) -> EmbeddingSpace: ...

    @property
    def max_tokens(self) -> int:
        """The most tokens of one text, prefix and special tokens not counted."""
        ...

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        """Return shape (len(texts), d), float32, each row of L2 norm 1, in the order given.

        An empty sequence gives shape (0, d) and no work. Equal texts give equal rows whatever
        else is in the batch, to 1e-3 in cosine. A passage longer than `max_tokens` raises
        TextTooLong; a query is cut to it. Blank texts raise ValueError: leave them out before.

        Raises: TextTooLong, ModelUnusable, ProviderAway, EmbeddingInvalid.
        """
        ...


async def embedded(embedder: Embedder, texts: Sequence[str], role: Role) -> FloatArray:
    """Return what `Embedder.embed` gives, checked. Raises: as it, and EmbeddingInvalid where a row
    is missing, not finite or zero."""
    vectors = await embedder.embed(texts, role)
    check_vectors(vectors, count=len(texts), dimension=embedder.space.dimension)
    return vectors


class TokenEncoder(Protocol):
    """Give the token states that late interaction compares."""

    def centre(self, language: str) -> FloatArray:
        """Return the usual token state, shape (d,), of texts in a language (or in any, where it
        is not known), which is subtracted before states are compared. A constant of the model."""
        ...

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        """Return one TokenStates a text, with the same limits and errors as `Embedder.embed`."""
        ...


def is_one_model(embedder: Embedder, encoder: TokenEncoder) -> bool:
    """Tell whether both are one object, so that one pass over a text gives vector and states."""
    model: object = embedder
    return model is encoder


class Tokenizer(Protocol):
    """Count and place the tokens that an embedder will see.

    What follows a blank, line end or tab changes nothing before it: a text that is cut there has
    the same first tokens.
    """

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone, without prefix and special tokens."""
        ...

    def ends(self, text: str) -> list[int]:
        """Return each token's end, as an offset in code points of `text`, never decreasing."""
        ...
