"""Does each mode order by what it says, with every signal kept?"""

import pytest

from vademecum.model.ids import ChunkId
from vademecum.model.index import DenseHits
from vademecum.model.passage import Hit, Signals
from vademecum.model.query import Mode
from vademecum.retrieve.fuse import Fusion, fuse, levelled, with_spelling
from vademecum.retrieve.search import KeywordHits
from vademecum.testing.passages import make_chunk

A, B, C, D = sorted(make_chunk("x", at=at).id for at in range(4))


def dense(**scores: float) -> DenseHits:
    hits = [Hit(chunk_id=globals()[name], score=score) for name, score in scores.items()]
    return DenseHits(hits=tuple(hits), low=None, mixed=False, plan="exact")


def keyword(**pairs: tuple[float, float]) -> KeywordHits:
    """Each (BM25, share)."""
    ids: dict[str, ChunkId] = {name: globals()[name] for name in pairs}
    return KeywordHits(
        hits=tuple(Hit(chunk_id=ids[name], score=bm25) for name, (bm25, _) in pairs.items()),
        shares={ids[name]: share for name, (_, share) in pairs.items()},
    )


DENSE = dense(A=0.9, B=0.8, C=0.7)
KEYWORD = keyword(D=(6.0, 0.75), C=(4.0, 0.5))


def test_hybrid_adds_the_dense_place_and_the_share_of_words() -> None:
    found = fuse(Fusion(), "hybrid", DENSE, KEYWORD)
    # .5 * minmax(cosine) + .5 * 2 * U
    assert {item: round(s.fused, 6) for item, s in found.items()} == {
        D: 0.75,
        A: 0.5,
        C: 0.5,
        B: 0.25,
    }
    assert list(found) == [D, A, C, B]
    assert [s.final for s in found.values()] == [s.fused for s in found.values()]


def test_every_signal_is_kept_and_none_invented() -> None:
    found = fuse(Fusion(), "hybrid", DENSE, KEYWORD)
    c, d, a = found[C], found[D], found[A]
    assert (c.dense, c.dense_rank, c.keyword, c.keyword_rank, c.keyword_share) == (
        0.7,
        3,
        4,
        2,
        0.5,
    )
    assert (d.dense, d.dense_rank, d.keyword_rank, d.keyword_share) == (None, None, 1, 0.75)
    assert (a.keyword, a.keyword_rank, a.keyword_share) == (None, None, None)
    assert (a.ngram_share, a.maxsim) == (None, None)


@pytest.mark.parametrize(
    ("mode", "order", "scores"),
    [("dense", [A, B, C], [0.9, 0.8, 0.7]), ("keyword", [D, C], [6.0, 4.0])],
)
def test_one_leg_keeps_its_own_scores(
    mode: Mode, order: list[ChunkId], scores: list[float]
) -> None:
    found = fuse(Fusion(), mode, DENSE, KEYWORD)
    assert list(found) == order
    assert [s.final for s in found.values()] == scores


@pytest.mark.parametrize("mode", ["hybrid", "dense", "keyword"])
def test_ties_are_ordered_by_id(mode: Mode) -> None:
    same = dense(C=0.5, A=0.5, B=0.5)
    words = keyword(B=(1.0, 0.2), C=(1.0, 0.2), A=(1.0, 0.2))
    assert list(fuse(Fusion(), mode, same, words)) == [A, B, C]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "keyword"])
def test_nothing_gives_nothing(mode: Mode) -> None:
    assert fuse(Fusion(), mode, dense(), keyword()) == {}


def test_one_leg_alone_still_orders() -> None:
    assert list(fuse(Fusion(), "hybrid", dense(), KEYWORD)) == [D, C]
    assert list(fuse(Fusion(), "hybrid", DENSE, keyword())) == [A, B, C]


def test_spelling_counts_half_of_what_words_count() -> None:
    found = with_spelling(
        Fusion(), fuse(Fusion(), "hybrid", DENSE, KEYWORD), {A: 0.9, B: 0.1, C: 0.0, D: 0.2}
    )
    # .5 * minmax(cosine) + .5 * 2 * (U + U4 / 2)
    assert {item: round(s.fused, 6) for item, s in found.items()} == {
        A: 0.95,
        D: 0.85,
        C: 0.5,
        B: 0.3,
    }
    assert list(found) == [A, D, C, B]
    assert [s.ngram_share for s in found.values()] == [0.9, 0.2, 0.0, 0.1]
    assert [s.final for s in found.values()] == [s.fused for s in found.values()]


def test_spelling_weighs_as_the_keyword_leg_does() -> None:
    fusion = Fusion(dense_weight=0.75)
    found = with_spelling(fusion, fuse(fusion, "hybrid", DENSE, KEYWORD), {A: 1, B: 0, C: 0, D: 0})
    # .75 * 1 + .25 * 2 * (0 + .5)
    assert found[A].fused == pytest.approx(1.0)


def candidates(*words: tuple[str, float]) -> tuple[dict[ChunkId, Signals], dict[ChunkId, str]]:
    """Each (language, share of the question's words), equally near in meaning."""
    ids = sorted(make_chunk("x", at=at).id for at in range(len(words)))
    signals = {
        item: Signals(
            dense=0.8,
            dense_rank=1,
            keyword=None,
            keyword_rank=None,
            keyword_share=share or None,
            fused=share,
            final=share,
        )
        for item, (_, share) in zip(ids, words, strict=True)
    }
    languages = {item: language for item, (language, _) in zip(ids, words, strict=True)}
    order = sorted(signals, key=lambda item: -signals[item].fused)
    return {item: signals[item] for item in order}, languages


def test_words_that_any_passage_of_a_language_shares_prefer_none() -> None:
    own, other = [("es", 0.5)] * 9 + [("es", 0.6)], [("en", 0.0)] * 9 + [("en", 0.2)]
    signals, languages = candidates(*own, *other)
    found = levelled(Fusion(), signals, languages)
    # es has .51 on average, en .02, all .265: .6 - .245 = .355, .2 + .245 = .445
    (first, best), (second, after), *_ = found.items()
    assert (languages[first], round(best.fused, 6)) == ("en", 0.445)
    assert (languages[second], round(after.fused, 6)) == ("es", 0.355)
    assert best.final == best.fused
    assert best.keyword_share == 0.2, "the signal stays what it is"


def test_a_code_stands_out_in_whichever_language() -> None:
    for code in ("es", "en", "pt"):
        signals, languages = candidates(
            ("es", 0.4), *[("es", 0.3)] * 9, *[("en", 0.0)] * 9, (code, 1.0)
        )
        first = next(iter(levelled(Fusion(), signals, languages)))
        assert signals[first].keyword_share == 1.0


def test_one_language_keeps_its_order_and_its_scores() -> None:
    signals, languages = candidates(*[("pt", n / 10) for n in range(8)])
    found = levelled(Fusion(), signals, languages)
    assert list(found) == list(signals)
    assert [own.fused for own in found.values()] == pytest.approx(
        [own.fused for own in signals.values()]
    )


def test_where_meaning_weighs_all_words_change_nothing() -> None:
    signals, languages = candidates(*[("pt", 0.5)] * 6, *[("en", 0.1)] * 6)
    found = levelled(Fusion(dense_weight=1.0), signals, languages)
    assert {item: own.fused for item, own in found.items()} == {
        item: own.fused for item, own in signals.items()
    }
