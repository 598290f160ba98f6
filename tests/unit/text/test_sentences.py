"""Are sentences cut where a reader would cut them?"""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It costs R$ 12.50 today.", "Bring 1.5 kg.", "Done."],
        ["Go to sector C.", "There is a ramp."],
        ["Dr. Silva said no.", "See art. 5 of the rules."],
        ["O Sr. João e a Sra. Ana.", "Tel. 11 5555.", "Cf. pág. 3.", "Fim."],
        ["Leve um par.", "O outro fica."],
        ["It is modern art.", "The gallery is open."],
        ["Bring a document, tickets, etc.", "The gate is at the left."],
        ["Gate no. 5 is open.", "Is it?", "No.", "Go away."],
        ["Mr. J. P. Silva came.", "He left."],
        ["Meet at 10 p.m.", "The door opens, e.g. Gate 4.", "Come."],
        ["Wait... what?", "Yes!"],
        ['He asked "why?" and left.', '"Go."', "She went."],
        ["**Bring water.**", "It is hot."],
        ["The fee is 10 reais.[1]", "Cards are taken. [2]", "Pix as well."],
        ["¿Cuánto cuesta?", "¡Nada!", "Bien."],
        ["1. First step.", "2. Second step."],
        ["Open Mon. to Fri. from 9 a.m. until dark.", "Closed on Sunday."],
        ["Ends without a mark"],
    ],
)
def test_latin_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["これは文です。", "次の文！", "「本当？」", "はい"],
        ["价格是１．５元。", "句子．", "下一个"],
        ["नमस्ते।", "यो हो॥", "ठीक"],
        ["ما هذا؟", "نعم۔"],
    ],
)
def test_other_scripts_need_no_space(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected
    assert sentences(" ".join(expected)) == expected


def test_list_items_and_blank_lines() -> None:
    text = "Bring:\n- a document\n- a ticket\n1. Enter\n2. Sit down\na) left\n\nTitle\n# Next\nover\nit"
    assert sentences(text) == [
        "Bring:", "- a document", "- a ticket", "1. Enter", "2. Sit down", "a) left",
        "Title", "# Next\nover\nit",
    ]  # fmt: skip
    numbered = ["## 2. Arrival", "## 2.1. By bus", "- 3. Come early."]
    assert sentences("\n".join(numbered)) == numbered
    assert sentences("The end.\n12. December is cold.") == ["The end.", "12. December is cold."]


@pytest.mark.parametrize("text", ["", "   ", "\n\n \n"])
def test_blanks_hold_no_sentence(text: str) -> None:
    assert sentence_spans(text) == []


@pytest.mark.parametrize("text", ["." * 200_000 + "x", "\n" * 200_000, "a" + " " * 200_000 + "b"])
def test_long_runs_take_no_long_time(text: str) -> None:
    started = time.perf_counter()
    sentence_spans(text)
    assert time.perf_counter() - started < 2


@given(st.text(alphabet="aB1 .!?。।\n-\"')[]", max_size=80))
def test_spans_are_in_order_and_leave_out_blanks_only(text: str) -> None:
    spans = sentence_spans(text)
    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)


def test_a_combining_mark_is_not_cut_from_the_mark_that_it_stands_on() -> None:
    text = "a।\u0301 b。\ufe0f c"
    assert [text[a:b] for a, b in sentence_spans(text)] == ["a।\u0301", "b。\ufe0f", "c"]
