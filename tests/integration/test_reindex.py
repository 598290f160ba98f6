"""Is the index changed beside its readers, whole and without a mix, whatever comes in between?"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from rebuilding import NEW, OLD, Slow, another, app_over, rebuilding
from support import MISCOUNTED, OPERATOR, Bench, make_bench, paragraphs, source

from vademecum.answer.fold import tend_conversation
from vademecum.app import App, follow
from vademecum.errors import GateRefused, IndexSwitched, ReindexBusy, UsageError
from vademecum.evaluate.golden import GoldenQuestion, golden_of
from vademecum.ingest.pipeline import ingest_revision
from vademecum.ingest.reconcile import reconcile
from vademecum.memory.upkeep import index_waiting
from vademecum.model.conversation import Turn
from vademecum.model.document import Source, State
from vademecum.model.embedding import Role, TokenStates
from vademecum.model.ids import ConversationId, Tenant, TurnId, new_uuid
from vademecum.model.principal import Scope
from vademecum.postgres.generation.store import PostgresGenerations
from vademecum.postgres.pool import Pool
from vademecum.postgres.upkeep import PostgresUpkeep
from vademecum.reindexing import (
    Judge,
    Reindexing,
    drop_old,
    drop_retired,
    estimate,
    golden_judge,
    reindex,
    roll_back,
)
from vademecum.testing.embedders import HashEmbedder

TENANT = Tenant("default")
ANNA = Scope.for_principal("default", "user:anna", frozenset())
WORDS = [f"w{number}x" for number in range(60)]
SOURCE = Path(__file__).parents[2] / "src"
# A row for each chunk, memory or indexed turn that a generation lacks or has too much of, and for
# each row of it that stands elsewhere than the truth says.
UNEQUAL = """
WITH truth AS (
    SELECT c.tenant, c.id, d.collection, d.access_set, c.language, r.valid_from, r.valid_until
    FROM vademecum.chunk c
    JOIN vademecum.document d ON d.tenant = c.tenant AND d.id = c.document
    JOIN vademecum.revision r ON r.tenant = c.tenant AND r.id = c.revision
), vectors AS (
    SELECT tenant, chunk, collection, access_set, language, valid_from, valid_until
    FROM vademecum.chunk_vector WHERE generation = %(own)s
), terms AS (
    SELECT tenant, chunk, collection, access_set, language, valid_from, valid_until
    FROM vademecum.chunk_terms WHERE generation = %(own)s
)
SELECT 'vector', id::text FROM (
    (TABLE truth EXCEPT TABLE vectors) UNION ALL (TABLE vectors EXCEPT TABLE truth)) AS a
UNION ALL
SELECT 'terms', id::text FROM (
    (TABLE truth EXCEPT TABLE terms) UNION ALL (TABLE terms EXCEPT TABLE truth)) AS b
