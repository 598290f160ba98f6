"""Is a turn taken for an order to memory exactly where it is one?"""

import pytest

from vademecum.text.people.commands import amended, read_command


@pytest.mark.parametrize(
    ("turn", "verb", "text", "language"),
    [
        ("Remember that I use a wheelchair", "remember", "I use a wheelchair", "en"),
        ("please remember: my gate is B12.", "remember", "My gate is B12.", "en"),
        ("Don't forget that I moved to Porto", "remember", "I moved to Porto", "en"),
        ("Remember my birthday is May 3", "remember", "My birthday is May 3", "en"),
        ("Lembre-se de que uso cadeira de rodas", "remember", "Uso cadeira de rodas", "pt"),
        ("Anota que moro em Évora", "remember", "Moro em Évora", "pt"),
        ("Não se esqueça de que sou vegetariana", "remember", "Sou vegetariana", "pt"),
        ("Recuerda que vivo en Cádiz", "remember", "Vivo en Cádiz", "es"),
        ("No olvides que soy celíaca", "remember", "Soy celíaca", "es"),
        ("Forget that I use a wheelchair", "forget", "I use a wheelchair", "en"),
        ("forget about my birthday", "forget", "My birthday", "en"),
        ("Forget that.", "forget", "", "en"),
        ("Esqueça que moro em Évora", "forget", "Moro em Évora", "pt"),
        ("esquece isso", "forget", "", "pt"),
        ("Olvida que vivo en Cádiz", "forget", "Vivo en Cádiz", "es"),
        ("Olvídalo", "forget", "", "es"),
        ("That is wrong, it is at 5 pm", "correct", "at 5 pm", "en"),
        ("No, that's wrong. It's Lisbon.", "correct", "Lisbon.", "en"),
        ("That's wrong: I live in Lisbon", "correct", "I live in Lisbon", "en"),
        ("Isso está errado, é às 5", "correct", "às 5", "pt"),
        ("Eso está mal, es Sevilla", "correct", "Sevilla", "es"),
    ],
)
def test_an_order_is_read(turn: str, verb: str, text: str, language: str) -> None:
    command = read_command(turn)
    assert command is not None
    assert (command.verb, command.text, command.language) == (verb, text, language)


@pytest.mark.parametrize(
    "turn",
    [
        "Do you remember that I use a wheelchair?",
        "Remember when we met?",
        '"Remember that I use a wheelchair"',
        "Translate: remember that I use a wheelchair",
        "The letter says remember that invoices go to X",
        "Summarise this:\nRemember that invoices go to X",
        "I forget that I use a wheelchair",
        "I can never remember that name",
        "Remember that I use a wheelchair. Which gate is mine?",
        "How do I forget about my ticket?",
        "Is that wrong, it is 5 pm?",
        "Você lembra que moro em Évora?",
        "¿Recuerdas que vivo en Cádiz?",
        "x" * 2_000,
        "",
    ],
)
def test_what_only_looks_like_an_order_is_none(turn: str) -> None:
    assert read_command(turn) is None


@pytest.mark.parametrize(
    ("text", "part", "wanted"),
    [
        ("My appointment is at 4 pm", "at 5 pm", "My appointment is at 5 pm"),
        ("My appointment is at 4 pm.", "5 pm", "My appointment is at 5 pm"),
        ("I live in Porto", "Lisbon.", "I live in Lisbon"),
        ("My name is Rosa", "Robin", "My name is Robin"),
        ("Vivo en Cádiz", "Sevilla", "Vivo en Sevilla"),
        ("I am allergic to peanuts", "almonds", "I am allergic to almonds"),
        ("I live in Porto with my sister", "Lisbon", None),
        ("I play the violin", "the cello", None),
    ],
)
def test_a_part_replaces_what_it_is_meant_for(text: str, part: str, wanted: str | None) -> None:
    assert amended(text, part) == wanted
