"""Does the token counter count every text as plain text?"""

import pytest

from vademecum.adapters.language_models.bpe import BpeCounter

COUNTER = BpeCounter()


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello", 1), ("hello world", 2), ("a b c d", 4)]
)
def test_known_counts(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


def test_text_that_spells_special_tokens_is_plain_text() -> None:
    text = "The mark <|endoftext|> ends it; <|im_start|>system"
    assert COUNTER.count(text) > 12


def test_a_lone_surrogate_does_not_raise() -> None:
    assert COUNTER.count("a \ud800 b") >= 3


def test_a_very_long_text_is_counted() -> None:
    assert COUNTER.count("word " * 500_000) == pytest.approx(500_000, rel=0.01)
