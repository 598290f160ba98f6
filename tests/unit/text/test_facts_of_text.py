"""Are days, weekdays, amounts, names and number words read as they are meant?"""

import pytest

from vademecum.text.dates import Day, days, is_month
from vademecum.text.facts import facts, lacking
from vademecum.text.names import is_named, name_words
from vademecum.text.number_words import with_digits
from vademecum.text.quantities import Amount, amounts
from vademecum.text.weekdays import weekdays


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("2026-05-12", [Day(2026, 5, 12)]),
        ("on 12 May 2026", [Day(2026, 5, 12)]),
        ("May 12th, 2026", [Day(2026, 5, 12)]),
        ("12 de maio de 2026", [Day(2026, 5, 12)]),
        ("el 1.º de mayo", [Day(None, 5, None)]),
        ("1º de maio", [Day(None, 5, 1)]),
        ("from 3 to 5 June", [Day(None, 6, 3), Day(None, 6, 5)]),
        ("25/12/2025", [Day(2025, 12, 25)]),
        ("04/08/2025", [Day(2025, 8, 4, swapped=True)]),
        ("2026年5月12日", [Day(2026, 5, 12)]),
        ("in March", [Day(None, 3, None)]),
        ("they may march", []),
        ("room 31/2", []),
        ("", []),
    ],
)
def test_days(text: str, named: list[Day]) -> None:
    assert days(text)[0] == named


def test_a_day_agrees_with_what_says_no_less() -> None:
    assert Day(2026, 5, 12).agrees(Day(None, 5, 12))
    assert Day(None, 5, None).agrees(Day(2026, 5, 12))
    assert not Day(2026, 5, 12).agrees(Day(2025, 5, 12))
    assert not Day(None, 5, 12).agrees(Day(None, 5, None))
    assert Day(2025, 8, 4, swapped=True).agrees(Day(2025, 4, 8))
    assert not Day(2025, 8, 4).agrees(Day(2025, 4, 8))


def test_a_named_day_leaves_the_text_so_that_its_numbers_count_once() -> None:
    named, rest = days("on 12 May 80 seats")
    assert named == [Day(None, 5, 12)]
    assert rest.split() == ["on", "80", "seats"]
    assert len(rest) == len("on 12 May 80 seats")
    assert [is_month(word) for word in ("May", "may", "enero", "lunes")] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on Mondays and Friday", {0, 4}),
        ("terça a sábado", {1, 2, 3, 4, 5}),
        ("de lunes a miércoles", {0, 1, 2}),
        ("segunda e quarta", {0, 2}),
        ("a segunda vez", set()),
        ("martes o jueves", {1, 3}),
        ("every day", set()),
    ],
)
def test_weekdays(text: str, named: set[int]) -> None:
    assert weekdays(text) == named


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("80 cm", [Amount("80", "length", 0.8)]),
        ("R$ 12,50", [Amount("12.5", "brl", 12.5)]),
        ("48 hours", [Amount("48", "time", 2880.0)]),
        ("12,5 %", [Amount("12.5", "%", 12.5)]),
        ("30 por cento", [Amount("30", "%", 30.0)]),
        ("at 7 pm", [Amount("19", None, None)]),
        ("às 18h30", [Amount("18:30", None, None)]),
        ("half an hour", [Amount("30", "time", 30.0)]),
        ("gate 4", [Amount("4", None, None)]),
        ("no number", []),
    ],
)
def test_amounts(text: str, stated: list[Amount]) -> None:
    assert amounts(text) == stated


def test_amounts_are_compared_by_value_within_their_kind() -> None:
    (half,), (thirty,), (metre,) = amounts("0,5 h"), amounts("30 min"), amounts("30 m")
    assert half.same(thirty)
    assert not thirty.same(metre)
    (bare,) = amounts("30")
    assert bare.same(thirty)
    (other,) = amounts("31 min")
    assert not other.same(thirty)


@pytest.mark.parametrize(
    ("text", "language", "written"),
    [
        ("twenty-one days", "en", "21 days"),
        ("two hundred and fifty seats", "en", "250 seats"),
        ("vinte e um dias", "pt", "21 dias"),
        ("treinta y dos euros", "es", "32 euros"),
        ("cento e vinte lugares", "pt", "120 lugares"),
        ("ciento treinta y un euros", "es", "131 euros"),
        ("two tickets and one seat", "en", "2 tickets and one seat"),
        ("twenty one-way tickets", "en", "20 one-way tickets"),
        ("vinte e uma", "pt", "21"),
        ("one of them", "fr", "one of them"),
    ],
)
def test_number_words(text: str, language: str, written: str) -> None:
    assert with_digits(text, language) == written


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The show at Arena Vale Claro begins late.", ["arena", "vale", "claro"]),
        ("The doors open on Monday in May.", []),
        ("Doors open at nine.", []),
        ("Ask the NGO at the desk.", ["ngo"]),
        ("ALL BAGS STAY IN THE CLOAKROOM TODAY", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert name_words(text, "en") == names


def test_a_name_is_found_in_its_plural_and_genitive() -> None:
    assert is_named("serena", {"serenas"})
    assert is_named("serena", {"serena"})
    assert not is_named("serena", {"serrana", "ser"})


@pytest.mark.parametrize(
    ("claim", "evidence", "kind"),
    [
        ("within 5 days", "within 7 days", "number"),
        ("5 hours", "5 days", "unit"),
        ("on 3 May", "on 4 May", "date"),
        ("on Mondays", "on Tuesdays", "date"),
        ("error BX-217", "error BX-218", "code"),
        ("two weeks", "14 days", ""),
        ("at 7 pm", "at 19:00", ""),
        ("in 2026, on 3 May", "on 3 May 2026", ""),
        ("once", "one visit", ""),
    ],
)
def test_what_evidence_lacks(claim: str, evidence: str, kind: str) -> None:
    stated = facts(evidence, "en")
    assert lacking(facts(claim, "en"), stated, stated) == kind
