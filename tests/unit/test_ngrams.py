"""Do groups of letters say how alike two spellings are?"""

import math

import numpy as np
import pytest

from vademecum.rank.ngrams import groups, ngram_shares


def same(one: str, other: str) -> bool:
    return np.array_equal(groups(one), groups(other))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("a", 0),  # _a_ has three letters
        ("of", 1),  # _of_
        ("the", 2),  # _the the_
        ("the of", 3),  # none goes from word to word
        ("!? -", 0),
        ("कमल", 2),
    ],
)
def test_groups_lie_inside_words(text: str, count: int) -> None:
    assert len(groups(text)) == count


def test_case_accents_and_punctuation_make_no_difference() -> None:
    assert same("São Paulo", "sao, PAULO!")
    assert same("ＫＨ４０２", "kh402")
    assert not same("café", "cafes")


def test_letters_in_another_order_are_other_groups() -> None:
    assert not set(groups("stop").tolist()) & set(groups("pots").tolist())


def test_the_share_by_hand() -> None:
    # Of the query's groups `_the` and `the_` the first text holds both, once among 2; the second
    # `_the` alone, once among 4 (_the them heme eme_). N = 2: `_the` stands in both,
    # idf = ln(1 + .5 / 2.5); `the_` in one, idf = ln(1 + 1.5 / 1.5). Average length 3.
    both, one = math.log(1.2), math.log(2)
    first = 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))
    second = 1 / (1 + 1.2 * (0.25 + 0.75 * 4 / 3))
    found = ngram_shares("the", ["the", "theme"])
    assert found == pytest.approx([first, second * both / (both + one)])


def test_words_of_two_languages_meet_in_their_letters() -> None:
    shares = ngram_shares(
        "acidificação do oceano", ["ocean acidification", "the price of a ticket", ""]
    )
    assert shares[0] > 0.1
    assert shares[1:] == [0.0, 0.0]


def test_nothing_to_compare() -> None:
    assert ngram_shares("", ["the"]) == [0.0]
    assert ngram_shares("the", []) == []
