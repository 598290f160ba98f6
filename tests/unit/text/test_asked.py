"""Are two questions taken for one only where they ask the same?"""

import json
from pathlib import Path
from typing import Any

import pytest

from vademecum.text.asked import facts, meaning

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "semantic_pairs.jsonl").read_text().splitlines()
]  # fmt: skip
OTHER = [pair for pair in PAIRS if not pair["same"]]


@pytest.mark.parametrize("pair", OTHER, ids=lambda pair: pair["other"])
def test_a_near_miss_is_another_question(pair: dict[str, Any]) -> None:
    one, other = (meaning(pair[name], pair["language"]) for name in ("one", "other"))
    assert one != other


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "What does a ticket cost?", "How much is a ticket?"),
        ("en", "Could you tell me what a ticket costs?", "What is the price of a ticket?"),
        ("en", "When does the library open on Sundays?", "On Sundays, when does the library open?"),
        ("en", "Can I bring two dogs?", "May I bring 2 dogs, please?"),
        ("en", "What does error KH-402 mean?", "what does the error KH-402 mean"),
        ("pt", "Quanto custa o bilhete?", "Por favor, qual é o preço do bilhete?"),
        ("pt", "Posso levar a mochila?", "Pode-se levar uma mochila?"),
        ("es", "¿Cuánto cuesta la entrada?", "Quisiera saber cuál es el precio de la entrada."),
    ],
)
def test_the_same_in_other_words_is_one_question(language: str, one: str, other: str) -> None:
    assert meaning(one, language) == meaning(other, language)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "What museum is open on Monday?", "Is the museum open on Monday?"),
        ("en", "Was the museum open on Monday?", "Is the museum open on Monday?"),
        ("en", "Is there delivery to the US?", "Is there delivery to us?"),
        ("en", "How do I use C++?", "How do I use C#?"),
        ("en", "Is -5 degrees too cold?", "Is 5 degrees too cold?"),
        ("en", "Is a discount of 5 % possible?", "Is a discount of 5 possible?"),
        ("en", "Is 5 km far?", "Is 5 miles far?"),
        ("en", "lisbon to porto", "porto to lisbon"),
        ("en", "Should I bring a dog?", "May I bring a dog?"),
        ("en", "Does only the hall open?", "Does the hall open only at nine?"),
        ("pt", "Quanto custa o autocarro de Faro?", "Quanto custa o autocarro para Faro?"),
        ("pt", "Há elevador no hall?", "Não há elevador no hall?"),
        ("es", "¿Cuánto cuesta el tren de Sevilla?", "¿Cuánto cuesta el tren a Sevilla?"),
        ("es", "¿Hay ascensor?", "¿No hay ascensor?"),
        ("ne", "संग्रहालय कति बजे खुल्छ?", "संग्रहालय कति बजे बन्द हुन्छ?"),
    ],
)
def test_a_small_word_may_be_the_whole_difference(language: str, one: str, other: str) -> None:
    assert meaning(one, language) != meaning(other, language)


def test_another_language_is_another_question() -> None:
    assert meaning("Hall 3?", "en") != meaning("Hall 3?", "pt"), "it is answered in its own"


def test_facts_are_read_in_one_spelling() -> None:
    stated = facts("May I return KH-402 and 1,500 chairs to Arena Paulista by 8 May 2026?", "en")
    assert stated.codes == {"kh402"}
    assert "1500" in stated.numbers
    assert [(day.day, day.month, day.year) for day in stated.days] == [(8, 5, 2026)]
    assert stated.names == ("arena", "paulista")
    assert not facts("May I bring a dog?", "en").days
