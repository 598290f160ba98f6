"""Is a question divided where it asks two things, and nowhere else?"""

import time

import pytest

from vademecum.text.questions import asked_alone, names, parts, search_text

CAMERA = (
    "Can I bring my camera to the show at Arena Paulista, and is there step-free access to "
    "sector C?"
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            CAMERA,
            [
                "Can I bring my camera to the show at Arena Paulista",
                "is there step-free access to sector C?",
            ],
        ),
        (
            "Posso levar minha câmera ao show e há acesso sem degraus ao setor C?",
            ["Posso levar minha câmera ao show", "há acesso sem degraus ao setor C?"],
        ),
        (
            "Qual é a taxa de entrega, e também quando chega o ingresso?",
            ["Qual é a taxa de entrega", "quando chega o ingresso?"],
        ),
        (
            "¿Puedo llevar comida y hay estacionamiento cerca?",
            ["¿Puedo llevar comida", "hay estacionamiento cerca?"],
        ),
        ("¿A qué hora abre? ¿Cuánto cuesta?", ["¿A qué hora abre?", "¿Cuánto cuesta?"]),
        (
            "What time does it open and how do I get there and can I park",
            ["What time does it open", "how do I get there", "can I park"],
        ),
        ("What is the fee, how do I pay it?", ["What is the fee", "how do I pay it?"]),
        ("営業時間は？料金は？", ["営業時間は？", "料金は？"]),
        ("टिकट कति हो? ढोका कहिले खुल्छ?", ["टिकट कति हो?", "ढोका कहिले खुल्छ?"]),
        (
            "Can I pay with Pix and when it fails, what do I do?",
            ["Can I pay with Pix", "when it fails, what do I do?"],
        ),
    ],
)
def test_two_things_are_two_parts(question: str, expected: list[str]) -> None:
    assert parts(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "salt and pepper",
        "What is the difference between salt and pepper?",
        "Preciso de ingresso impresso e de documento?",
        "If I am late, can I still get in?",
        "When the show is cancelled, do I get my money back?",
        "Quando o show é cancelado, posso pedir reembolso?",
        "Si llego tarde, ¿puedo entrar?",
        "Se eu perder o ingresso, posso entrar?",
        "It was late, is there a refund?",
        "The rules that say how much, which are old",
        "Hi there, can I come in?",
        "Where and when does it start?",
        "What? Why?",
        "What is BX-217? I saw it today.",
        "?",
        "",
    ],
)
def test_one_thing_is_one_part(question: str) -> None:
    assert parts(question) == [question]


def test_names() -> None:
    assert names(CAMERA) == ["Arena Paulista"]
    assert names("Arena Paulista has parking?") == ["Arena Paulista"]
    assert names("Does Arena Paulista open on time?") == ["Arena Paulista"]
    assert names("Onde fica o Teatro do Porto?") == ["Teatro do Porto"]
    assert names("Parking is free. Bring cash. Can I?") == []
    assert names("What is BX-217?") == []


def test_search_text_carries_names_over() -> None:
    first, second = parts(CAMERA)
    assert search_text(first, CAMERA) == first
    assert search_text(second, CAMERA) == f"{second} Arena Paulista"


def test_a_later_name_is_taken_only_by_a_part_without_one() -> None:
    question = "Is there parking and how do I get to Arena Paulista?"
    assert search_text(parts(question)[0], question) == "Is there parking Arena Paulista"
    question = "Do you accept Visa and is Pix free?"
    assert [search_text(part, question) for part in parts(question)] == [
        "Do you accept Visa",
        "is Pix free? Visa",
    ]


def test_blanks_take_no_long_time() -> None:
    started = time.perf_counter()
    parts("What is it" + " " * 50_000 + "x")
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("I live in Porto. Can I transfer a ticket?", "Can I transfer a ticket?"),
        ("Moro em São Paulo. Posso levar uma câmera?", "Posso levar uma câmera?"),
        ("Vivo en Lisboa. ¿Puedo entrar con agua?", "¿Puedo entrar con agua?"),
        ("I am going to Arena Paulista. May I smoke there?", "May I smoke there? Arena Paulista"),
        ("Can I transfer a ticket? I use a wheelchair.", "Can I transfer a ticket?"),
        ("Can I transfer a ticket?", "Can I transfer a ticket?"),
        ("I live in Porto.", "I live in Porto."),
        ("Arena Paulista cameras", "Arena Paulista cameras"),
        ("", ""),
    ],
)
def test_what_asks_stands_without_its_remarks_but_with_their_names(
    part: str, expected: str
) -> None:
    assert asked_alone(part) == expected


def test_what_people_tell_of_themselves_names_nothing_that_is_asked_about() -> None:
    question = "I live in Porto. Can I bring a camera, and is there step-free access?"
    assert [search_text(part, question) for part in parts(question)] == [
        "I live in Porto. Can I bring a camera",
        "is there step-free access?",
    ]
