"""Which embedder can a test use that needs no model and fails on demand?"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from typing import Final

import numpy as np
import regex

from vademecum.errors import TextTooLong
from vademecum.model.embedding import EmbeddingSpace, FloatArray, Role, TokenStates, unit_vectors

# At most 8 letters a token, so that a giant word has many tokens, as with a real tokenizer; a Han
# letter and a mark of punctuation are a token each.
_TOKEN: Final = regex.compile(
    r"\p{Han}|[[\p{L}\p{M}\p{N}]--\p{Han}]{1,8}|[^\s\p{L}\p{M}\p{N}]", regex.V1
)
_MARK: Final = regex.compile(r"[^\p{L}\p{M}\p{N}]")
_MARK_WEIGHT: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong in one call: first the delay in seconds, then the error, then bad rows."""

    delay: float = 0.0
    error: Exception | None = None
    drop_rows: int = 0
    nan_rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it arrived: the texts with their prefix, and their role."""

    texts: tuple[str, ...]
    role: Role


class HashEmbedder:
    """Embedder, TokenEncoder and Tokenizer whose vectors are sums of hashed words.

    Texts that share words are near, whatever their order, case or role; the same text gives the
    same vector in every process and version. Another `model` gives vectors unrelated to these.
    `calls` records what arrived; `faults` maps the number of a call, from 1, to its fault. A text
    that holds `broken` always gets a vector that is none.
    """

    def __init__(
        self,
        *,
        dimension: int = 64,
        max_tokens: int = 500,
        model: str = "hash",
        query_prefix: str = "query: ",
        passage_prefix: str = "passage: ",
        faults: Mapping[int, Fault] | None = None,
        broken: str | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self._max_tokens = max_tokens
        self._faults = dict(faults or {})
        self._broken = broken
        self._space = EmbeddingSpace(
            provider="testing",
            model=model,
            revision="1",
            dimension=dimension,
            metric="cosine",
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    async def embed(self, texts: Sequence[str], role: Role) -> FloatArray:
        """See `Embedder.embed`; a scripted fault may break the promise made there."""
        states = await self._states(texts, role)
        if not states:
            return np.empty((0, self._space.dimension), np.float32)
        return np.stack([state.vector for state in states])

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        """See `TokenEncoder.encode`; shares calls and faults with `embed`."""
        return await self._states(texts, role)

    def centre(self, language: str) -> FloatArray:
        """See `TokenEncoder.centre`: these states lie around zero."""
        return np.zeros(self._space.dimension, np.float32)

    def count(self, text: str) -> int:
        """See `Tokenizer.count`."""
        return len(_TOKEN.findall(text))

    def ends(self, text: str) -> list[int]:
        """See `Tokenizer.ends`."""
        return [found.end() for found in _TOKEN.finditer(text)]

    async def _states(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        if any(not text.strip() for text in texts):
            raise ValueError("a blank text has no embedding: leave it out before")
        if not texts:
            return []
        prefix = self._space.query_prefix if role == "query" else self._space.passage_prefix
        self.calls.append(Call(texts=tuple(prefix + text for text in texts), role=role))
        fault = self._faults.get(len(self.calls), Fault())
        await asyncio.sleep(fault.delay)
        if fault.error is not None:
            raise fault.error
        states = [self._encoded(text, role) for text in texts]
        for row in fault.nan_rows:
            states[row].vector.fill(np.nan)
        for text, state in zip(texts, states, strict=True):
            if self._broken and self._broken in text:
                state.vector.fill(np.nan)
        return states[: len(states) - fault.drop_rows]

    def _encoded(self, text: str, role: Role) -> TokenStates:
        tokens = _TOKEN.findall(text.casefold())
        if len(tokens) > self._max_tokens and role == "passage":
            raise TextTooLong(
                f"The passage has {len(tokens)} tokens, more than {self._max_tokens}",
                hint="Split it into smaller chunks",
            )
        kept = tokens[: self._max_tokens]
        # The empty token keeps the vector off zero when words cancel each other.
        weights = [_MARK_WEIGHT if _MARK.match(token) else 1.0 for token in kept]
        rows = np.stack([self._row(token) for token in ("", *kept)])
        total = np.array([_MARK_WEIGHT / 3, *weights], np.float32) @ rows
        return TokenStates(
            vector=unit_vectors(total[None], count=1, dimension=self._space.dimension)[0],
            token_ids=np.array([_number(token) for token in kept], np.int64),
            states=rows[1:],
            weights=np.array(weights, np.float32),
        )

    def _row(self, token: str) -> FloatArray:
        """Return the token's vector, shape (d,), each component 1 or -1."""
        seed = f"{self._space.model}\0{token}".encode("utf-8", "surrogatepass")
        bits = np.frombuffer(shake_256(seed).digest(-(-self._space.dimension // 8)), np.uint8)
        return np.unpackbits(bits)[: self._space.dimension].astype(np.float32) * 2 - 1


def _number(token: str) -> int:
    return int.from_bytes(shake_256(token.encode("utf-8", "surrogatepass")).digest(4), "big")
