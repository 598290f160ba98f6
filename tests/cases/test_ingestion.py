"""CASES section 3: faults of ingestion that users of such systems met, on real PostgreSQL.

IN-16 (addresses that reach inside) is in test_egress.py.
"""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest
from support import OPERATOR, Bench, make_bench, paragraphs, source

from vademecum.adapters.embedders.openai_compatible import open_embedder
from vademecum.adapters.language_models.bpe import BpeCounter
from vademecum.adapters.sources.files import Facts, find, read
from vademecum.errors import ProviderAway
from vademecum.failpoint import armed
from vademecum.ingest.pipeline import MOST_ATTEMPTS, ingest_revision
from vademecum.ingest.retain import retire
from vademecum.model.document import State
from vademecum.model.ids import Tenant
from vademecum.model.index import Selection
from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool, open_pool
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.openai_server import OpenAIServer, Reply
from vademecum.worker.loop import once

TEN = [f"w{number}x" for number in range(10)]
DEFAULT = Tenant("default")
FACTS = Facts(collection="default", access=("tenant",), metadata={}, language="en")


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs")


def folder(tmp_path: Path, **files: str | bytes) -> Path:
    place = tmp_path / "documents"
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        path = place / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


async def test_in_01_the_same_folder_twice_costs_nothing(bench: Bench, tmp_path: Path) -> None:
    place = folder(tmp_path, a__md="# One\n\nFirst text.", b__txt="Second text.")
    first = await bench.app.ingest(read(find([str(place)]), FACTS), scope=OPERATOR)
    calls, rows = len(bench.embedder.calls), bench.count("chunk")
    again = await bench.app.ingest(read(find([str(place)]), FACTS), scope=OPERATOR)
    assert [r.status for r in first] == ["ready", "ready"]
    assert [(r.status, r.new_chunks, r.embedded) for r in again] == [("unchanged", 0, 0)] * 2
    assert [r.id for r in again] == [r.id for r in first]
    assert (len(bench.embedder.calls), bench.count("chunk")) == (calls, rows)


async def test_in_02_a_shorter_version_has_no_tail(bench: Bench) -> None:
    await bench.ingest(source("a", paragraphs(TEN)))
    (result,) = await bench.ingest(source("a", paragraphs(TEN[:3])))
    assert result.chunks == 3
    assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == 3
    for mode in ("dense", "keyword"):
        found = await bench.app.search(TEN[9], scope=OPERATOR, mode=mode)
        assert all(TEN[9] not in p.source.chunk.text for p in found.retrieval.passages)


async def test_in_03_a_deletion_reaches_every_store(bench: Bench) -> None:
    (result,) = await bench.ingest(source("a", paragraphs(["quokkacanary", "numbat"])))
    await bench.ingest(source("a", paragraphs(["quokkacanary"])))
    assert bench.tables_with("quokkacanary")
    receipt = await bench.app.catalogue.delete(result.id, scope=OPERATOR)
    assert receipt.complete
    for mode in ("dense", "keyword"):
        found = await bench.app.search("quokkacanary", scope=OPERATOR, mode=mode)
        assert found.retrieval.passages == ()
    bench.sql("DELETE FROM vademecum.trace")  # the two searches just made name the word
    assert bench.tables_with("quokkacanary") == []
    assert bench.stored_files() == []
    for table in ("chunk", "chunk_vector", "chunk_terms", "revision", "document"):
        assert bench.count(table) == 0, table


async def test_in_05_equal_bytes_are_two_documents(bench: Bench) -> None:
    text = paragraphs(["quokka"])
    a, b = await bench.ingest(
        source("a/readme.md", text, access=["group:a"], metadata={"n": 1}),
        source("b/readme.md", text, access=["group:b"], metadata={"n": 2}),
    )
    documents = {d.id: d for d in await bench.documents.all(OPERATOR)}
    assert (documents[a.id].access, documents[a.id].metadata) == (("group:a",), {"n": 1})
    assert (documents[b.id].access, documents[b.id].metadata) == (("group:b",), {"n": 2})
    for name, own in (("a", a), ("b", b)):
        scope = Scope.for_principal("default", f"user:{name}", frozenset({f"group:{name}"}))
        found = (await bench.app.search("quokka", scope=scope)).retrieval.passages
        assert [p.source.document_id for p in found] == [own.id]


