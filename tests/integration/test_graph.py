"""Does the graph find what comparing everything finds, and is it used only where it may be?"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import Bench, make_bench, source

from vademecum.model.index import Selection
from vademecum.model.principal import Scope
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import PostgresIndex
from vademecum.postgres.pool import Pool

OPERATOR = Scope.for_operator("default")
FEW = Scope.for_principal("default", "user:few", frozenset({"group:few"}))
MANY = Scope.for_principal("default", "user:many", frozenset({"group:many"}))
MOST = 2**40


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    """600 chunks that many may see and 20 that few may see."""
    bench = await make_bench(pool, database_url, tmp_path)
    rng = np.random.default_rng(5)
    await bench.ingest(
        source("many", chunks(rng, 600), access=["group:many"]),
        source("few", chunks(rng, 20), access=["group:few"]),
    )
    assert bench.count("chunk_vector") == 620
    return bench


def chunks(rng: np.random.Generator, count: int) -> str:
    """A text of so many chunks: two of its paragraphs do not go into one."""
    words = [f"w{n}" for n in range(60)]
    return "\n\n".join(" ".join(rng.choice(words, 12)) for _ in range(count))


async def nearest(bench: Bench, query: str, scope: Scope, *, exact_below: int) -> tuple[str, list]:
    parts = bench.app.answer_parts.retrieve
    index = PostgresIndex(
        bench.app.catalogue.pool, bench.app.ingest_parts.generation, exact_below=exact_below
    )
    vector = (await parts.embedder.embed([query], "query"))[0]
    async with index.reading(scope) as reader:
        found = await reader.search_dense(vector, Selection(), 10)
    return found.plan, [hit.chunk_id for hit in found.hits]


async def test_it_is_built_once_and_only_where_it_is_worth_it(bench: Bench) -> None:
    generation = bench.app.ingest_parts.generation
    assert not await PostgresGraph(bench.superuser, generation, fewest=621).tend()
    graph = PostgresGraph(bench.superuser, generation, fewest=620)
    assert await graph.tend()
    assert not await graph.tend()
    bench.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid ="
              f" 'vademecum.chunk_vector_graph_{generation.id}_en'::regclass")  # fmt: skip
    assert (await nearest(bench, "w1 w2", MANY, exact_below=0))[0] == "exact"
    assert await graph.tend()


async def test_a_graph_finds_what_comparing_all_finds(bench: Bench) -> None:
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    same = 0
    for n in range(30):
        query = f"w{n} w{n + 3} w{n + 7}"
        told, near = await nearest(bench, query, MANY, exact_below=100)
        plain, exact = await nearest(bench, query, MANY, exact_below=MOST)
        assert (told, plain) == ("graph", "exact")
        assert len(near) == len(exact) == 10
        same += len(set(near) & set(exact))
    assert same >= 0.98 * 300


async def test_each_language_has_a_graph_of_its_own(bench: Bench) -> None:
    """A question finds what is nearest in every language, the small ones compared beside."""
    rng = np.random.default_rng(6)
    await bench.ingest(
        *(
            source(name, chunks(rng, count), language=name, access=["group:many"])
            for name, count in (("pt", 150), ("es", 30))
        )
    )
    generation = bench.app.ingest_parts.generation
    graph = PostgresGraph(bench.superuser, generation, fewest=100)
    assert await graph.tend()
    names = bench.sql("SELECT relname FROM pg_class WHERE relname LIKE 'chunk_vector_graph%'")
    made = {name.removeprefix(f"chunk_vector_graph_{generation.id}_") for (name,) in names}
    languages = dict(
        bench.sql("SELECT language, count(*) FROM vademecum.chunk_vector GROUP BY language")
    )
    assert made == {name for name, count in languages.items() if count >= 100}
    assert len(made) >= 2
    same = 0
    for n in range(30):
        query = f"w{n} w{n + 3} w{n + 7}"
        told, near = await nearest(bench, query, MANY, exact_below=90)
        plain, exact = await nearest(bench, query, MANY, exact_below=MOST)
        assert (told, plain) == ("exact, graph", "exact")
        same += len(set(near) & set(exact))
    assert same >= 0.98 * 300
    await graph.drop()
    assert bench.sql("SELECT 1 FROM pg_class WHERE relname LIKE 'chunk_vector_graph%'") == []
    assert (await nearest(bench, "w1 w2", MANY, exact_below=90))[0] == "exact"


async def test_few_are_compared_one_by_one_whatever_else_there_is(bench: Bench) -> None:
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    told, near = await nearest(bench, "w1 w2 w3", FEW, exact_below=100)
    assert told == "exact"
    assert near == (await nearest(bench, "w1 w2 w3", FEW, exact_below=MOST))[1]
    # And where the graph was asked all the same, no row is lacking.
    told, near = await nearest(bench, "w1 w2 w3", FEW, exact_below=0)
    assert len(near) == 10


async def test_the_past_and_what_has_a_last_day_are_found_beside_the_graph(bench: Bench) -> None:
    await bench.ingest(
        source("ends", "w1 w1 w1 quokka", access=["group:many"],
               metadata={"effective_until": "2099-12-31"})
    )  # fmt: skip
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    (ends,) = bench.sql(
        "SELECT c.id FROM vademecum.chunk c JOIN vademecum.document d ON d.id = c.document"
        " WHERE d.uri = 'ends'"
    )[0]
    told, near = await nearest(bench, "w1 w1 w1 quokka", MANY, exact_below=100)
    assert told == "graph"
    assert near[0] == ends


async def test_a_search_tells_how_it_searched(bench: Bench) -> None:
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    parts = bench.app.answer_parts.retrieve
    index = PostgresIndex(
        bench.app.catalogue.pool, bench.app.ingest_parts.generation, exact_below=100
    )
    answering = replace(bench.app.answer_parts, retrieve=replace(parts, index=index))
    search = await replace(bench.app, answer_parts=answering).search("w1", scope=MANY)
    assert search.retrieval.plan == "graph"
    assert search.retrieval.fusion == {
        "mode": "hybrid", "method": "upper_bound", "k": None, "dense_weight": 0.5,
        "rerank": "maxsim",
    }  # fmt: skip
