"""Which vectors does a document need, and are they whole?"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vademecum.errors import EmbeddingInvalid, TextTooLong
from vademecum.model.embedding import FloatArray, check_vectors
from vademecum.ports.embedder import Embedder

# Texts given to the embedder at a time: what is held beside the vectors stays small.
BATCH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """One row of `vectors`, shape (n, d), for each text. `failed` tells why a text has none, by
    its position: its row is zero. `fresh` counts the texts that had to be embedded."""

    vectors: FloatArray
    failed: Mapping[int, str]
    fresh: int


async def embed_missing(
    texts: Sequence[str], known: Mapping[str, FloatArray], embedder: Embedder
) -> Embedded:
    """Give each text the vector that it has already in `known`, or a new one.

    Each distinct missing text is embedded once, in batches of texts of like length, so that
    little is spent on padding. A batch that comes back broken is halved until the one bad text
    is found, which costs only itself; where no text at all has a vector, the embedder is at fault.
    Raises: EmbeddingInvalid then, and what else `Embedder.embed` raises.
    """
    missing = sorted({text for text in texts if text not in known}, key=len, reverse=True)
    vectors = dict(known)
    reasons: dict[str, EmbeddingInvalid | TextTooLong] = {}
    for start in range(0, len(missing), BATCH):
        await _embed(missing[start : start + BATCH], embedder, vectors, reasons)
        await asyncio.sleep(0)  # an embedder that never waits must not stop everything else
    if reasons and not vectors:
        raise next(iter(reasons.values()))
    dimension = embedder.space.dimension
    nothing = np.zeros(dimension, np.float32)
    rows = [vectors.get(text, nothing) for text in texts]
    return Embedded(
        vectors=np.array(rows, np.float32).reshape(len(texts), dimension),
        failed={i: str(reasons[text]) for i, text in enumerate(texts) if text in reasons},
        fresh=len(missing) - len(reasons),
    )


async def _embed(
    texts: Sequence[str],
    embedder: Embedder,
    vectors: dict[str, FloatArray],
    reasons: dict[str, EmbeddingInvalid | TextTooLong],
) -> None:
    try:
        fresh = await embedder.embed(texts, "passage")
        check_vectors(fresh, count=len(texts), dimension=embedder.space.dimension)
    except (EmbeddingInvalid, TextTooLong) as error:
        if len(texts) == 1:
            reasons[texts[0]] = error
            return
        middle = len(texts) // 2
        await _embed(texts[:middle], embedder, vectors, reasons)
        await _embed(texts[middle:], embedder, vectors, reasons)
    else:
        vectors.update(zip(texts, fresh, strict=True))
