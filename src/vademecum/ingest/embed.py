"""Which vectors does a document need, and are they whole?"""

from collections.abc import Mapping, Sequence

import numpy as np

from vademecum.model.embedding import FloatArray, check_vectors
from vademecum.ports.embedder import Embedder


async def embed_missing(
    texts: Sequence[str], known: Mapping[str, FloatArray], embedder: Embedder
) -> tuple[FloatArray, int]:
    """Return one vector a text, shape (n, d), and how many texts had to be embedded.

    `known` maps a text to the vector it already has. Each distinct missing text is embedded once.
    Raises: what `Embedder.embed` raises.
    """
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    dimension = embedder.space.dimension
    fresh = await embedder.embed(missing, "passage")
    check_vectors(fresh, count=len(missing), dimension=dimension)
    vectors = {**known, **dict(zip(missing, fresh, strict=True))}
    rows = [vectors[text] for text in texts]
    return np.array(rows, np.float32).reshape(len(texts), dimension), len(missing)
