"""Does the dense leg compare several languages rightly, each less its own usual cosine?"""

import asyncio
from pathlib import Path

import numpy as np
import psycopg
import pytest
from support import OPERATOR, Bench, make_bench, source

from vademecum.model.filter_json import parse_filter
from vademecum.model.index import DenseHits, Selection
from vademecum.model.principal import Scope
from vademecum.postgres.graph import PostgresGraph
from vademecum.postgres.index import PostgresIndex
from vademecum.postgres.pool import Pool

# A language of too few chunks for a mean of its own is compared with the mean of the means.
SIZES = {"en": 90, "pt": 50, "es": 60, "ja": 5}
FEW = Scope.for_principal("default", "user:few", frozenset({"group:few"}))
MOST = 2**40
TEXTS = {
    "en": "the {0} and the {1} are where this {2} has been with them",
    "pt": "o {0} não está com a {1} que também é uma {2} muito boa",
    "es": "el {0} está con la {1} pero también hay una {2} muy buena",
    "ja": "この{0}は{1}と{2}です",
}


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    """Chunks of four languages in two collections, divided into ten documents a language, of which
    one may be seen by few only."""
    bench = await make_bench(pool, database_url, tmp_path)
    rng = np.random.default_rng(4)
    words = [f"w{n}" for n in range(40)]
    await bench.ingest(
        *(
            source(
                f"{language}{n}",
                # Two of these lines are more than a chunk of 20 tokens.
                "\n\n".join(
                    TEXTS[language].format(*rng.choice(words, 3)) for _ in range(n, count, 10)
                ),
                language=language,
                collection="rules" if n % 3 else "notices",
                access=["group:few"] if n == 0 else ["tenant"],
                metadata={"even": n % 2 == 0},
            )
            for language, count in SIZES.items()
            for n in range(min(count, 10))
        )
    )
    assert bench.count("chunk") == sum(SIZES.values())
    return bench


async def search(
    bench: Bench,
    query: str,
    *,
    scope: Scope = OPERATOR,
    selection: Selection = Selection(),  # noqa: B008  # frozen
    exact_below: int = MOST,
    k: int = 40,
) -> DenseHits:
    index = PostgresIndex(
        bench.app.catalogue.pool, bench.app.ingest_parts.generation, exact_below=exact_below
    )
    vector = (await bench.embedder.embed([query], "query"))[0]
    async with index.reading(scope) as reader:
        return await reader.search_dense(vector, selection, k)


async def brute_force(
    bench: Bench, query: str, *, seen: str = "true", only: str = "true"
) -> dict[object, float]:
    """Every chunk's score, as the leg is described: its cosine less that of the mean vector of
    its collection's language, or the mean of those where it has none."""
    vector = (await bench.embedder.embed([query], "query"))[0]
    rows = bench.sql(
        "SELECT v.chunk, v.collection, v.language, v.embedding::real[], d.id IS NOT NULL"
        f" FROM vademecum.chunk_vector v LEFT JOIN vademecum.document d ON d.id = v.document"
        f" AND {only} JOIN vademecum.access_set a ON a.id = v.access_set WHERE {seen}"
    )
    means: dict[tuple[str, str], list[np.ndarray]] = {}
    for _, collection, language, embedding, _ in rows:
        means.setdefault((collection, language), []).append(np.array(embedding, np.float64))
    usual = {
        key: float(np.mean(vectors, axis=0) @ vector)
        for key, vectors in means.items()
        if len(vectors) >= 20
    }
    common = float(np.mean(list(usual.values())))
    return {
        chunk: float(np.array(embedding, np.float64) @ vector) / float(np.linalg.norm(embedding))
        - usual.get((collection, language), common)
        for chunk, collection, language, embedding, wanted in rows
        if wanted
    }


