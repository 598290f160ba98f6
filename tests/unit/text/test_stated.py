"""Are times, shares, limits, denials and roles read as they are meant?"""

from math import inf

import pytest

from vademecum.text.dates import Day, days, in_season, seasons
from vademecum.text.facts import facts, lacking
from vademecum.text.number_words import with_digits
from vademecum.text.quantities import Amount, amounts
from vademecum.text.stated.bounds import Bound, bounds
from vademecum.text.stated.clocks import clocks
from vademecum.text.stated.fractions import with_amounts
from vademecum.text.stated.frames import passive_verb, transfer
from vademecum.text.stated.frequency import frequencies
from vademecum.text.stated.pieces import pieces
from vademecum.text.stated.stances import completed, stance, without_stance
from vademecum.text.weekdays import weekdays, without_weekdays


def at(hours: int, minutes: int = 0) -> int:
    return hours * 60 + minutes


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("at 19:30", [{at(19, 30)}]),
        ("às 19h30", [{at(19, 30)}]),
        ("at 7.15 p.m.", [{at(19, 15)}]),
        ("half past six in the morning", [{at(6, 30)}]),
        ("a quarter to five in the afternoon", [{at(16, 45)}]),
        ("twenty-five to four", [{at(3, 35), at(15, 35)}]),
        ("ten past six in the evening", [{at(18, 10)}]),
        ("at noon and at midnight", [{at(12)}, {at(0)}]),
        ("twelve at night", [{at(0)}]),
        ("às cinco e um quarto da tarde", [{at(17, 15)}]),
        ("às seis e meia", [{at(6, 30), at(18, 30)}]),
        ("às quinze para a meia-noite", [{at(23, 45)}]),
        ("ao meio-dia", [{at(12)}]),
        ("a las siete y cuarto de la tarde", [{at(19, 15)}]),
        ("a las siete menos diez de la mañana", [{at(6, 50)}]),
        ("साँझ 5 बजे", [{at(17)}]),
        ("never before nine.", [{at(9), at(21)}]),
        ("uma hora e meia", []),
        ("por 2h", []),
        ("as duas portas", []),
        ("from 20 people", []),
        ("at least two", []),
    ],
)
def test_times_of_day(text: str, readings: list[set[int]]) -> None:
    assert [set(clock.readings) for clock in clocks(text)[0]] == readings


def test_a_time_lies_in_the_span_that_begins_before_it() -> None:
    span = clocks("das 22h30 às 2h")[0][0]
    assert span.holds(clocks("à 1h")[0][0])
    assert not span.holds(clocks("às 21h")[0][0])
    assert span.same(clocks("22:30")[0][0])


def test_a_time_leaves_the_text_so_that_its_numbers_count_once() -> None:
    assert clocks("until 16:45 for 20 guests")[1].split() == ["until", "for", "20", "guests"]


@pytest.mark.parametrize(
    ("language", "text", "written"),
    [
        ("en", "two and a half hours", "2.5 hours"),
        ("en", "an hour and a half", "1.5 hour"),
        ("en", "half an hour", "30 min"),
        ("en", "a third of the price", "33.3333 % of the price"),
        ("en", "two in three people", "66.6667 % people"),
        ("en", "half the price", "50 % the price"),
        ("en", "the second half", "the second half"),
        ("en", "half a dozen eggs", "6 eggs"),
        ("en", "a fortnight", "2 weeks"),
        ("en", "twice the rate", "2 times the rate"),
        ("en", "a quarter of a year", "3 months"),
        ("pt", "duas horas e meia", "2.5 horas"),
        ("pt", "metade do preço", "50 % do preço"),
        ("pt", "um quarto delas", "25 % delas"),
        ("pt", "um quarto de hotel", "um quarto de hotel"),
        ("pt", "dois em cada três alunos", "66.6667 % alunos"),
        ("es", "tres euros y medio", "3.5 euros"),
        ("es", "una quinta parte", "20 %"),
        ("es", "la segunda mitad", "la segunda mitad"),
    ],
)
def test_fractions_and_shares(language: str, text: str, written: str) -> None:
    assert with_amounts(with_digits(text, language)) == written


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("3 times a day", {("time", 480.0)}),
        ("uma vez por mês", {("months", 1.0)}),
        ("cada 2 meses", {("months", 2.0)}),
        ("de 15 em 15 dias", {("time", 21600.0)}),
        ("weekly", {("time", 10080.0)}),
        ("una vez a la semana", {("time", 10080.0)}),
        ("two days", set()),
    ],
)
def test_how_often(text: str, apart: set[tuple[str, float]]) -> None:
    assert frequencies(text) == apart


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("from 4 to 12 years", [Bound("between", "months", 48.0, 144.0)]),
        ("entre 29 e 10 dias", [Bound("between", "time", 14400.0, 41760.0)]),
        ("menores de 4 años", [Bound("under", "months", 0.0, 48.0)]),
        ("a partir de 40", [Bound("least", None, 40.0, inf)]),
        ("up to 32 devices", [Bound("most", None, 0.0, 32.0)]),
        ("more than 50 cm", [Bound("over", "length", 0.5, inf)]),
        ("10 or more", [Bound("least", None, 10.0, inf)]),
        ("32 devices", []),
    ],
)
def test_limits(text: str, limits: list[Bound]) -> None:
    assert list(bounds(text)) == limits