UNION ALL
SELECT 'states', coalesce(c.id, s.chunk)::text
FROM vademecum.chunk c
FULL JOIN (SELECT * FROM vademecum.chunk_states WHERE generation = %(own)s) s ON s.chunk = c.id
WHERE c.id IS NULL OR s.chunk IS NULL
UNION ALL
SELECT 'memory', m.id::text FROM vademecum.memory m
LEFT JOIN vademecum.memory_index i ON i.memory = m.id AND i.generation = %(own)s
WHERE i.embedding IS NULL
UNION ALL
SELECT 'turn', t.id::text FROM vademecum.turn t
LEFT JOIN vademecum.turn_unit u ON u.turn = t.id AND u.generation = %(own)s
WHERE t.text <> '' AND u.embedding IS NULL
"""
DIMENSIONS = """
SELECT DISTINCT generation, vector_dims(embedding) FROM vademecum.chunk_vector
UNION SELECT DISTINCT generation, vector_dims(embedding) FROM vademecum.memory_index
WHERE embedding IS NOT NULL
UNION SELECT DISTINCT generation, vector_dims(embedding) FROM vademecum.turn_unit
WHERE embedding IS NOT NULL
ORDER BY 1, 2
"""


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


def models(new: HashEmbedder | None = None) -> dict[str, HashEmbedder]:
    return {OLD: HashEmbedder(), NEW: new or another()}


def unequal(bench: Bench, generation: int) -> list[tuple[Any, ...]]:
    return bench.sql(UNEQUAL.replace("%(own)s", str(generation)))


def own_id(bench: Bench) -> int:
    return bench.app.ingest_parts.generation.id


async def states(pool: Pool) -> dict[int, str]:
    return {one.generation.id: one.state for one in await PostgresGenerations(pool).all()}


def read_by(bench: Bench, work: Reindexing) -> None:
    """Let the App of a bench follow as one that `open` gave does."""
    bench.app.reopen = work.reopen


async def filled(bench: Bench, words: list[str] = WORDS) -> None:
    await bench.ingest(*(source(f"{word}.txt", paragraphs([word])) for word in words))


async def test_a_build_beside_readers_is_switched_to_whole(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench)
    old = own_id(bench)
    new = Slow(seconds=0.15)
    work = rebuilding(pool, tmp_path, models(new))
    building = asyncio.create_task(reindex(work))
    searches = 0
    while not building.done():
        word = WORDS[searches % len(WORDS)]
        assert word in (await bench.found(word, k=5))[0]
        searches += 1
        await asyncio.sleep(0.005)
    done = await building
    assert searches > 5
    assert (done.before, done.generation) == (old, old + 1)
    assert (done.built.chunks, done.built.embedded, done.built.given_up) == (60, 60, 0)
    assert await states(pool) == {old: "retired", old + 1: "current"}
    assert bench.sql(DIMENSIONS) == [(old, 64), (old + 1, 32)]
    assert unequal(bench, old + 1) == []
    assert bench.sql(MISCOUNTED) == []
    # Whoever reads the old one goes on whole, until it goes over to the new one.
    asked = len(new.calls)
    assert WORDS[7] in (await bench.found(WORDS[7], k=5))[0]
    assert len(new.calls) == asked
    read_by(bench, work)
    assert await follow(bench.app)
    assert not await follow(bench.app)
    assert own_id(bench) == old + 1
    assert WORDS[7] in (await bench.found(WORDS[7], k=5))[0]
    assert [call.role for call in new.calls[asked:]] == ["query"]


async def test_a_search_that_began_before_the_switch_ends_with_its_own_build(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    """The vector of the one model is never compared with those of the other: of two sizes that
    would fail, of one size it would go unseen."""
    await filled(bench, WORDS[:10])
    old_model = bench.embedder
    work = rebuilding(pool, tmp_path, {OLD: old_model, NEW: another(64)})
    read_by(bench, work)
    held, go_on = asyncio.Event(), asyncio.Event()
    encode = old_model.encode

    async def holding(texts: Any, role: Role) -> list[TokenStates]:
        if role == "query":
            held.set()
            await go_on.wait()
        return await encode(texts, role)

    old_model.encode = holding  # type: ignore[method-assign]
    searching = asyncio.create_task(bench.found("w3x", k=3))
    await held.wait()
    await reindex(work)
    await follow(bench.app)
    go_on.set()
    assert "w3x" in (await searching)[0]
    assert "w3x" in (await bench.found("w3x", k=3))[0]


async def test_what_comes_in_during_a_build_is_in_both(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench)
    kept = (await bench.app.remember("My hometown is Porto.", scope=ANNA)).memory
    gone = (await bench.app.remember("I play the oboe.", scope=ANNA)).memory
    said = await _talk(bench, "The harbour tour starts at nine.")
    work = rebuilding(pool, tmp_path, models(Slow(seconds=0.6)))
    building = asyncio.create_task(reindex(work))
    await asyncio.sleep(0.3)
    number = 0
    while not building.done():
        number += 1
        await bench.ingest(
            source(f"new{number}.txt", paragraphs([f"fresh{number}q", f"second{number}q"])),
            source(f"{WORDS[number % 60]}.txt", paragraphs([f"changed{number}q"])),
            source(f"{WORDS[30]}.txt", paragraphs([WORDS[30]]), access=[f"group:{number}"]),
        )
        listed = {d.uri: d.id for d in await bench.documents.all(OPERATOR)}
        victim = f"{WORDS[59 - number % 20]}.txt"
        if victim in listed:
            await bench.app.catalogue.delete(listed[victim], scope=OPERATOR)
        if number == 1:
            await bench.app.edit_memory(kept.id, scope=ANNA, text="My hometown is Braga.")
            await bench.app.forget_memory(gone.id, scope=ANNA)
            await bench.app.remember("I am allergic to walnuts.", scope=ANNA)
            await _say(bench, said, "And the night tour at ten.")
        if number == 4:  # what comes without an end would never be switched
            break
    done = await building
    assert number >= 2
    assert unequal(bench, done.generation) == []
    assert bench.sql(MISCOUNTED) == []
    read_by(bench, work)
    await follow(bench.app)
    assert "fresh1q" in (await bench.found("fresh1q", k=3))[0]
    recalled = await bench.app.recall("my hometown Braga", scope=ANNA)
    texts = {one.memory.text for one in (*recalled.profile, *recalled.memories)}
    assert "My hometown is Braga." in texts
    assert not any("oboe" in text or "Porto" in text for text in texts)
    turns = await bench.app.recall_turns("When does the night tour start?", scope=ANNA)
    assert turns.turns[0].turn.text == "And the night tour at ten."


async def _talk(bench: Bench, text: str) -> ConversationId:
    conversation = ConversationId(new_uuid())
    await _say(bench, conversation, text)
    return conversation


async def _say(bench: Bench, conversation: ConversationId, text: str) -> None:
    """Say something, and let it be indexed for the build that is read."""
    turn = Turn(
        id=TurnId(new_uuid()),
        position=0,
        role="user",
        text=text,
        state="complete",
        created_at=datetime.now(UTC),
    )
    await bench.app.catalogue.conversations.keep(ANNA, conversation, [turn])
    await tend_conversation(bench.app.tend_parts, TENANT, conversation)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
async def test_killed_twice_it_goes_on_where_it_was(
    bench: Bench, pool: Pool, tmp_path: Path, database_url: str
) -> None:
    many = [f"v{number}x" for number in range(900)]
    await bench.ingest(
        *(source(f"{i}.txt", paragraphs(many[i : i + 30])) for i in range(0, 900, 30))
    )
    old = own_id(bench)
    reached = [0]
    for seconds in ("0.25", "0.25"):
        lines = _run_until(database_url, tmp_path, seconds, reached[-1] + 200)
        assert lines[0]["event"] == "begun"
        firsts = [line["done"] for line in lines if line["event"] == "progress"]
        assert firsts[0] >= reached[-1]  # nothing is done twice
        reached.append(firsts[-1])
        assert await states(pool) == {old: "current", old + 1: "building"}
        assert "v5x" in (await bench.found("v5x", k=3))[0]
    last = _run_until(database_url, tmp_path, "0", None)
    assert last[-1]["event"] == "done"
    assert last[-1]["generation"] == old + 1
    # A text that proves that the model answers, once a look, beside what was left to embed.
    assert last[-1]["embedded"] <= 900 - reached[-1] + 5
    assert reached[1] >= 200
    assert reached[2] >= reached[1] + 200
    assert unequal(bench, old + 1) == []
    assert bench.sql(MISCOUNTED) == []


def _run_until(url: str, folder: Path, seconds: str, most: int | None) -> list[dict[str, Any]]:
    """Run the process and kill it once so many chunks are done; return what it told."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "rebuild_process.py"), url, str(folder), seconds],
        env=os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parent}"},
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    told = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(json.loads(line))
            if most is not None and told[-1].get("done", 0) >= most:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == (0 if most is None else -signal.SIGKILL)
    return told


