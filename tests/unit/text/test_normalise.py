"""Are the forms that people type for one word equal, and only those?"""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.text.normalise import clean, fold, plain, western_digits


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("São Paulo", "sao paulo"),
        ("SÃO PAULO", "São Paulo"),
        (unicodedata.normalize("NFD", "São"), "São"),
        ("Ｃｏｄｅ", "code"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("Łódź", "lodz"),
        ("Ελλάδα", "ελλαδα"),
        ("ёлка", "елка"),
        ("العَرَبِيَّة", "العربية"),
        ("שָׁלוֹם", "שלום"),
        ("४०२", "402"),
        ("ｶｰﾄﾞ", "カード"),
        ("in\u00adfor\u200dmar", "informar"),
        ("ﬁn", "fin"),
    ],
)
def test_fold_makes_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("мой", "мои"), ("किताब", "कताब"), ("が", "か"), ("ไทย", "ทย"), ("KH-402", "KH-403")],
)
def test_fold_keeps_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize("word", ["नेपाली", "किताबें", "भुक्तानी", "ไทย", "தமிழ்", "ガード"])
def test_fold_keeps_marks_that_are_letters(word: str) -> None:
    assert fold(word) == unicodedata.normalize("NFC", word)


def test_a_devanagari_word_beside_it_does_not_keep_an_accent() -> None:
    assert fold("São नेपाली") == "sao नेपाली"


def test_clean_keeps_one_line_end_and_composes() -> None:
    assert clean("a\r\nb\rc\u2028d\x00e\ud800") == "a\nb\nc\nde"
    assert clean("e\u0301") == "é"


def test_plain_and_digits() -> None:
    assert plain("ＫＨ－４０２") == "KH-402"
    assert plain("KH\u2011402") == "KH\u2010402"
    assert western_digits("१२٣x½") == "123x½"


@given(st.text())
def test_clean_twice_is_clean_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(alphabet="aAãÃçéÇŁøßकिতা३国ガ가й\u0301 -09"))
def test_fold_twice_is_fold_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