@pytest.mark.parametrize("query", ["w1 w2 w3", "o w4 não está", "the w5", "この w6"])
async def test_several_languages_are_ranked_as_the_description_says(
    bench: Bench, query: str
) -> None:
    found = await search(bench, query)
    wanted = await brute_force(bench, query)
    assert (found.mixed, found.plan) == (True, "exact")
    assert len(found.hits) == 40
    for hit in found.hits:
        assert hit.score == pytest.approx(wanted[hit.chunk_id], abs=2e-3)
    best = sorted(wanted.values(), reverse=True)
    # Half precision may exchange what is nearly as near, nothing else.
    assert [hit.score for hit in found.hits] == pytest.approx(best[:40], abs=2e-3)


async def test_a_filter_narrows_and_changes_no_score(bench: Bench) -> None:
    only_even = Selection(filter=parse_filter({"eq": ["even", True]}))
    found = await search(bench, "w1 w2", selection=only_even, k=200)
    wanted = await brute_force(bench, "w1 w2", only="d.metadata @> '{\"even\": true}'")
    assert {hit.chunk_id for hit in found.hits} == set(wanted)
    for hit in found.hits:
        assert hit.score == pytest.approx(wanted[hit.chunk_id], abs=2e-3)


async def test_a_principal_is_answered_from_what_it_may_see(bench: Bench) -> None:
    person = Scope.for_principal("default", "user:ana", frozenset())
    found = await search(bench, "w1 w2", scope=person, k=200)
    wanted = await brute_force(bench, "w1 w2", seen="'tenant' = ANY (a.labels)")
    assert {hit.chunk_id for hit in found.hits} == set(wanted)
    assert len((await search(bench, "w1 w2", scope=FEW, k=300)).hits) == sum(SIZES.values())


async def test_a_large_language_is_found_by_the_graph_beside_the_others(bench: Bench) -> None:
    await PostgresGraph(bench.superuser, bench.app.ingest_parts.generation, fewest=1).tend()
    same = 0
    for n in range(12):
        query = f"the w{n} and o w{n + 5} não"
        both = await search(bench, query, exact_below=70)
        exact = await search(bench, query)
        assert (both.plan, exact.plan) == ("exact, graph", "exact")
        assert len(both.hits) == len(exact.hits) == 40
        same += len({h.chunk_id for h in both.hits} & {h.chunk_id for h in exact.hits})
    assert same >= 0.98 * 12 * 40


async def test_a_filter_on_a_fact_that_is_not_metadata_is_heard(bench: Bench) -> None:
    for wanted, count in (
        ({"eq": ["document.collection", "notices"]}, 36 + 20 + 24 + 2),
        ({"and": [{"eq": ["document.language", "ja"]}, {"eq": ["even", True]}]}, 3),
        ({"not": {"eq": ["document.language", "en"]}}, 115),
        ({"eq": ['a"document.language', "ja"]}, 0),
    ):
        found = await search(bench, "w1", selection=Selection(filter=parse_filter(wanted)), k=200)
        assert len(found.hits) == count, wanted


async def test_a_sample_is_taken_while_a_chunk_is_being_deleted(
    bench: Bench, database_url: str
) -> None:
    """It is neither waited for nor counted in: its deletion would take the sample's row with it."""
    ((gone,),) = bench.sql("SELECT id FROM vademecum.chunk ORDER BY id LIMIT 1")
    upkeep = bench.app.reconcile_parts.upkeep
    await upkeep.fold("default")
    bench.sql("TRUNCATE vademecum.vector_sample, vademecum.language_total")
    async with await psycopg.AsyncConnection.connect(database_url) as deleting:
        await deleting.execute("DELETE FROM vademecum.chunk WHERE id = %s", (gone,))
        await asyncio.wait_for(upkeep.frame("default"), 10)
    sampled = {chunk for (chunk,) in bench.sql("SELECT chunk FROM vademecum.vector_sample")}
    kept = {chunk for (chunk,) in bench.sql("SELECT id FROM vademecum.chunk")}
    assert gone not in kept
    assert sampled == kept
