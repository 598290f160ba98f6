"""Which questions need what was said before, in four languages, and which do not?"""

import pytest

from vademecum.text.followups import answers_offer, goes_on, offered


@pytest.mark.parametrize(
    "question",
    [
        "and how much is it?",
        "How much is it?",
        "What about children?",
        "And for sector B2?",
        "why?",
        "When does it start?",
        "Is that refundable?",
        "Do they accept dogs?",
        "So what does it cost?",
        "How long does it take?",
        "Where is it?",
        "e quanto custa?",
        "Quanto custa?",
        "E para crianças?",
        "Ele abre no domingo?",
        "E se chover?",
        "Isso vale para estudantes?",
        "Onde fica?",
        "¿Y cuánto cuesta?",
        "¿Cuánto cuesta?",
        "¿Qué tal los domingos?",
        "¿Y para niños?",
        "¿Eso incluye la cena?",
        "अनि कति पर्छ?",
        "त्यसको मूल्य कति हो?",
        "त्यो कहिले खुल्छ?",
        "र बालबालिकालाई?",
        "कति?",
    ],
)
def test_a_question_that_goes_on(question: str) -> None:
    assert goes_on(question)


@pytest.mark.parametrize(
    "question",
    [
        "KH-402 error",
        "KH-402",
        "What does KH-402 mean?",
        "What are the opening hours of the Lagoa Verde pool?",
        "refund policy",
        "Is it allowed to bring a bottle into the arena?",
        "Is there parking at the arena?",
        "If I lose my ticket at the gate, can I get it again?",
        "Who said that the gate opens early?",
        "And what are the opening hours of the Lagoa Verde pool?",
        "hello",
        "Thank you!",
        "Qual é o horário de abertura da Arena Paulista?",
        "Posso levar garrafa para a arena?",
        "Como peço reembolso do ingresso?",
        "obrigado",
        "¿Cuál es el horario de la piscina Lagoa Verde?",
        "¿Puedo llevar una botella al estadio?",
        "gracias",
        "काठमाडौं संग्रहालयको टिकट कति पर्छ?",
        "संग्रहालय कहिले खुल्छ?",
        "नमस्ते",
        "",
        "???",
    ],
)
def test_a_question_that_is_complete(question: str) -> None:
    assert not goes_on(question)


OFFER = "Shall I explain tariff A1 or tariff B1?"


@pytest.mark.parametrize(
    ("reply", "offer", "taken"),
    [
        ("Yes, B1", OFFER, True),
        ("B1", OFFER, True),
        ("the second one", OFFER, True),
        ("yes please", OFFER, True),
        ("Sim, o segundo", "Quer a meia-entrada ou a inteira?", True),
        ("Sí", "¿Quiere la tarifa reducida?", True),
        ("हो", "विद्यार्थी टिकट चाहिन्छ?", True),
        ("C7", OFFER, False),
        ("Yes, B1", "The tariffs are A1 and B1.", False),
        ("What does the museum cost on Sundays for children?", OFFER, False),
    ],
)
def test_an_offer_that_is_taken_up(reply: str, offer: str, taken: bool) -> None:
    assert answers_offer(reply, offer) == taken


def test_of_an_offer_only_what_was_chosen_is_kept() -> None:
    assert offered(OFFER, "Yes, B1") == "Shall I explain tariff or tariff B1?"
    assert offered(OFFER, "yes") == OFFER
