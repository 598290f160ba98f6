"""How large will an index be, how long will it take to make, and how much of what is nearest does
a graph find?"""

from collections.abc import Sequence
from dataclasses import dataclass

# Links a node of the graph keeps on each layer, and twice as many on the lowest.
M = 16
_GIGA = 1e9
# Measured at 10,000 chunks ("What a chunk takes" in docs/explanation/performance.md): bytes of a
# row without what grows with its chunk, with its share of the indexes and of its document's
# rows; then bytes of each letter (in the chunk, and once more in the document's text, compressed),
# of each different term (in the row, in its index, in the counts) and of each byte of signs.
_TEXT_ROW, _LETTER = 620.0, 1.7
_TERMS_ROW, _TERM = 260.0, 42.0
_VECTOR_ROW = 230.0
_STATES_ROW, _SIGN_BYTE = 60.0, 1.15
# Of the local model on two cores, for a token of a passage; and of one chunk without embedding.
_EMBED_SECONDS_A_TOKEN = 0.36e-3
_STORE_SECONDS_A_CHUNK = 4.0e-3
_GRAPH_SECONDS_A_CHUNK = 0.5e-3
# A dense leg that takes longer, or misses more, is worth another way.
_SLOW_MILLISECONDS, _LEAST_RECALL = 50.0, 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What is to be stored: `chunks` of about `tokens` tokens, each with a vector of `dimension`
    numbers of `number_bytes` bytes. `token_dimension` is that of the token states that are kept,
    0 for none; letters and different terms a token are those of English prose."""

    chunks: int
    dimension: int
    number_bytes: int = 2
    tokens: int = 200
    token_dimension: int = 384
    letters_a_token: float = 4.2
    terms_a_token: float = 0.55

    def __post_init__(self) -> None:
        if min(self.chunks, self.dimension, self.number_bytes, self.tokens) < 1:
            raise ValueError("chunks, dimension, bytes and tokens must each be 1 or more")
        if self.token_dimension < 0:
            raise ValueError(f"token_dimension must not be negative: {self.token_dimension}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bytes:
    """What one chunk takes on disk, in bytes, with its share of each table's indexes."""

    text: float
    terms: float
    vector: float
    graph: float
    states: float

    @property
    def total(self) -> float:
        return self.text + self.terms + self.vector + self.graph + self.states


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """How long it takes on two cores: embedding with the local model, everything else of
    ingestion, building the graph."""

    embed: float
    store: float
    graph: float


def graph_gigabytes(size: Size) -> float:
    """Return the usual estimate of a graph with its vectors, in units of 1e9 bytes:
    (n * d * bytes + n * 2 * M * 8) / 1e9 with M = 16 (see `VALUES.md`)."""
    links = size.chunks * 2 * M * 8
    return (size.chunks * size.dimension * size.number_bytes + links) / _GIGA


def bytes_a_chunk(size: Size, *, graph: bool) -> Bytes:
    """Return what one chunk takes in our tables, from what was measured; `graph` tells whether the
    index is large enough to have one.

    The graph holds the vectors once more, and vectors are kept in 2 bytes a number, whatever is
    planned.
    """
    stored = 2.0 * size.dimension
    signs = size.tokens * size.token_dimension / 8
    return Bytes(
        text=_TEXT_ROW + _LETTER * size.letters_a_token * size.tokens,
        terms=_TERMS_ROW + _TERM * size.terms_a_token * size.tokens,
        vector=_VECTOR_ROW + stored,
        graph=stored + 2 * M * 8 if graph else 0.0,
        states=_STATES_ROW + _SIGN_BYTE * signs if signs else 0.0,
    )


def seconds(size: Size, *, graph: bool) -> Seconds:
    """Return the time of a first ingestion on two cores without anything else to do."""
    return Seconds(
        embed=size.chunks * size.tokens * _EMBED_SECONDS_A_TOKEN,
        store=size.chunks * _STORE_SECONDS_A_CHUNK,
        graph=size.chunks * _GRAPH_SECONDS_A_CHUNK if graph else 0.0,
    )


def price(size: Size, per_million: float) -> float:
    """Return what embedding costs at a provider, in the currency of `per_million` tokens."""
    return size.chunks * size.tokens / 1e6 * per_million


def found_share(scores: Sequence[float], exact: Sequence[float], k: int) -> float:
    """Return recall@k of a search against an exact one of the same query: the share of the exact
    search's first k whose place was taken by something as near. Both are scores, best first, by
    the same measure; equally near ones may stand for each other. 1.0 where nothing is there.

    Raises: ValueError for k below 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1: {k}")
    wanted = exact[:k]
    if not wanted:
        return 1.0
    return sum(score >= wanted[-1] for score in scores[:k]) / len(wanted)


def advice(
    chunks: int, recall: float, milliseconds: float, exact_milliseconds: float, plan: str
) -> str:
    """Return which `search.exact_below` suits an index of so many chunks, by what was measured of
    its dense leg: recall@k, the median times, and how it was searched (exact, graph)."""
    if "graph" not in plan:
        if exact_milliseconds <= _SLOW_MILLISECONDS:
            return "search.exact_below is right: comparing one by one is quick and misses nothing"
        return (
            f"comparing one by one takes {exact_milliseconds:.0f} ms: set search.exact_below under"
            f" {chunks}, so that a graph is used"
        )
    if recall < _LEAST_RECALL or exact_milliseconds <= milliseconds:
        return (
            f"the graph finds {recall:.3f} of the nearest: set search.exact_below = {chunks} to"
            f" compare one by one, in {exact_milliseconds:.0f} ms instead of {milliseconds:.0f} ms"
        )
    return f"search.exact_below is right: the graph finds {recall:.3f} of the nearest"
