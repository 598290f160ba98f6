"""Does BM25 give the figures of its formula, and never punish a match?"""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.rank.bm25 import (
    K1,
    average_length,
    document_weights,
    idf,
    saturation,
    score,
    share,
)


def bm25(query: list[str], chunks: list[list[str]]) -> list[float]:
    """The score of each chunk, from the module's own parts as the product puts them together."""
    average = average_length(len(chunk) for chunk in chunks)
    weights = [document_weights(chunk, average) for chunk in chunks]
    frequency = Counter(term for held in weights for term in held)
    asked = {term: idf(len(chunks), frequency[term]) for term in query if term in frequency}
    return [score(asked, held) for held in weights]


def test_idf_by_hand() -> None:
    assert idf(7, 1) == pytest.approx(math.log(1 + 6.5 / 1.5))
    assert idf(7, 1) == pytest.approx(1.673976, abs=1e-6)
    assert idf(2, 1) == pytest.approx(math.log(2))
    assert idf(3, 3) == pytest.approx(math.log(8 / 7))


def test_saturation_by_hand() -> None:
    assert saturation(1, 10, 10.0) == pytest.approx(1 / 2.2)
    assert saturation(2, 10, 10.0) == pytest.approx(2 / 3.2)
    # A chunk half as long as the average: k1 * (0.25 + 0.75 / 2) = 0.75.
    assert saturation(1, 5, 10.0) == pytest.approx(1 / 1.75)
    # Twice as long: k1 * (0.25 + 1.5) = 2.1.
    assert saturation(1, 20, 10.0) == pytest.approx(1 / 3.1)


def test_the_score_has_the_factor_k1_plus_1() -> None:
    assert score({"a": 2.0, "b": 1.0, "c": 9.0}, {"a": 0.5, "b": 0.25}) == pytest.approx(2.2 * 1.25)
    assert K1 == 1.2


@pytest.mark.parametrize(("chunks", "holding"), [(2, 1), (4, 2), (3, 3), (4, 3), (100, 100)])
def test_re_12_a_word_in_half_or_more_of_the_chunks_still_scores(chunks: int, holding: int) -> None:
    corpus = [["gate", f"only{i}"] for i in range(holding)]
    corpus += [["ramp", f"other{i}"] for i in range(chunks - holding)]
    scores = bm25(["gate"], corpus)
    expected = math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))
    assert scores[:holding] == pytest.approx([expected] * holding)
    assert scores[holding:] == [0.0] * (chunks - holding)
    assert min(scores[:holding]) > max(scores[holding:], default=0.0)


def test_re_12_values_to_six_places() -> None:
    assert bm25(["gate"], [["gate"], ["ramp"]]) == pytest.approx([0.693147, 0.0], abs=1e-6)
    assert bm25(["gate"], [["gate"]] * 3) == pytest.approx([0.133531] * 3, abs=1e-6)


def test_re_13_an_empty_corpus_gives_no_score_and_no_error() -> None:
    assert bm25(["gate"], []) == []
    assert bm25(["gate"], [[], []]) == [0.0, 0.0]
    assert average_length([]) == average_length([0, 0]) == 1.0
    assert idf(0, 0) == pytest.approx(math.log(2))
    assert score({}, {}) == 0.0
    assert share(0.0, 0.0) == 0.0


def test_of_two_chunks_with_one_match_the_shorter_scores_higher() -> None:
    short, long = bm25(["gate"], [["gate", "a"], ["gate", "b", "c", "d", "e", "f"]])
    # Average 4: idf ln 1.2; k1 * (0.25 + 0.75 * 2 / 4) = 0.75 and * 6 / 4 = 1.65.
    assert short == pytest.approx(math.log(1.2) * 2.2 / 1.75)
    assert long == pytest.approx(math.log(1.2) * 2.2 / 2.65)


def test_a_rare_word_outweighs_a_common_one() -> None:
    scores = bm25(["gate", "elevator"], [["gate"], ["gate"], ["gate"], ["elevator"]])
    assert scores[3] > scores[0]


def test_the_share_is_1_only_at_the_upper_bound() -> None:
    query = {"a": 2.0, "b": 1.0}
    assert share(score(query, {"a": 1.0, "b": 1.0}), 3.0) == pytest.approx(1.0)
    assert share(score(query, {"a": 0.5}), 3.0) == pytest.approx(1 / 3)


@given(chunks=st.integers(1, 10**6), part=st.floats(0, 1))
def test_idf_is_never_negative(chunks: int, part: float) -> None:
    assert idf(chunks, round(chunks * part)) > 0


@given(count=st.integers(1, 100), more=st.integers(0, 1000), average=st.floats(0.5, 1000))
def test_saturation_grows_with_the_count_and_falls_with_the_length(
    count: int, more: int, average: float
) -> None:
    length = count + more + 1
    assert 0 < saturation(count, length, average) < saturation(count + 1, length, average) < 1
    assert saturation(count, length, average) > saturation(count, length + 1, average)


def test_the_share_stays_a_share_where_two_stems_of_one_word_are_held() -> None:
    # one word asked, two of its stems in the chunk: 1.4 of its idf
    query = {1: 2.0, 2: 2.0}
    bm25 = score(query, {1: 0.7, 2: 0.7})
    assert share(bm25, upper_bound=2.0) == 1.0
    assert share(score(query, {1: 0.7}), upper_bound=2.0) == pytest.approx(0.7)
