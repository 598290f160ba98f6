"""Does a search find what users elsewhere could not? Rows of section 5, on real PostgreSQL."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import Bench, make_bench, source

from vademecum.errors import DocumentNotFound, TraceNotFound
from vademecum.model.ids import DocumentId, new_uuid
from vademecum.model.index import DenseHits, Selection
from vademecum.model.passage import Hit, Passage
from vademecum.model.principal import Scope
from vademecum.model.query import Mode
from vademecum.postgres.pool import Pool
from vademecum.rank.bm25 import document_weights, idf, score
from vademecum.rank.fuse import reciprocal_rank
from vademecum.retrieve.fuse import Fusion, fuse
from vademecum.retrieve.search import KeywordHits
from vademecum.testing.embedders import HashEmbedder
from vademecum.testing.passages import make_chunk

OPERATOR = Scope.for_operator("default")
A = Scope.for_principal("default", "user:a", frozenset({"group:a"}))
B = Scope.for_principal("default", "user:b", frozenset({"group:b"}))


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


async def found(
    bench: Bench, text: str, *, scope: Scope = OPERATOR, mode: Mode = "keyword", k: int = 10
) -> list[str]:
    """The uris of a search's passages, best first."""
    search = await bench.app.search(text, scope=scope, mode=mode, k=k)
    assert search.retrieval.degraded == ()
    return [passage.source.uri for passage in search.retrieval.passages]


async def put(bench: Bench, language: str = "en", **texts: str) -> None:
    results = await bench.ingest(
        *(source(uri, text, language=language) for uri, text in texts.items())
    )
    assert {result.status for result in results} == {"ready"}


async def test_re_01_a_filter_is_not_applied_after_the_search(bench: Bench) -> None:
    """300 documents of A that are near the question, 5 of B that are not so near."""
    near = [
        source(f"a{n}", f"Parking for guests at gate {n}.", access=["group:a"]) for n in range(300)
    ]
    far = [source(f"b{n}", f"Lift {n} of the hall.", access=["group:b"]) for n in range(5)]
    await bench.ingest(*near, *far)
    for mode in ("hybrid", "dense"):
        uris = await found(bench, "parking for guests at gate 7", scope=B, mode=mode, k=5)
        assert sorted(uris) == [f"b{n}" for n in range(5)]


async def test_re_02_the_nearest_does_not_hang_on_how_many_are_asked(bench: Bench) -> None:
    words = [f"w{n}" for n in range(40)]
    rng = np.random.default_rng(3)
    texts = {f"d{n}": " ".join(rng.choice(words, 6)) for n in range(200)}
    await put(bench, **texts)
    embedder = HashEmbedder()
    for query in ("w1 w2 w3", "w5 w9", "w17 w18 w19 w20"):
        rows = await embedder.embed(list(texts.values()), "passage")
        cosines = rows @ (await embedder.embed([query], "query"))[0]
        best = float(np.sort(cosines)[-1])
        for k in (1, 5, 20):
            search = await bench.app.search(query, scope=OPERATOR, mode="dense", k=k)
            passages = search.retrieval.passages
            assert len(passages) == k
            assert passages[0].score == pytest.approx(best, abs=2e-3)
            assert [p.score for p in passages] == pytest.approx(
                np.sort(cosines)[::-1][:k], abs=2e-3
            )


async def test_re_03_a_score_is_higher_where_a_text_is_nearer(bench: Bench) -> None:
    await put(bench, near="alpha beta gamma", middle="alpha beta delta", far="omega psi chi")
    search = await bench.app.search("alpha beta gamma", scope=OPERATOR, mode="dense")
    uris = [passage.source.uri for passage in search.retrieval.passages]
    scores = [passage.score for passage in search.retrieval.passages]
    assert uris == ["near", "middle", "far"]
    assert scores == sorted(scores, reverse=True)
    for threshold in scores:  # a higher one never drops a better item
        kept = [uri for uri, own in zip(uris, scores, strict=True) if own >= threshold]
        assert kept == uris[: len(kept)]