def test_an_amount_lies_within_a_limit_of_its_kind() -> None:
    (under,) = bounds("under 4 years")
    (three,), (four,), (metres,) = amounts("3 years"), amounts("4 years"), amounts("3 m")
    assert [under.holds(amount) for amount in (three, four, metres)] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("10 working days", Amount("10", "time", 14400.0, "working")),
        ("14 días naturales", Amount("14", "time", 20160.0, "calendar")),
        ("R$ 60 por noite", Amount("60", "brl", 60.0, "per day")),
        ("24 € anuales", Amount("24", "eur", 24.0, "per year")),
        ("6 tablets", Amount("6", None, None, "things")),
        ("20 किलोसम्म", Amount("20", "weight", 20.0)),
        ("25 por ciento", Amount("25", "%", 25.0)),
    ],
)
def test_what_an_amount_is_of_and_per(text: str, stated: Amount) -> None:
    assert amounts(with_digits(text, "es")) == [stated]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 working days", "5 days", True),
        ("5 working days", "5 días naturales", False),
        ("60 reais por noite", "60 reais por estadia", False),
        ("5 euros por pessoa", "5 euros por bilhete", True),
        ("6 tablets", "6 hours", False),
        ("6", "6 hours", True),
    ],
)
def test_amounts_of_other_days_or_per_other_times_differ(one: str, other: str, same: bool) -> None:
    assert amounts(one)[0].same(amounts(other)[0]) is same


@pytest.mark.parametrize(
    ("language", "claim", "source", "missing"),
    [
        ("pt", "paga 50 % do valor", "paga a metade do valor", ""),
        ("en", "on the 3rd floor", "on the third floor", ""),
        ("en", "on the 5th floor", "on the third floor", "number"),
        ("es", "a las 19:30", "a las siete y media", ""),
        ("es", "a las 20:30", "a las siete y media", "number"),
        ("pt", "fica parada duas horas", "parada das 14h às 16h", ""),
        ("es", "un niño de ocho años paga 5 euros", "de 4 a 12 años, 5 euros", ""),
        ("es", "un niño de trece años paga 5 euros", "de 4 a 12 años, 5 euros", "number"),
        ("es", "una vez a la semana", "cada dos meses", "number"),
        ("en", "a week's notice", "a month's notice", "unit"),
        ("ne", "चार वटा किताब", "४ वटा किताब", ""),
        ("ne", "पाँच वटा किताब", "४ वटा किताब", "number"),
        ("en", "on Saturday", "on weekends", ""),
        ("pt", "na quarta", "às quartas-feiras", ""),
    ],
)
def test_facts_said_in_another_way(language: str, claim: str, source: str, missing: str) -> None:
    said, stated = facts(claim, language), facts(source, language)
    assert lacking(said, stated, stated) == missing


def test_a_day_without_its_month_and_spans_of_months() -> None:
    assert days("3 to 6 March; press night is the 9th.")[0][-1] == Day(None, 3, 9)
    assert seasons("open November to February") == [(11, 2)]
    assert in_season(1, (11, 2))
    assert not in_season(7, (11, 2))


def test_days_of_the_week_alone_in_a_script_and_as_a_span() -> None:
    assert weekdays("toda quarta à tarde") == {2}
    assert weekdays("a quarta parte") == set()
    assert weekdays("aos fins de semana") == {5, 6}
    assert weekdays("10 dias úteis") == set()
    assert weekdays("आइतबार र शनिबार") == {5, 6}
    assert without_weekdays("closed on Mondays").split() == ["closed", "on"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Books are due after 21 days; DVDs after 14.", 2),
        ("Between 29 and 10 days before, half is paid.", 2),
        ("Open on Tuesdays and Fridays.", 1),
        ("Gates open at 19:30.", 1),
        ("Grey parts may be washed; the black ones, no.", 2),
        ("Photos are forbidden except in the lobby.", 2),
        ("Bring water and bread.", 1),
        ("The small one weighs 4 kg and the large one, 7 kg.", 3),
    ],
)
def test_statements_of_a_sentence(text: str, parts: int) -> None:
    assert len(pieces(text)) == parts