async def test_in_07_a_second_run_of_many_batches_deletes_nothing(bench: Bench) -> None:
    words = [f"w{number}x" for number in range(250)]
    (first,) = await bench.ingest(source("a", paragraphs(words)))
    before = bench.sql("SELECT array_agg(id ORDER BY id) FROM vademecum.chunk")
    (again,) = await bench.ingest(source("a", paragraphs(words)))
    assert (first.chunks, again.status, again.embedded) == (250, "unchanged", 0)
    assert bench.sql("SELECT array_agg(id ORDER BY id) FROM vademecum.chunk") == before


async def test_in_08_a_changed_sentence_has_a_new_vector(bench: Bench) -> None:
    (first,) = await bench.ingest(source("a", "The gate opens at nine."))
    (second,) = await bench.ingest(source("a", "The gate opens at ten."))
    assert second.embedded == 1
    vectors = bench.sql("SELECT embedding::text FROM vademecum.chunk_vector")
    assert len(set(vectors)) == 2
    (chunk,) = await bench.documents.chunks(OPERATOR, first.id)
    wanted = (await bench.embedder.embed([chunk.embedded_text], "passage"))[0]
    async with bench.app.answer_parts.retrieve.index.reading(OPERATOR) as reader:
        (hit,) = (await reader.search_dense(wanted, Selection(), 5)).hits
    assert hit.score == pytest.approx(1, abs=1e-3)


async def test_in_09_killed_half_way_it_goes_on_by_itself(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    """In-process: the work dies after the second of five batches. The kill runs do it for real."""
    words = [f"w{number}x" for number in range(1100)]  # five batches of 256
    died = asyncio.CancelledError()
    embedder = HashEmbedder(faults={4: Fault(error=died)})  # 1 is the old version's
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder)
    (old,) = await bench.ingest(source("a", paragraphs(["quokka"])))
    accepted = await bench.accept(source("a", paragraphs(words)))
    with pytest.raises(asyncio.CancelledError):
        await ingest_revision(bench.app.ingest_parts, DEFAULT, accepted.revision_id)
    assert await bench.chunk_texts(old.id) == [paragraphs(["quokka"])]
    assert "quokka" in (await bench.found("quokka"))[0]
    bench.lose_lease(accepted.revision_id)
    (mended, _), _ = await once(bench.app)
    assert mended.rescued_jobs + 1 >= 1
    document = await bench.documents.get(OPERATOR, old.id)
    assert (document.state, document.chunks) == (State.READY, 1100)
    assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == 1100


