"""How much of what is nearest does this index's dense leg find, and how quickly?

Each query is searched twice: as the product does, and by comparing everything.
"""

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vademecum.app import App
from vademecum.errors import DocumentNotFound
from vademecum.evaluate.plan import found_share
from vademecum.model.embedding import FloatArray
from vademecum.model.index import DenseHits, Selection
from vademecum.model.principal import Scope
from vademecum.ports.index import Index
from vademecum.postgres.index import PostgresIndex
from vademecum.retrieve.pipeline import CANDIDATES

# More than any index holds, so that none is too large to be compared one by one.
_EVERYTHING = 2**62
# A query is embedded as a whole; of a chunk's text so much says what it is about.
_QUERY_LETTERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Recall@k (0..1) of the dense leg against exact search over `queries` queries: the mean and
    the lowest one. `origin` tells where they came from, `plans` how often each way was taken, the
    medians are of one search in milliseconds, without embedding."""

    chunks: int
    k: int
    queries: int
    origin: Literal["traces", "chunks"]
    recall: float
    lowest: float
    plans: Mapping[str, int]
    p50_ms: float
    exact_p50_ms: float


async def measure(app: App, *, scope: Scope, k: int, queries: int) -> Measured:
    """Search the newest different queries of the traces that `scope` may read, at most `queries`;
    where there are none, texts of chunks that it may see, which are easier, as each finds itself.

    Raises: DocumentNotFound where there is nothing to search; what embedding raises.
    """
    texts, origin = await _texts(app, scope, queries)
    parts = app.answer_parts.retrieve
    exact = PostgresIndex(app.catalogue.pool, app.ingest_parts.generation, exact_below=_EVERYTHING)
    async with exact.reading(scope) as reader:
        chunks = sum((await reader.languages()).values())
    if not texts or not chunks:
        raise DocumentNotFound(
            "there is nothing to measure", hint="ingest some documents, then try again"
        )
    vectors = await parts.embedder.embed(texts, "query")
    wanted = max(CANDIDATES, 2 * k)  # as the search line asks, of which the best k are compared
    shares: list[float] = []
    plans: Counter[str] = Counter()
    times: list[float] = []
    exact_times: list[float] = []
    await _search(app, parts.index, scope, vectors[0], wanted)  # the first one reads the disk
    for vector in vectors:
        all_of_them, slow = await _search(app, exact, scope, vector, wanted)
        found, quick = await _search(app, parts.index, scope, vector, wanted)
        shares.append(found_share(_scores(found), _scores(all_of_them), k))
        plans[found.plan] += 1
        times.append(quick)
        exact_times.append(slow)
    return Measured(
        chunks=chunks,
        k=k,
        queries=len(texts),
        origin=origin,
        recall=statistics.fmean(shares),
        lowest=min(shares),
        plans=dict(plans),
        p50_ms=statistics.median(times),
        exact_p50_ms=statistics.median(exact_times),
    )


async def _texts(
    app: App, scope: Scope, queries: int
) -> tuple[list[str], Literal["traces", "chunks"]]:
    asked = await app.catalogue.records.queries(scope, queries)
    if asked:
        return asked, "traces"
    texts = await app.catalogue.documents.some_texts(scope, queries)
    return [text[:_QUERY_LETTERS] for text in texts], "chunks"


async def _search(
    app: App, index: Index, scope: Scope, vector: FloatArray, k: int
) -> tuple[DenseHits, float]:
    """Return what one search found, and its time in milliseconds."""
    clock = app.answer_parts.retrieve.clock
    began = clock.monotonic()
    async with index.reading(scope) as reader:
        found = await reader.search_dense(vector, Selection(), k)
    return found, 1000 * (clock.monotonic() - began)


def _scores(found: DenseHits) -> list[float]:
    return [hit.score for hit in found.hits]
