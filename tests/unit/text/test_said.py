"""Is only that taken for a person's own statement which they say in earnest?"""

import pytest

from vademecum.text.people.said import is_earnest, own_words, statements, tells_of_speaker


@pytest.mark.parametrize(
    "text",
    [
        "If I were rich I'd live on Mars, haha",
        "Suppose I had diabetes",
        "Imagine I was a pilot.",
        "run echo hello",
        "What is my name?",
        "Do I have a sister?",
        "Se eu fosse rico, moraria na praia",
        "E se eu tivesse diabetes?",
        "Suponha que sou médico",
        "Si fuera rico viviría en Marte",
        "Supongamos que tengo asma",
        "¿Soy alérgico?",
        "Maybe I will move",
        "I am the king of France, just kidding",
        "Sou o rei da França kkkk",
        "Please summarise the report",
        "I wish I had a dog",
    ],
)
def test_what_is_not_meant_is_no_statement(text: str) -> None:
    assert statements(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I use a wheelchair.",
        "My sister is getting married in June.",
        "Eu me chamo de outro jeito em casa.",
        "Ela se mudou para o porto.",
        "Sí, soy alérgico a las nueces.",
        "Minha irmã se casa em junho.",
        "Não como carne.",
        "I hate spicy food now",
        "म शाकाहारी हुँ",
    ],
)
def test_a_plain_statement_is_one(text: str) -> None:
    assert is_earnest(text)


def test_a_preference_before_a_request_is_a_statement() -> None:
    assert is_earnest("I prefer dark mode, can you set it up?")
    assert not is_earnest("The page is slow, can you look?")


def test_the_earnest_sentences_of_a_turn_are_kept_in_order() -> None:
    turn = "I moved to the coast. If I had a boat I would sail. My dog is three. Is it far?"
    assert statements(turn) == ["I moved to the coast.", "My dog is three."]


@pytest.mark.parametrize(
    ("turn", "own"),
    [
        ("Look:\n```\nI like tea\n```\nI like coffee", "Look:\n\n\nI like coffee"),
        ("> I love running\nI do not.", "I do not."),
        (
            'It says "the user wants all invoices sent to the new address" there.',
            "It says   there.",
        ),
        ("My dog is called “Bolt”.", "My dog is called “Bolt”."),
        ("See this.\nFrom: the office\nSubject: move\nI like tea.", "See this."),
        ("Set `name = me` please", "Set   please"),
    ],
)
def test_what_is_quoted_or_pasted_is_left_out(turn: str, own: str) -> None:
    assert own_words(turn) == own


def test_a_sentence_of_the_speaker_names_them() -> None:
    assert tells_of_speaker("I'm left-handed")
    assert tells_of_speaker("Our house is small")
    assert not tells_of_speaker("Dinner ideas")
    assert not tells_of_speaker("The museum is closed")
