"""CASES section 4: faults of embedding that users of such systems met.

The rebuild that EM-01 asks for is tested further in tests/integration/test_reindex.py.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rebuilding import NEW, OLD, rebuilding
from support import OPERATOR, make_bench, paragraphs, source

from vademecum.adapters.embedders.openai_compatible import open_embedder
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.errors import EmbeddingInvalid, SpaceMismatch
from vademecum.ingest.embed import Encoders, Passage, embed_missing
from vademecum.ingest.pipeline import ingest_revision
from vademecum.model.document import State
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.reindexing import reindex
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.openai_server import OpenAIServer, Rows

TEN = [f"w{number}x" for number in range(10)]
THREE = [Passage(text=text, language="en") for text in ("one", "two", "three")]


async def test_em_01_another_size_is_seen_at_the_start(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(dimension=384))
    with pytest.raises(SpaceMismatch, match=r"/384/.*/768/"):
        await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(dimension=768))


async def test_em_01_the_index_is_built_again_and_switched_to_with_its_memories(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    old, new = HashEmbedder(dimension=384), HashEmbedder(dimension=768)
    bench = await make_bench(pool, database_url, tmp_path, embedder=old)
    await bench.ingest(source("a", paragraphs(["quokka"])), source("b", paragraphs(["numbat"])))
    anna = Scope.for_principal("default", "user:anna", frozenset())
    await bench.app.remember("I play the oboe.", scope=anna)
    with pytest.raises(SpaceMismatch, match="vade reindex"):
        await make_bench(pool, database_url, tmp_path, embedder=new)
    await reindex(rebuilding(pool, tmp_path, {OLD: old, NEW: new}))
    bench = await make_bench(pool, database_url, tmp_path, embedder=new)
    found = await bench.app.search("quokka", scope=OPERATOR, k=1, mode="dense")
    assert [passage.source.uri for passage in found.retrieval.passages] == ["a"]
    recalled = await bench.app.recall("oboe", scope=anna)
    assert [one.memory.text for one in recalled.memories] == ["I play the oboe."]
    assert bench.sql("SELECT DISTINCT vector_dims(embedding) FROM vademecum.memory_index"
                     " ORDER BY 1") == [(384,), (768,)]  # fmt: skip
    (again,) = await bench.ingest(source("c", paragraphs(["wombat"])))
    assert again.status == "ready"
    await bench.app.remember("I collect stamps.", scope=anna)


async def test_em_02_two_models_side_by_side_are_compared_with_their_own(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    old, new = HashEmbedder(dimension=8), HashEmbedder(dimension=8, model="another")
    bench = await make_bench(pool, database_url, tmp_path, embedder=old)
    await bench.ingest(*(source(word, paragraphs([word])) for word in TEN))
    await reindex(rebuilding(pool, tmp_path, {OLD: old, NEW: new}))
    assert bench.sql("SELECT count(*) FROM vademecum.chunk_vector") == [(20,)]
    fresh = await make_bench(pool, database_url, tmp_path, embedder=new)
    for own, model in ((bench, old), (fresh, new)):
        query = (await model.embed(["w3x"], "query"))[0]
        found = await own.app.search("w3x", scope=OPERATOR, k=10, mode="dense")
        assert len(found.retrieval.passages) == 10
        for passage in found.retrieval.passages:
            text = passage.source.chunk.embedded_text
            vector = (await model.embed([text], "passage"))[0]
            assert passage.signals.dense == pytest.approx(float(query @ vector), abs=2e-3)


async def test_em_02_another_model_of_the_same_size_is_never_mixed(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path, embedder=HashEmbedder(dimension=8))
    await bench.ingest(source("a", paragraphs(["quokka"])))
    other = HashEmbedder(dimension=8, model="another")
    with pytest.raises(SpaceMismatch, match=r"hash.*another"):
        await make_bench(pool, database_url, tmp_path, embedder=other)
    assert bench.sql("SELECT count(DISTINCT generation) FROM vademecum.chunk_vector") == [(1,)]


async def test_em_03_what_is_known_is_known_by_text_and_generation(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path)
    await bench.ingest(source("a", paragraphs(["quokka"]), title="T"))
    (again,) = await bench.ingest(source("b", paragraphs(["quokka"]), title="T"))
    assert (again.status, again.embedded) == ("ready", 0)
    # A vector of another build of the index, and so of another space, is no answer.
    bench.sql(
        "INSERT INTO vademecum.index_generation (space, analyser, average_length, state)"
        " SELECT space, analyser, average_length, 'retired' FROM vademecum.index_generation"
    )
    bench.sql("UPDATE vademecum.chunk_vector SET generation = generation + 1")
    (third,) = await bench.ingest(source("c", paragraphs(["quokka"]), title="T"))
    assert (third.status, third.embedded) == ("ready", 1)


async def test_em_05_each_role_has_its_prefix_and_the_space_its_name(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path)
    await bench.ingest(source("a", paragraphs(["quokka"])))
    await bench.app.search("quokka", scope=OPERATOR)
    for call in bench.embedder.calls:
        assert all(text.startswith(f"{call.role}: ") for text in call.texts)
    assert {call.role for call in bench.embedder.calls} == {"passage", "query"}
    with pytest.raises(SpaceMismatch):
        await make_bench(
            pool, database_url, tmp_path, embedder=HashEmbedder(passage_prefix="document: ")
        )


async def test_em_06_blank_pieces_are_no_texts(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path)
    (result,) = await bench.ingest(
        source("a", "\n\n \u00a0\n\nThe first gate.\n\n\u3000 \n\n\t\nThe second gate.\n\n")
    )
    assert result.status == "ready"
    sent = [text for call in bench.embedder.calls for text in call.texts]
    assert all(text.removeprefix("passage: ").strip() for text in sent)
    with pytest.raises(ValueError, match="blank"):
        await bench.embedder.embed(["a", "", " ", "b"], "passage")


async def test_em_07_a_limit_of_ten_texts_a_call_is_kept() -> None:
    texts = [f"text number {number}" for number in range(25)]
    with OpenAIServer() as server:
        embedder = await open_embedder(
            "openai:v", BpeCounter(), api_key="k", base_url=server.base_url, dimension=64, batch=10
        )
        vectors = await embedder.embed(texts, "passage")
        sent = [request.body["input"] for request in server.received]
        await embedder.aclose()
    assert [len(texts) for texts in sent] == [10, 10, 5]
    assert [text for batch in sent for text in batch] == texts
    alone = await HashEmbedder(query_prefix="", passage_prefix="").embed(texts, "passage")
    np.testing.assert_allclose(vectors, alone, atol=1e-6)


@pytest.mark.parametrize("spoil", [lambda rows: rows[:-1], lambda rows: rows[1:]])
async def test_em_09_fewer_vectors_than_texts_are_refused(
    pool: Pool, database_url: str, tmp_path: Path, spoil: object
) -> None:
    with OpenAIServer(change_rows=spoil) as server:  # type: ignore[arg-type]
        embedder = await open_embedder(
            "openai:v", BpeCounter(), api_key="k", base_url=server.base_url, dimension=64
        )
        with pytest.raises(EmbeddingInvalid):
            await embed_missing(THREE, {}, Encoders(embedder=embedder, encoder=HashEmbedder()))
        await embedder.aclose()
    fault = Fault(drop_rows=1)
    lacking = HashEmbedder(faults=dict.fromkeys(range(1, 9), fault))
    bench = await make_bench(pool, database_url, tmp_path, embedder=lacking)
    accepted = await bench.accept(source("a", paragraphs(["quokka", "numbat"])))
    await bench.app.catalogue.jobs.drain(
        {"ingest": partial(ingest_revision, bench.app.ingest_parts)}
    )
    for table in ("chunk", "chunk_vector", "chunk_terms"):
        assert bench.count(table) == 0, table
    assert (await bench.documents.get(OPERATOR, accepted.document_id)).state == State.ACCEPTED


async def test_em_09_rows_in_another_order_are_paired_by_their_index() -> None:
    def backwards(rows: Rows) -> Rows:
        return rows[::-1]

    with OpenAIServer(change_rows=backwards) as server:
        embedder = await open_embedder(
            "openai:v", BpeCounter(), api_key="k", base_url=server.base_url, dimension=64
        )
        embedded = await embed_missing(
            THREE, {}, Encoders(embedder=embedder, encoder=HashEmbedder())
        )
        await embedder.aclose()
    alone = await HashEmbedder(query_prefix="", passage_prefix="").embed(
        ["one", "two", "three"], "passage"
    )
    np.testing.assert_allclose(
        np.stack([row.vector for row in embedded.rows if row]), alone, atol=1e-6
    )


async def test_em_10_no_chunk_is_longer_than_the_embedder_reads(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """The only unique word is the last of a text of ten times the limit."""
    embedder = HashEmbedder(max_tokens=100)
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder, tokens=30)
    (result,) = await bench.ingest(source("a", "common words of a rule " * 200 + "quokka"))
    assert result.status == "ready"
    assert all(embedder.count(text) <= 100 for call in embedder.calls for text in call.texts)
    found = await bench.app.search("quokka", scope=OPERATOR, mode="dense", k=1)
    assert "quokka" in found.retrieval.passages[0].source.chunk.text


@pytest.mark.parametrize("broken", ["w4x", None])
async def test_em_11_a_vector_that_is_none_costs_its_own_text_only(
    pool: Pool, database_url: str, tmp_path: Path, broken: str | None
) -> None:
    faults = {} if broken else {1: Fault(nan_rows=(3,))}
    embedder = HashEmbedder(broken=broken, faults=faults)
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    (result,) = await bench.ingest(source("a", paragraphs(TEN), title="T"))
    if broken is None:  # it came well the second time
        assert (result.status, result.embedded) == ("ready", 10)
        return
    assert (result.status, result.chunks, result.embedded) == ("partial", 10, 9)
    assert "1 of 10 chunks have no vector" in result.reason
    assert (bench.count("chunk_vector"), bench.count("chunk_terms")) == (9, 10)
    found = await bench.app.search("w4x", scope=OPERATOR, mode="keyword")
    assert "w4x" in found.retrieval.passages[0].source.chunk.text
    assert (
        bench.sql("SELECT 1 FROM vademecum.chunk_vector WHERE embedding::text LIKE '%NaN%'") == []
    )


async def test_em_12_nothing_asked_is_nothing_done() -> None:
    embedder = HashEmbedder()
    assert (await embedder.embed([], "passage")).shape == (0, 64)
    embedded = await embed_missing([], {}, Encoders(embedder=embedder, encoder=embedder))
    assert (embedded.rows, embedded.fresh) == ([], 0)
    assert embedder.calls == []