async def test_re_07_every_read_is_guarded_alike(bench: Bench) -> None:
    (mine,) = await bench.ingest(source("mine", "A secret of group A.", access=["group:a"]))
    assert mine.id is not None
    search = await bench.app.search("secret", scope=A)
    (passage,) = search.retrieval.passages
    unknown = DocumentId(new_uuid())
    documents = bench.documents
    for read in (documents.get, documents.text, documents.chunks, documents.history):
        messages = []
        for wanted in (mine.id, unknown):
            with pytest.raises(DocumentNotFound) as refused:
                await read(B, wanted)
            messages.append(str(refused.value).replace(str(wanted), ""))
        assert messages[0] == messages[1]
    with pytest.raises(TraceNotFound):
        await bench.app.catalogue.records.trace(B, search.trace_id)
    assert await documents.confirm(B, [passage.source.chunk.id], None) == {}
    async with bench.app.answer_parts.retrieve.index.reading(B) as reader:
        assert await reader.token_signs([passage.source.chunk.id]) == {}
    async with bench.app.answer_parts.retrieve.index.reading(A) as reader:
        assert list(await reader.token_signs([passage.source.chunk.id])) == [
            passage.source.chunk.id
        ]


async def test_re_08_nobody_s_is_hidden_from_everybody(bench: Bench) -> None:
    await bench.ingest(source("nobody", "A rule without readers.", access=[]))
    assert await found(bench, "rule", scope=A) == []
    assert await found(bench, "rule") == ["nobody"]


def test_re_11_reciprocal_ranks_count_from_one() -> None:
    fused = reciprocal_rank([["x", "y", "z"], ["y", "w", "x"]])
    assert fused["x"] == pytest.approx(1 / 61 + 1 / 63)
    assert round(fused["x"], 5) == 0.03227
    ids = [make_chunk("x", at=at).id for at in range(3)]
    dense = DenseHits(
        hits=tuple(Hit(chunk_id=item, score=1.0 - n / 9) for n, item in enumerate(ids)),
        low=None,
        mixed=False,
        plan="exact",
    )
    keyword = KeywordHits(
        hits=tuple(Hit(chunk_id=item, score=9.0 - n) for n, item in enumerate(reversed(ids))),
        shares={},
    )
    signals = fuse(Fusion(method="rrf"), "hybrid", dense, keyword)
    assert round(signals[ids[0]].fused, 5) == 0.03227


@pytest.mark.parametrize(("chunks", "with_word"), [(2, 1), (4, 2), (3, 3)])
async def test_re_12_a_common_word_still_counts(bench: Bench, chunks: int, with_word: int) -> None:
    assert idf(chunks, with_word) > 0
    await put(
        bench,
        **{f"d{n}": f"{'refund ' if n < with_word else ''}rule number x{n}" for n in range(chunks)},
    )
    search = await bench.app.search("refund", scope=OPERATOR, mode="keyword")
    assert {p.source.uri for p in search.retrieval.passages} == {f"d{n}" for n in range(with_word)}
    assert all(passage.score > 0 for passage in search.retrieval.passages)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "keyword"])
async def test_re_13_nothing_is_found_in_nothing(bench: Bench, mode: Mode) -> None:
    assert await found(bench, "refund", mode=mode) == []
    results = await bench.ingest(source("a", ""), source("b", " \n"))
    assert {result.status for result in results} == {"empty"}
    assert await found(bench, "refund", mode=mode) == []


