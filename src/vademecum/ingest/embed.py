"""Which vectors and token states does a document need, and are they whole?"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vademecum.errors import EmbeddingInvalid, ModelUnusable, TextTooLong
from vademecum.model.embedding import Encoded, FloatArray, check_vectors
from vademecum.ports.embedder import Embedder, TokenEncoder, embedded, is_one_model
from vademecum.rank.maxsim import packed_signs

# Texts given to the embedder at a time: what is held beside the vectors stays small. Token states
# are 400 KB a text.
BATCH = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text to encode, in its language."""

    text: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """`rows[i]` is text i's, None where it has none: `failed` tells why, by its position.
    `fresh` counts the texts that had to be embedded."""

    rows: Sequence[Encoded | None]
    failed: Mapping[int, str]
    fresh: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoders:
    """Who gives vectors, and who gives token states. Where it is one, one pass gives both."""

    embedder: Embedder
    encoder: TokenEncoder


_Encode = Callable[[Sequence[Passage]], Awaitable[list[Encoded]]]


async def embed_missing(
    passages: Sequence[Passage], known: Mapping[str, Encoded], encoders: Encoders
) -> Embedded:
    """Give each text what it has already in `known`, or encode it.

    Each distinct missing text is embedded once, in batches of texts of like length, so that
    little is spent on padding. A batch that comes back broken is halved until the one bad text
    is found, which costs only itself; where no text at all has a vector, the embedder is at fault.
    Raises: EmbeddingInvalid then, and what else `Embedder.embed` raises.
    """
    return await _embed_missing(passages, known, partial(_encode, encoders))


async def vectors_of(texts: Sequence[str], embedder: Embedder) -> dict[str, FloatArray]:
    """Return the vector of each of a document's texts, but of those that cannot be embedded. The
    batches depend on the texts alone, so that the same document always gets the same vectors.

    Raises: as `embed_missing`.
    """
    passages = [Passage(text=text, language="") for text in texts]
    embedded = await _embed_missing(passages, {}, partial(_vectors, embedder))
    return {
        text: row.vector for text, row in zip(texts, embedded.rows, strict=True) if row is not None
    }


async def _embed_missing(
    passages: Sequence[Passage], known: Mapping[str, Encoded], encode: _Encode
) -> Embedded:
    missing = {p.text: p for p in passages if p.text not in known}
    ordered = sorted(missing.values(), key=lambda p: (-len(p.text), p.text))
    found = dict(known)
    reasons: dict[str, EmbeddingInvalid | TextTooLong] = {}
    for start in range(0, len(ordered), BATCH):
        await _embed(ordered[start : start + BATCH], encode, found, reasons)
        await asyncio.sleep(0)  # an embedder that never waits must not stop everything else
    if reasons and not found:
        raise next(iter(reasons.values()))
    return Embedded(
        rows=[found.get(p.text) for p in passages],
        failed={i: str(reasons[p.text]) for i, p in enumerate(passages) if p.text in reasons},
        fresh=len(missing) - len(reasons),
    )


async def _embed(
    passages: Sequence[Passage],
    encode: _Encode,
    found: dict[str, Encoded],
    reasons: dict[str, EmbeddingInvalid | TextTooLong],
) -> None:
    try:
        rows = await encode(passages)
    except (EmbeddingInvalid, TextTooLong) as error:
        if len(passages) == 1:
            reasons[passages[0].text] = error
            return
        middle = len(passages) // 2
        await _embed(passages[:middle], encode, found, reasons)
        await _embed(passages[middle:], encode, found, reasons)
    else:
        found.update(zip((p.text for p in passages), rows, strict=True))


async def _vectors(embedder: Embedder, passages: Sequence[Passage]) -> list[Encoded]:
    rows = await embedded(embedder, [p.text for p in passages], "passage")
    return [Encoded(vector=row, signs=None) for row in rows]


async def _encode(encoders: Encoders, passages: Sequence[Passage]) -> list[Encoded]:
    texts = [p.text for p in passages]
    embedder, encoder = encoders.embedder, encoders.encoder
    own = is_one_model(embedder, encoder)
    vectors = None if own else await embedder.embed(texts, "passage")
    try:
        states = await encoder.encode(texts, "passage")
    except (EmbeddingInvalid, ModelUnusable, TextTooLong):
        if own:
            raise
        states = []  # found by their vectors all the same
    dimension = embedder.space.dimension
    if vectors is None:
        rows = [state.vector for state in states]
        vectors = np.array(rows, np.float32).reshape(len(rows), dimension)
    check_vectors(vectors, count=len(texts), dimension=dimension)
    signs: list[bytes | None] = [None] * len(texts)
    if len(states) == len(texts):
        signs = [
            packed_signs(state.states, encoder.centre(p.language))
            for p, state in zip(passages, states, strict=True)
        ]
    return [
        Encoded(vector=vector, signs=own_signs)
        for vector, own_signs in zip(vectors, signs, strict=True)
    ]
