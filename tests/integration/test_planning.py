"""Does measuring an index tell how much of what is nearest it finds, of whose questions?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.app import App
from vademecum.errors import DocumentNotFound
from vademecum.model.index import DenseHits, Selection
from vademecum.model.principal import Scope
from vademecum.planning import measure
from vademecum.ports.index import Index
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import PostgresIndex
from vademecum.postgres.pool import Pool

CHUNKS, DOCUMENTS = 240, 4


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    bench = await make_bench(pool, database_url, tmp_path)
    rng = np.random.default_rng(3)
    words = [f"w{n}" for n in range(50)]
    for n in range(DOCUMENTS):  # two paragraphs of 12 words are more than a chunk of 20 tokens
        lines = [" ".join(rng.choice(words, 12)) for _ in range(CHUNKS // DOCUMENTS)]
        await bench.ingest(source(f"d{n}", "\n\n".join(lines)))
    assert bench.count("chunk") == CHUNKS
    return bench


def with_index(app: App, index: Index) -> App:
    parts = replace(app.answer_parts.retrieve, index=index)
    return replace(app, answer_parts=replace(app.answer_parts, retrieve=parts))


class Forgetful:
    """An index that never finds the nearest."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @asynccontextmanager
    async def reading(self, scope: Scope) -> AsyncIterator[Any]:
        async with self._index.reading(scope) as reader:
            whole = reader.search_dense

            async def without_the_nearest(query: Any, selection: Selection, k: int) -> DenseHits:
                found = await whole(query, selection, k)
                return replace(found, hits=found.hits[1:], plan="forgetful")

            reader.search_dense = without_the_nearest
            yield reader


async def test_questions_that_were_asked_are_measured_through_the_graph(bench: Bench) -> None:
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    index = PostgresIndex(
        bench.app.catalogue.pool, bench.app.ingest_parts.generation, exact_below=100
    )
    app = with_index(bench.app, index)
    for text in ("w1 w2 w3", "w4 w5", "w1 w2 w3"):
        await app.search(text, scope=OPERATOR)
    await app.ask("Where is w7 w8 w9?", scope=OPERATOR)
    measured = await measure(app, scope=OPERATOR, k=10, queries=50)
    # The one that was asked twice counts once; an answer's searches are questions, too.
    assert (measured.origin, measured.queries, measured.chunks) == ("traces", 3, CHUNKS)
    assert measured.plans == {"graph": 3}
    assert measured.recall >= 0.98
    assert min(measured.p50_ms, measured.exact_p50_ms) > 0
    assert (await measure(app, scope=OPERATOR, k=10, queries=1)).queries == 1


async def test_the_newest_questions_come_first(bench: Bench) -> None:
    for text in ("w1", "w2", "w1"):
        await bench.app.search(text, scope=OPERATOR)
    await bench.app.search(" ", scope=OPERATOR)
    assert await bench.app.catalogue.records.queries(OPERATOR, 2) == ["w1", "w2"]


async def test_what_is_not_found_is_counted(bench: Bench) -> None:
    app = with_index(bench.app, Forgetful(bench.app.answer_parts.retrieve.index))
    # One question without equally near chunks, so that no other one can stand for the nearest.
    await app.search("w1 w11 w21 w31 w41", scope=OPERATOR, k=1)
    [question] = await app.catalogue.records.queries(OPERATOR, 10)
    vector = (await app.answer_parts.retrieve.embedder.embed([question], "query"))[0]
    async with bench.app.answer_parts.retrieve.index.reading(OPERATOR) as reader:
        scores = [h.score for h in (await reader.search_dense(vector, Selection(), 12)).hits]
    assert scores[9] > scores[10]
    measured = await measure(app, scope=OPERATOR, k=10, queries=10)
    assert measured.plans == {"forgetful": 1}
    assert measured.recall == measured.lowest == pytest.approx(0.9)


async def test_without_questions_chunks_ask_for_themselves(bench: Bench) -> None:
    measured = await measure(bench.app, scope=OPERATOR, k=5, queries=20)
    assert (measured.origin, measured.queries) == ("chunks", 20)
    assert measured.plans == {"exact": 20}
    assert measured.recall == measured.lowest == 1.0


async def test_questions_of_other_tenants_and_principals_are_not_read(bench: Bench) -> None:
    await bench.app.search("w1 secret", scope=Scope.for_operator("other"))
    person = Scope.for_principal("default", "user:ana", frozenset())
    await bench.app.search("w2", scope=OPERATOR)
    assert await bench.app.catalogue.records.queries(OPERATOR, 10) == ["w2"]
    assert await bench.app.catalogue.records.queries(person, 10) == []
    assert (await measure(bench.app, scope=person, k=5, queries=3)).origin == "chunks"


async def test_nothing_to_measure_is_said(pool: Pool, database_url: str, tmp_path: Path) -> None:
    bench = await make_bench(pool, database_url, tmp_path)
    with pytest.raises(DocumentNotFound, match="nothing to measure"):
        await measure(bench.app, scope=OPERATOR, k=10, queries=10)
    await bench.app.search("w1", scope=OPERATOR)
    with pytest.raises(DocumentNotFound, match="nothing to measure"):
        await measure(bench.app, scope=OPERATOR, k=10, queries=10)