class Noise(HashEmbedder):
    """A model whose vectors have nothing to do with the text: each call gives others."""

    async def _states(self, texts: Any, role: Role) -> list[TokenStates]:
        salted = [f"noise{len(self.calls)} {place} {role}" for place, _ in enumerate(texts)]
        return await super()._states(salted, role)


async def test_the_gate_refuses_a_worse_build_and_lets_an_equal_one_pass(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    # The words of the questions stand in no document alone, so that vectors decide.
    await bench.ingest(
        *(source(f"{i}.txt", paragraphs([WORDS[i], WORDS[i + 1]])) for i in range(50))
    )
    entries = [
        {
            "id": str(i),
            "question": f"{WORDS[i]} {WORDS[i + 1]}",
            "kind": "concept",
            "relevant": [{"document": f"{i}.txt"}],
        }
        for i in range(30)
    ]
    asked = golden_of(entries, "made", {}).questions
    judge = golden_judge(asked, "default")
    old = own_id(bench)
    events: list[tuple[str, Mapping[str, Any]]] = []
    noise = Noise(dimension=32, model="noise")
    work = rebuilding(
        pool, tmp_path, models(noise), event=lambda name, facts: events.append((name, facts))
    )
    with pytest.raises(GateRefused, match="worse"):
        await reindex(work, _dense_judge(asked))
    (compared,) = [facts for name, facts in events if name == "compared"]
    assert compared["current"] == 1.0
    assert compared["candidate"] < 0.5
    assert compared["high"] < 0
    assert await states(pool) == {old: "current", old + 1: "ready"}
    assert "w3x" in (await bench.found("w3x", k=3))[0]

    # Another model takes its place, and passes; the refused build is gone.
    well = rebuilding(pool, tmp_path, models() | {"testing:well": another(48)}, name="testing:well")
    done = await reindex(well, judge)
    assert done.compared is not None
    assert done.compared.questions == 30
    assert done.compared.candidate == done.compared.current == 1.0
    assert not done.compared.worse
    assert done.dropped["chunk_vector"] == bench.count("chunk")
    assert await states(pool) == {old: "retired", done.generation: "current"}


def _dense_judge(asked: Sequence[GoldenQuestion]) -> Judge:
    """Vectors alone: words would find what noise does not."""

    async def judge(app: App) -> dict[str, float]:
        scores = {}
        for one in asked:
            found = await app.search(one.question, scope=OPERATOR, k=10, mode="dense")
            uris = {passage.source.uri for passage in found.retrieval.passages}
            scores[one.id] = float(bool(uris & {relevant.document for relevant in one.relevant}))
        return scores

    return judge


async def _no_look(*_arguments: Any) -> Any:
    raise AssertionError("a chunk was looked at")


async def test_one_goes_back_with_all_that_came_since(
    bench: Bench, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(bench, WORDS[:12])
    old = own_id(bench)
    work = rebuilding(pool, tmp_path, models())
    read_by(bench, work)
    new = (await reindex(work)).generation
    await follow(bench.app)
    await bench.ingest(
        source("since.txt", paragraphs(["since1q"])), source("w1x.txt", paragraphs(["changed1q"]))
    )
    await bench.app.remember("I collect stamps.", scope=ANNA)
    gone = next(d.id for d in await bench.documents.all(OPERATOR) if d.uri == "w2x.txt")
    await bench.app.catalogue.delete(gone, scope=OPERATOR)
    assert unequal(bench, old) != []

    done = await roll_back(work)
    assert (done.generation, done.before) == (old, new)
    assert done.built.embedded == 2
    assert await states(pool) == {old: "current", new: "retired"}
    assert unequal(bench, old) == []
    assert bench.sql(MISCOUNTED) == []
    assert await follow(bench.app)
    assert bench.app.ingest_parts.embedder.space.dimension == 64
    assert "since1q" in (await bench.found("since1q", k=3))[0]
    assert all("w2x" not in text for text in await bench.found("w2x", k=3))
    # And forth again, in a moment: no chunk came in, so none is looked at, and what moved has moved
    # in every build.
    shut = source("w3x.txt", paragraphs(["w3x"]), access=["group:x"])
    await bench.ingest(shut)
    assert unequal(bench, new) == []
    monkeypatch.setattr(PostgresUpkeep, "gaps", _no_look)
    assert (await roll_back(work)).generation == new
    assert await states(pool) == {old: "retired", new: "current"}
    assert unequal(bench, new) == []


async def test_there_is_nothing_to_go_back_to_at_first(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no earlier build"):
        await roll_back(rebuilding(pool, tmp_path, models()))


async def test_a_deletion_reaches_every_build_and_its_receipt_counts_them(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    (one, other) = await bench.ingest(
        source("a.txt", paragraphs(["quokka", "wombat"])), source("b.txt", paragraphs(["numbat"]))
    )
    assert one.id is not None
    await reindex(rebuilding(pool, tmp_path, models()))
    building = rebuilding(pool, tmp_path, models() | {"testing:third": another(16)},
                          name="testing:third")  # fmt: skip
    await _half_built(building)
    receipt = await bench.app.catalogue.delete(one.id, scope=OPERATOR)
    counts = {store.store: (store.found, store.deleted, store.left) for store in receipt.stores}
    assert receipt.complete
    assert counts["postgres.vectors"] == (6, 6, 0), counts
    assert counts["postgres.keywords"] == (6, 6, 0), counts
    assert bench.count("chunk_vector") == 3  # the other document's one chunk in three builds
    assert other.id is not None


async def _half_built(work: Reindexing) -> None:
    """Build, and be stopped before the switch: three builds are there then."""

    class Stopped(Exception):
        pass

    def judge(_apps: Any) -> Any:
        raise Stopped

    with pytest.raises(Stopped):
        await reindex(work, judge)


async def test_who_is_forgotten_has_no_vector_in_any_build(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await bench.app.remember("I play the oboe.", scope=ANNA)
    await _talk(bench, "The harbour tour starts at nine.")
    await reindex(rebuilding(pool, tmp_path, models()))
    await _half_built(
        rebuilding(pool, tmp_path, models() | {"testing:third": another(16)}, name="testing:third")
    )
    assert len(set(bench.sql("SELECT generation FROM vademecum.memory_index"))) == 3
    assert len(set(bench.sql("SELECT generation FROM vademecum.turn_unit"))) == 3
    receipt = await bench.app.forget(scope=ANNA)
    counts = {store.store: (store.found, store.left) for store in receipt.stores}
    assert counts["postgres.memory_index"] == (3, 0), counts
    assert counts["postgres.turn_unit"] == (3, 0), counts
    assert bench.count("memory_index") == bench.count("turn_unit") == 0


async def test_a_second_build_at_the_same_time_is_refused_in_one_line(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench, WORDS[:3])
    first = asyncio.create_task(reindex(rebuilding(pool, tmp_path, models(Slow(seconds=0.5)))))
    await asyncio.sleep(0.3)
    with pytest.raises(ReindexBusy, match="another process is building the index") as refused:
        await reindex(rebuilding(pool, tmp_path, models()))
    assert "\n" not in str(refused.value)
    with pytest.raises(ReindexBusy):
        await drop_old(bench.app.catalogue)
    await first


async def test_what_is_published_by_a_process_that_reads_the_old_build_comes_with_the_new_one(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    """Whoever was still working for the old build publishes nothing: it would be in sight, and not
    be found."""
    await filled(bench, WORDS[:3])
    work = rebuilding(pool, tmp_path, models())
    accepted = await bench.accept(source("late.txt", paragraphs(["late1q"])))
    await reindex(work)
    with pytest.raises(IndexSwitched):
        await ingest_revision(bench.app.ingest_parts, TENANT, accepted.revision_id)
    results = await bench.documents.results(OPERATOR, [accepted.revision_id])
    assert results[accepted.revision_id].status == State.ACCEPTED
    assert bench.sql("SELECT 1 FROM vademecum.chunk WHERE text LIKE '%late1q%'") == []
    read_by(bench, work)
    await follow(bench.app)
    bench.lose_lease(accepted.revision_id)
    await ingest_revision(bench.app.ingest_parts, TENANT, accepted.revision_id)
    assert "late1q" in (await bench.found("late1q", k=3))[0]
    assert unequal(bench, own_id(bench)) == []


async def test_a_long_ingestion_goes_over_in_its_midst(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench, WORDS[:3])
    work = rebuilding(pool, tmp_path, models())
    read_by(bench, work)
    switched: list[int] = []

    def coming() -> Iterator[Source]:
        for number in range(6):
            if number == 3:
                done = asyncio.run_coroutine_threadsafe(_switched(bench, work), loop)
                switched.append(done.result())
            yield source(f"c{number}.txt", paragraphs([f"coming{number}q"]))

    loop = asyncio.get_running_loop()
    results = await bench.app.ingest(coming(), scope=OPERATOR)
    assert {result.status for result in results} == {"ready"}
    assert switched == [own_id(bench)]
    assert unequal(bench, own_id(bench)) == []


async def _switched(bench: Bench, work: Reindexing) -> int:
    done = await reindex(work)
    await follow(bench.app)
    return done.generation


async def test_the_same_model_is_asked_nothing_again(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench, WORDS[:20])
    same = HashEmbedder()
    work = rebuilding(pool, tmp_path, {OLD: same}, name=OLD)
    expected = await estimate(work)
    assert (expected.chunks, expected.tokens, expected.resumed) == (20, 0, False)
    done = await reindex(work)
    assert done.built.chunks == 20
    assert done.built.embedded == 0
    texts = {text for call in same.calls for text in call.texts}
    assert texts == {"passage: A plain text."}
    assert unequal(bench, done.generation) == []


async def test_an_estimate_counts_what_is_left(bench: Bench, pool: Pool, tmp_path: Path) -> None:
    await filled(bench, WORDS[:20])
    work = rebuilding(pool, tmp_path, models())
    tokens = bench.sql("SELECT sum(tokens) FROM vademecum.chunk")[0][0]
    expected = await estimate(work, 0.5)
    assert (expected.chunks, expected.tokens, expected.seconds) == (20, tokens, None)
    assert expected.price == pytest.approx(0.5 * tokens / 1e6, rel=0.05)
    await _half_built(work)
    begun = await estimate(work, 0.5)
    assert (begun.chunks, begun.tokens, begun.price, begun.resumed) == (0, 0, 0.0, True)


async def test_a_text_that_one_model_cannot_take_is_tried_with_the_other(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    broken = HashEmbedder(broken="wombat")
    bench = await make_bench(pool, database_url, tmp_path, embedder=broken)
    await bench.ingest(source("a.txt", paragraphs(["quokka", "wombat"])))
    assert bench.count("chunk_vector") == 1
    work = rebuilding(pool, tmp_path, {OLD: broken, NEW: another()})
    done = await reindex(work)
    assert (done.built.embedded, done.built.given_up) == (2, 0)
    assert bench.sql(
        "SELECT generation, count(*) FROM vademecum.chunk_vector GROUP BY 1 ORDER BY 1"
    ) == [(own_id(bench), 1), (done.generation, 2)]

    # And the other way round: it is given up for that model alone, and does not stop the switch.
    worse = HashEmbedder(dimension=16, model="worse", broken="quokka")
    back = rebuilding(pool, tmp_path, {OLD: broken, NEW: another(), "testing:w": worse},
                      name="testing:w")  # fmt: skip
    done = await reindex(back)
    assert (done.built.embedded, done.built.given_up) == (1, 1)
    assert bench.sql("SELECT given_up FROM vademecum.chunk WHERE text LIKE '%quokka%'") == [
        ([done.generation],)
    ]


async def test_the_earlier_build_is_dropped_with_counts_and_after_its_time(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    await filled(bench, WORDS[:5])
    await bench.app.remember("I play the oboe.", scope=ANNA)
    await _talk(bench, "The harbour tour starts at nine.")
    old = own_id(bench)
    new = (await reindex(rebuilding(pool, tmp_path, models()))).generation
    catalogue = bench.app.catalogue
    assert await drop_retired(catalogue, None) == {}
    assert await drop_retired(catalogue, timedelta(days=7)) == {}
    bench.sql(
        "UPDATE vademecum.index_generation SET switched_at = now() - interval '8 days'"
        " WHERE state = 'retired'"
    )
    counts = await drop_retired(catalogue, timedelta(days=7))
    assert {name: count for name, count in counts.items() if count} == {
        "chunk_vector": 5, "chunk_terms": 5, "chunk_states": 5, "memory_index": 1, "turn_unit": 1,
        "vector_sample": 5, "language_total": 1,
    }  # fmt: skip
    assert await states(pool) == {new: "current"}
    for table in ("chunk_vector", "chunk_terms", "chunk_states", "memory_index", "turn_unit",
                  "vector_sample", "language_total", "term_count", "term_delta"):  # fmt: skip
        left = f"SELECT 1 FROM vademecum.{table} WHERE generation = {old}"
        assert bench.sql(left) == [], table
    assert unequal(bench, new) == []
    assert bench.sql(MISCOUNTED) == []
    assert await drop_old(catalogue) == {}
    # Whoever still reads the dropped one says so, and not that nothing is there.
    found = await bench.app.search("w1x", scope=OPERATOR)
    assert sorted(found.retrieval.degraded) == ["dense: index-switched", "keyword: index-switched"]


async def test_nobody_who_works_for_the_tenants_may_switch(bench: Bench, pool: Pool) -> None:
    for call in ("switch_generation(1, '')", "drop_generation(1, 1)", "generation_progress(1)",
                 "set_generation(1, 'building', 'ready')"):  # fmt: skip
        with (
            psycopg.connect(bench.superuser) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SET ROLE vademecum_app")
            connection.execute(f"SELECT * FROM vademecum.{call}")


async def test_what_a_late_process_remembers_is_found_within_a_minute(
    bench: Bench, pool: Pool, tmp_path: Path
) -> None:
    """A memory is written for the build that its process reads; the reconciler of any other
    process gives it its place in the current one."""
    await bench.app.remember("I play the oboe.", scope=ANNA)
    work = rebuilding(pool, tmp_path, models())
    done = await reindex(work)
    await bench.app.remember("I collect stamps.", scope=ANNA)
    assert [kind for kind, _ in unequal(bench, done.generation)] == ["memory"]
    current = await PostgresGenerations(pool).current()
    assert current is not None
    fresh = app_over(pool, tmp_path, current.generation, another())
    assert (await index_waiting(fresh.memory_upkeep_parts)).indexed_memories == 1
    await reconcile(fresh.reconcile_parts)
    assert unequal(bench, done.generation) == []
