"""Which vectors does a document need, and are they whole?"""

from collections.abc import Mapping, Sequence

import numpy as np

from vademecum.errors import EmbeddingInvalid
from vademecum.model.embedding import FloatArray
from vademecum.ports.embedder import Embedder


async def embed_missing(
    texts: Sequence[str], known: Mapping[str, FloatArray], embedder: Embedder
) -> tuple[FloatArray, int]:
    """Return one vector a text, shape (n, d), and how many texts had to be embedded.

    `known` maps a text to the vector it already has. Each distinct missing text is embedded once.
    """
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    fresh = await embedder.embed(missing, "passage") if missing else np.zeros((0, 0), np.float32)
    check_vectors(fresh, len(missing), embedder.space.dimension)
    vectors = {**known, **dict(zip(missing, fresh, strict=True))}
    rows = [vectors[text] for text in texts]
    return np.array(rows, np.float32).reshape(len(texts), embedder.space.dimension), len(missing)


def check_vectors(vectors: FloatArray, count: int, dimension: int) -> None:
    """Raise EmbeddingInvalid where an embedder's answer is short, not finite or zero."""
    if not count:
        return
    if vectors.shape != (count, dimension):
        raise EmbeddingInvalid(
            f"the embedder gave shape {vectors.shape} for {count} texts of {dimension} dimensions",
            hint="nothing was stored; check models.embedding",
        )
    if not np.isfinite(vectors).all() or not np.abs(vectors).sum(axis=1).all():
        raise EmbeddingInvalid(
            "the embedder gave a vector that is zero or not a number",
            hint="nothing was stored; ingest the document again",
        )