async def test_re_14_more_than_there_is_gives_what_there_is(bench: Bench) -> None:
    await put(bench, a="A refund rule.", b="Another refund rule.")
    for mode in ("hybrid", "dense", "keyword"):
        assert len(await found(bench, "refund", mode=mode, k=10)) == 2
        assert await found(bench, "refund", mode=mode, k=0) == []
    with pytest.raises(ValueError, match="k must not be negative"):
        await found(bench, "refund", k=-1)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("KH-402", "Error KH-402 ends a session."), ("don't", "They don't open doors early."),
        ("C++", "The C++ course begins in May."), ("AND", "Salt and pepper stand on tables."),
        ("wallet OR", "A lost wallet is kept for a month."), ('"', None),
        ("foo:bar", "The foo and the bar are closed."), ("*", None),
        ("example.com/a:b?x=1", "See example.com for the rules."),
    ],
)  # fmt: skip
async def test_re_15_re_24_words_are_only_words(bench: Bench, query: str, text: str | None) -> None:
    await put(bench, right=text or "Nothing of that.", other="Umbrellas stay outside.")
    assert await found(bench, query) == (["right"] if text else [])
    assert (await found(bench, query, mode="hybrid"))[:1] == ["right"] or text is None


@pytest.mark.parametrize("query", ["KH402", "kh 402", "402", "KH\u2011402", "ＫＨ-402", "KH-402"])
async def test_re_16_a_code_is_found_in_every_spelling(bench: Bench, query: str) -> None:
    await put(
        bench,
        right="Error KH-402 means that the session is over.",
        near="Error KH-403 means that the session was refused.",
    )
    for mode in ("keyword", "hybrid"):
        assert (await found(bench, query, mode=mode))[0] == "right"


async def test_re_16_another_code_is_not_found_for_it(bench: Bench) -> None:
    await put(
        bench,
        near="Error KH-402 means that the session is over.",
        right="Error KH-403 means that the session was refused.",
    )
    assert (await found(bench, "KH-403"))[0] == "right"


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("ja", "国際標準化に関する動向", "国際標準化"),
        ("ja", "チケットの払い戻しは十四日以内です。", "払い戻し"),
        ("zh", "门票可在十四天内退款。", "退款"),
        ("th", "คืนเงินได้ภายในสิบสี่วัน", "คืนเงิน"),
    ],
)
async def test_re_17_scripts_without_spaces_are_found(
    bench: Bench, language: str, text: str, query: str
) -> None:
    await put(bench, language, right=text)
    await put(bench, language, other="別の話です。" if language == "ja" else "其他内容。")
    assert await found(bench, query) == ["right"]


async def test_re_20_accents_and_case_do_not_count_but_the_exact_form_is_first(
    bench: Bench,
) -> None:
    await put(bench, "pt", accents="São Paulo", plain="Sao Paulo")
    assert await found(bench, "SÃO PAULO") == ["accents", "plain"]
    assert await found(bench, "sao paulo") == ["plain", "accents"]


async def test_re_21_not_every_word_of_a_question_must_occur(bench: Bench) -> None:
    await put(bench, right="Late delivery fee 50", half="Late doors", none="Umbrellas")
    uris = await found(bench, "What is the fee if my parcel comes late please")
    assert uris == ["right", "half"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("to be or not to be", "To be or not to be, that is asked on the stage."),
        ("Will", "Will speaks at nine."),
        ("IT", "The IT desk is on the first floor."),
    ],
)
async def test_re_22_names_equal_to_common_words_are_found(
    bench: Bench, query: str, text: str
) -> None:
    await put(bench, right=text, other="Umbrellas stay outside.")
    assert await found(bench, query) == ["right"]


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "...", "?!"])
async def test_re_22_an_emptied_query_has_no_keyword_hits(bench: Bench, query: str) -> None:
    await put(bench, a="Doors open at nine.", b="Umbrellas stay outside.")
    assert await found(bench, query) == []


async def test_re_23_a_word_that_is_nowhere_finds_nothing(bench: Bench) -> None:
    await put(bench, a="Doors open at nine.", b="Umbrellas stay outside.")
    assert await found(bench, "zyxquolb") == []
    search = await bench.app.search("zyxquolb", scope=OPERATOR, mode="keyword")
    assert search.retrieval.abstention.would


