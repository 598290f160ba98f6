"""Is "yesterday" the day before it was said, wherever and in whatever language?"""

from datetime import date

import pytest

from vademecum.text.relative_days import told_days

# A Wednesday.
SAID = date(2023, 5, 24)


@pytest.mark.parametrize(
    ("text", "language", "told", "first"),
    [
        ("I moved yesterday", "en", "I moved on 2023-05-23", date(2023, 5, 23)),
        ("Mudei ontem", "pt", "Mudei em 2023-05-23", date(2023, 5, 23)),
        ("Me mudé ayer", "es", "Me mudé el 2023-05-23", date(2023, 5, 23)),
        ("We met the day before yesterday.", "en", "We met on 2023-05-22.", date(2023, 5, 22)),
        ("My exam is tomorrow", "en", "My exam is on 2023-05-25", date(2023, 5, 25)),
        ("Viajo amanhã", "pt", "Viajo em 2023-05-25", date(2023, 5, 25)),
        ("Viajo mañana", "es", "Viajo el 2023-05-25", date(2023, 5, 25)),
        ("We arrived three days ago", "en", "We arrived on 2023-05-21", date(2023, 5, 21)),
        ("Cheguei há 2 semanas", "pt", "Cheguei em 2023-05-10", date(2023, 5, 10)),
        ("Llegué hace dos días", "es", "Llegué el 2023-05-22", date(2023, 5, 22)),
        ("I saw it last Friday", "en", "I saw it on 2023-05-19", date(2023, 5, 19)),
        ("I saw it last Wednesday", "en", "I saw it on 2023-05-17", date(2023, 5, 17)),
        ("It is next Monday", "en", "It is on 2023-05-29", date(2023, 5, 29)),
        ("Foi na sexta-feira passada", "pt", "Foi em 2023-05-19", date(2023, 5, 19)),
        ("I started last month", "en", "I started in 2023-04", date(2023, 4, 1)),
        ("Casei no ano passado", "pt", "Casei em 2022", date(2022, 1, 1)),
        ("Fue la semana pasada", "es", "Fue en 2023-05-15/2023-05-21", date(2023, 5, 15)),
        ("He left five years ago", "en", "He left in 2018", date(2018, 1, 1)),
    ],
)
def test_words_become_days(text: str, language: str, told: str, first: date) -> None:
    found = told_days(text, SAID, language)
    assert (found.text, found.first) == (told, first)


def test_a_month_has_a_first_and_a_last_day() -> None:
    found = told_days("It was last month", date(2024, 3, 31), "en")
    assert (found.first, found.last) == (date(2024, 2, 1), date(2024, 2, 29))
    assert told_days("two months ago", date(2024, 1, 15), "en").first == date(2023, 11, 1)


@pytest.mark.parametrize(
    "text",
    [
        "I take it in the morning",
        "Tomo café pela manhã de trabalho",
        "Trabajo por la mañana",
        "The Yesterdays are a band",
        "My birthday is in May",
        "",
    ],
)
def test_what_names_no_day_stays(text: str) -> None:
    found = told_days(text, SAID, "en")
    assert (found.text, found.first, found.last) == (text, None, None)


def test_several_days_span_from_the_first_to_the_last() -> None:
    found = told_days("Yesterday I moved and tomorrow I begin", SAID, "en")
    assert found.text == "on 2023-05-23 I moved and on 2023-05-25 I begin"
    assert (found.first, found.last) == (date(2023, 5, 23), date(2023, 5, 25))