async def test_in_10_a_limit_of_the_provider_is_waited_for_and_then_ends(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    busy = Reply(status=429, retry_after="0.05")
    with OpenAIServer([busy, busy, Reply()]) as server:
        embedder = await open_embedder(
            "openai:v", BpeCounter(), api_key="k", base_url=server.base_url, dimension=64
        )
        vectors = await embedder.embed(["a", "b"], "passage")
        assert vectors.shape == (2, 64)
        assert len(server.received) == 3
        await embedder.aclose()
    away = Fault(error=ProviderAway("the provider is busy", hint="wait 30 s"))
    embedder_away = HashEmbedder(faults=dict.fromkeys(range(1, MOST_ATTEMPTS + 1), away))
    bench = await make_bench(pool, database_url, tmp_path, embedder=embedder_away)
    accepted = await bench.accept(source("a", "The gate opens at nine."))
    for attempt in range(MOST_ATTEMPTS):
        if attempt < MOST_ATTEMPTS - 1:
            with pytest.raises(ProviderAway):
                await ingest_revision(bench.app.ingest_parts, DEFAULT, accepted.revision_id)
            bench.lose_lease(accepted.revision_id)
        else:
            await ingest_revision(bench.app.ingest_parts, DEFAULT, accepted.revision_id)
    (dead,) = await bench.app.catalogue.jobs.pending(OPERATOR)
    assert (dead.state, dead.attempts) == ("dead", MOST_ATTEMPTS)
    assert dead.reason == "the provider is busy. wait 30 s"
    # It can resume: the bytes are there, nothing has to be brought again.
    assert await bench.app.catalogue.jobs.retry(OPERATOR, None) == [accepted.document_id]
    await once(bench.app)
    assert (await bench.documents.get(OPERATOR, accepted.document_id)).state == State.READY
    assert await bench.app.catalogue.jobs.pending(OPERATOR) == []


async def test_in_11_one_bad_file_costs_itself_only(bench: Bench, tmp_path: Path) -> None:
    place = folder(
        tmp_path, a__txt="One.", b__pdf=b"%PDF-1.7\nbroken", c__txt="Two.", d__txt="Three."
    )
    results = await bench.app.ingest(read(find([str(place)]), FACTS), scope=OPERATOR)
    assert [r.status for r in results] == ["ready", "failed", "ready", "ready"]
    assert "damaged" in results[1].reason


async def test_in_12_parallel_writers_and_readers(database_url: str, tmp_path: Path) -> None:
    async with open_pool(database_url, size=10) as pool:
        bench = await make_bench(pool, database_url, tmp_path)
        same = [bench.ingest(source("same", paragraphs(["quokka"]))) for _ in range(10)]
        other = [bench.ingest(source(f"d{n}", paragraphs([f"w{n}x"]))) for n in range(10)]
        reads = [bench.app.search("quokka", scope=OPERATOR) for _ in range(20)]
        done = await asyncio.gather(*same, *other, *reads)
        assert len(await bench.documents.all(OPERATOR)) == 11
        assert {r.status for results in done[:20] for r in results} <= {"ready", "unchanged"}
        assert bench.in_force("chunk_vector") == 11
        assert bench.count("revision") == 11


async def test_in_13_one_uri_twice_in_a_batch_the_last_text_wins(bench: Bench) -> None:
    first, second = await bench.ingest(
        source("a", paragraphs(["quokka"])), source("a", paragraphs(["numbat"]))
    )
    assert first.id == second.id
    (text,) = await bench.chunk_texts(first.id)
    assert "numbat" in text
    assert bench.in_force("chunk_vector") == 1
    (third,) = await bench.ingest(source("a", paragraphs(["bilby"])))
    assert (third.status, third.revision) == ("ready", 3)


async def test_in_14_a_document_of_six_thousand_chunks(bench: Bench) -> None:
    words = [f"w{number}x" for number in range(6000)]
    (result,) = await bench.ingest(source("a", paragraphs(words)))
    assert (result.status, result.chunks, result.embedded) == ("ready", 6000, 6000)
    assert bench.in_force("chunk_vector") == bench.in_force("chunk_terms") == 6000


@pytest.mark.parametrize("name", ["../../out.txt", "/abs.md", "..\\x.txt", "a\x00.txt"])
async def test_in_15_a_name_reaches_no_other_folder(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    before = set(tmp_path.rglob("*"))
    (result,) = await bench.ingest(source(name, "A text."))
    made = [path for path in set(tmp_path.rglob("*")) - before if path.is_file()]
    assert all(path.is_relative_to(bench.blobs) for path in made)
    if "\x00" in name:
        assert (result.status, made) == ("rejected", [])
        return
    (document,) = await bench.documents.all(OPERATOR)
    assert (result.status, document.uri) == ("ready", name)
    assert (await bench.app.catalogue.delete(result.id, scope=OPERATOR)).complete
    assert bench.stored_files() == []


async def test_in_17_a_change_of_equal_length_and_time_is_seen(
    bench: Bench, tmp_path: Path
) -> None:
    place = folder(tmp_path, a__txt="The gate opens at nine.")
    path = place / "a.txt"
    times = path.stat()
    await bench.app.ingest(read([path], FACTS), scope=OPERATOR)
    path.write_text("The gate opens at five.")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (again,) = await bench.app.ingest(read([path], FACTS), scope=OPERATOR)
    assert (again.status, again.embedded) == ("ready", 1)


async def test_in_18_the_callers_metadata_is_not_touched(bench: Bench) -> None:
    metadata = {"season": 2026}
    await bench.ingest(
        source("a", "One.", metadata=metadata), source("b", "Two.", metadata=metadata)
    )
    await bench.ingest(source("a", "One.", metadata={"season": 2027}))
    assert metadata == {"season": 2026}
    by_uri = {d.uri: d.metadata for d in await bench.documents.all(OPERATOR)}
    assert by_uri == {"a": {"season": 2027}, "b": {"season": 2026}}


async def test_pa_03_an_empty_file_among_good_ones(bench: Bench, tmp_path: Path) -> None:
    place = folder(tmp_path, a__txt="One.", b__txt="", c__txt="Two.", d__txt="Three.")
    results = await bench.app.ingest(read(find([str(place)]), FACTS), scope=OPERATOR)
    assert [r.status for r in results] == ["ready", "empty", "ready", "ready"]


async def test_pa_21_nul_and_half_characters_never_reach_the_store(bench: Bench) -> None:
    front = "---\nauthor: a\x00b\n---\n"
    (result,) = await bench.ingest(source("a.md", front + "The pol\x00icy of gates."))
    assert result.status == "ready"
    text = await bench.documents.text(OPERATOR, result.id)
    assert "The policy of gates." in text
    for chunk in await bench.documents.chunks(OPERATOR, result.id):
        assert text[chunk.start : chunk.end] == chunk.text


async def test_ch_20_other_settings_divide_again(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path, tokens=20)
    (first,) = await bench.ingest(source("a", paragraphs(TEN)))
    wide = await make_bench(pool, database_url, tmp_path, tokens=60)
    (second,) = await wide.ingest(source("a", paragraphs(TEN)))
    assert (first.chunks, second.status, second.revision) == (10, "ready", 2)
    assert second.chunks < 10
    assert wide.in_force("chunk_vector") == wide.in_force("chunk_terms") == second.chunks
    (third,) = await wide.ingest(source("a", paragraphs(TEN)))
    assert third.status == "unchanged"


async def test_old_revisions_go_with_their_originals_when_their_time_is_over(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    bench = await make_bench(pool, database_url, tmp_path, keep_revisions=timedelta(days=30))
    (first,) = await bench.ingest(source("a", paragraphs(["quokkacanary"])))
    await bench.ingest(source("a", paragraphs(["numbat"])))
    assert (await retire(bench.app.retain_parts)).revisions == 0
    bench.sql(
        "UPDATE vademecum.revision SET valid_until = now() - interval '31 days' WHERE number = 1"
    )
    done = await retire(bench.app.retain_parts)
    assert (done.revisions, done.blobs) == (1, 1)
    assert bench.tables_with("quokkacanary") == []
    assert [r.number for r in await bench.documents.history(OPERATOR, first.id)] == [2]
    assert len(bench.stored_files()) == 1
    assert bench.in_force("chunk_vector") == 1


async def test_bytes_that_lost_their_last_name_while_they_came_again_are_there(
    bench: Bench,
) -> None:
    """The other document with these bytes is deleted between their storing and the acceptance."""
    text = paragraphs(["quokka"])
    (first,) = await bench.ingest(source("a", text))
    loop = asyncio.get_running_loop()
    deleted: list[bool] = []

    def delete_first() -> None:
        if not deleted:
            deleted.append(True)
            bench.sql("DELETE FROM vademecum.document WHERE id = %s", first.id)
            (path,) = bench.stored_files()
            path.unlink()

    assert loop.is_running()
    with armed("accept.before", delete_first):
        (second,) = await bench.ingest(source("b", text))
    assert deleted
    assert (second.status, len(bench.stored_files())) == ("ready", 1)