async def test_re_25_each_language_is_stemmed_by_itself(bench: Bench) -> None:
    await put(bench, "en", en="Refunds are paid within fourteen days after cancelling.")
    await put(bench, "pt", pt="Os ingressos cancelados são reembolsados em catorze dias.")
    assert (await found(bench, "refund cancelled"))[0] == "en"
    assert (await found(bench, "reembolso de ingresso cancelado"))[0] == "pt"


async def test_re_26_a_name_is_found_by_its_parts(bench: Bench) -> None:
    await put(bench, right="Call getUserById with a number.", other="Umbrellas stay outside.")
    assert await found(bench, "user id") == ["right"]
    assert await found(bench, "getUserById") == ["right"]


def test_bm25_has_the_factor_of_the_values() -> None:
    weights = document_weights(["refund", "rule"], 2.0)
    assert score({"refund": idf(2, 1)}, weights) == pytest.approx(
        2.2 * idf(2, 1) * weights["refund"]
    )


async def test_a_search_leaves_one_audit_row_with_ids_only(bench: Bench) -> None:
    await put(bench, a="Doors open at nine.")
    search = await bench.app.search("doors", scope=A)
    rows = bench.sql(
        "SELECT trace, kind, principal, policy_epoch, chunks FROM vademecum.audit_event"
    )
    passages: Sequence[Passage] = search.retrieval.passages
    ids = [passage.source.chunk.id for passage in passages]
    assert rows == [(search.trace_id, "search", "user:a", 0, ids)]
    await bench.app.search("zyxquolb", scope=A, mode="keyword")
    assert bench.count("audit_event") == 1
    await bench.ingest(source("a", "Doors open at nine.", access=["group:b"]))
    await bench.app.search("doors", scope=B)
    assert bench.sql("SELECT max(policy_epoch) FROM vademecum.audit_event") == [(1,)]


async def test_a_leg_that_is_late_leaves_the_answer_to_the_other(bench: Bench) -> None:
    await put(bench, a="Doors open at nine.", b="Umbrellas stay outside.")
    parts = bench.app.answer_parts.retrieve
    hasty = replace(parts, ranking=replace(parts.ranking, leg_seconds=0.5))
    bench.sql("CREATE FUNCTION public.wait() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(9)'")
    (body,) = bench.sql("SELECT pg_get_functiondef('vademecum.search_dense'::regproc)")[0]
    bench.sql(body.replace("IF t IS NULL THEN RETURN; END IF;", "PERFORM public.wait();"))
    app = replace(bench.app, answer_parts=replace(bench.app.answer_parts, retrieve=hasty))
    search = await app.search("doors", scope=OPERATOR)
    assert [p.source.uri for p in search.retrieval.passages] == ["a"]
    assert search.retrieval.degraded == ("dense: DEADLINE",)
    assert search.retrieval.timings_ms["dense"] < 3_000


async def test_a_mixed_collection_is_told_by_its_languages(bench: Bench) -> None:
    english = {f"en{n}": f"Rule {n} of the doors and gates." for n in range(25)}
    await put(bench, "en", **english)
    async with bench.app.answer_parts.retrieve.index.reading(OPERATOR) as reader:
        query = (await bench.embedder.embed(["doors"], "query"))[0]
        alone = await reader.search_dense(query, Selection(), 5)
    assert (alone.mixed, alone.plan) == (False, "exact")
    assert alone.low is not None
    assert alone.low <= min(hit.score for hit in alone.hits)
    portuguese = {f"pt{n}": f"Regra {n} das portas e dos ingressos." for n in range(25)}
    await put(bench, "pt", **portuguese)
    async with bench.app.answer_parts.retrieve.index.reading(OPERATOR) as reader:
        both = await reader.search_dense(query, Selection(), 50)
    assert both.mixed
    assert len(both.hits) == 50