@pytest.mark.parametrize(
    ("language", "text", "axis", "sign"),
    [
        ("en", "Dogs are allowed", "allow", 1),
        ("en", "Dogs are not allowed", "allow", -1),
        ("en", "Dogs are forbidden", "allow", -1),
        ("en", "Dogs are not forbidden", "allow", 1),
        ("en", "You must not bring dogs", "allow", -1),
        ("en", "If it is not accepted, you may return", "allow", 1),
        ("pt", "Não é possível revender", "allow", -1),
        ("pt", "É vedado acampar", "allow", -1),
        ("pt", "Idosos estão isentos de pagar", "charge", -1),
        ("pt", "Não se cobra nada", "charge", -1),
        ("pt", "Não é preciso guardar", "demand", -1),
        ("pt", "O xarope dispensa receita", "demand", -1),
        ("es", "No hay que pagar", "charge", -1),
        ("es", "Quien no pueda asistir puede pedirlo", "allow", 1),
        ("es", "Los ocupantes sí tienen permitido entrar", "allow", 1),
        ("es", "Está libre de gluten", "contain", -1),
        ("en", "with or without food it is allowed", "allow", 1),
    ],
)
def test_stances(language: str, text: str, axis: str, sign: int) -> None:
    assert stance(text, language).signs[axis] == sign


def test_a_statement_takes_over_what_it_leaves_out() -> None:
    lead = stance("Phones may be used in the café", "en")
    assert completed(stance("not in the halls", "en"), lead).signs["allow"] == -1
    banned = stance("Photos are prohibited everywhere", "en")
    assert completed(stance("except in the lobby", "en"), banned).signs["allow"] == 1
    assert stance("only members may enter", "en").only[:1] == ("members",)
    assert without_stance("Dogs are not allowed inside", "en").split() == ["dogs", "are", "inside"]


GIVES = [
    ("en", "The clerk sends the form to the auditor."),
    ("en", "The form is sent to the auditor by the clerk."),
    ("en", "The auditor receives the form from the clerk."),
    ("en", "The auditor is sent the form by the clerk."),
    ("en", "The clerk sends the auditor the form."),
    ("en", "The auditor gets a reminder from the clerk every week"),
    ("en", "The auditor is trained by the clerk"),
    ("en", "The auditor buys the goods from the clerk"),
    ("en", "The clerk owes the auditor two weeks' pay"),
    ("pt", "O clerk envia o relatório ao auditor."),
    ("pt", "O relatório é enviado ao auditor pelo clerk."),
    ("pt", "O auditor recebe do clerk um relatório."),
    ("pt", "O clerk avisa o auditor por mensagem"),
    ("pt", "O auditor aluga a sala do clerk"),
    ("es", "El clerk entrega el informe a la auditor."),
    ("es", "El informe se lo entrega el clerk a la auditor."),
    ("es", "La auditor recibe el informe del clerk."),
    ("es", "La auditor le compra las piezas al clerk"),
    ("es", "Las llaves las entrega el clerk a la auditor"),
]


@pytest.mark.parametrize(("language", "text"), GIVES)
def test_from_whom_to_whom(language: str, text: str) -> None:
    found = transfer(text, language)
    assert found is not None
    assert "clerk" in found.sources - found.targets
    assert "auditor" in found.targets - found.sources


def test_two_who_changed_places_stand_against_each_other() -> None:
    one = transfer("The clerk pays the auditor", "en")
    same = transfer("The auditor is paid by the clerk", "en")
    other = transfer("The auditor pays the clerk", "en")
    assert one is not None and same is not None and other is not None
    assert one.like(same) and not one.against(same)
    assert one.against(other) and not one.like(other)


def test_an_active_verb_is_read_by_the_passive_of_the_other_text() -> None:
    assert passive_verb("The infants are marshalled by the pupils", "en") == "marshalled"
    found = transfer("The pupils marshal the infants", "en", verb="marshalled")
    assert found is not None and (found.sources, found.targets) == ({"pupils"}, {"infants"})


def test_who_is_not_named_stands_before_in_the_sentence() -> None:
    found = transfer("who sends it to the buyer", "en", "The seller hands it to the courier, ")
    assert found is not None and found.sources == {"courier"}
