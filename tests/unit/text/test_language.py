"""Is the language found in sentences, and left open in words that say nothing?"""

import pytest

from vademecum.text.language import UNKNOWN, detect

LIKELY = frozenset({"en", "es", "pt"})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How much is a ticket for children?", "en"),
        ("Can I bring my camera?", "en"),
        ("O portão abre três horas antes do show.", "pt"),
        ("Onde fica o setor C?", "pt"),
        ("La puerta abre tres horas antes del espectáculo.", "es"),
        ("Puedo llevar mi cámara?", "es"),
        ("Die Tür öffnet drei Stunden vor der Show.", "de"),
        ("टिकट फिर्ता कसरी पाउने?", "ne"),
        ("मैं अपना पैसा वापस चाहता हूँ", "hi"),
        ("国際標準化に関する動向", "ja"),
        ("한국어", "ko"),
        ("தமிழ்", "ta"),
    ],
)
def test_a_sentence_tells_its_language_with_or_without_likely_ones(
    text: str, language: str
) -> None:
    assert detect(text) == language
    assert detect(text, LIKELY) == language


@pytest.mark.parametrize("word", ["refund", "reembolso", "ingresso", "bilheteria", "ok", "PIX"])
def test_one_word_alone_is_open(word: str) -> None:
    assert detect(word) == UNKNOWN


@pytest.mark.parametrize(
    ("word", "language"),
    [("refund", "en"), ("reembolso", "pt"), ("ingresso", "pt"), ("cuánto", "es"), ("how", "en")],
)
def test_one_word_is_in_a_likely_language(word: str, language: str) -> None:
    assert detect(word, frozenset({language})) == language


def test_one_word_of_several_likely_languages() -> None:
    assert detect("bilheteria", LIKELY) == "pt"
    assert detect("टिकट", frozenset({"ne", "en"})) == "ne"


@pytest.mark.parametrize("text", ["", "  ", "123", "KH-402", "…!?", "https://example.org/um/dois"])
def test_a_text_without_words_has_the_only_likely_language(text: str) -> None:
    assert detect(text) == UNKNOWN
    assert detect(text, frozenset({"pt"})) == "pt"
    assert detect(text, LIKELY) == UNKNOWN


def test_a_likely_language_does_not_win_over_a_clear_sentence() -> None:
    assert detect("Les portes ouvrent trois heures avant le concert.", LIKELY) == "fr"
    assert detect("How much is a ticket for children?", frozenset({"pt"})) == "en"
