"""Does a word or a code give the same terms in every spelling?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.text import analyse
from vademecum.text.analyse import TERM_SPACE, codes, query_terms, stem, term_id, terms, words

SPELLINGS = [
    "KH-402", "kh402", "KH402", "KH 402", "kh-402", "Kh-402", "KH\u2011402", "KH\u2010402",
    "KH\u2013402", "KH\u2212402", "ＫＨ－４０２", "ｋｈ４０２", "KH_402", "KH.402", "KH/402",
    "KH\u00a0402", "KH\u00ad402", "KH-४०२", "(KH-402)", "KH-402.",
]  # fmt: skip


def test_words_keep_combining_marks_and_fold_accents() -> None:
    assert words("नेपाली किताबें") == ["नेपाली", "किताबें"]
    assert words("São Paulo") == words("sao PAULO") == ["sao", "paulo"]
    assert words("क्\u200dष") == words("क्ष")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_re_16_every_spelling_is_one_code(spelling: str) -> None:
    assert codes(spelling) == ["kh402"]
    assert terms(f"error {spelling}", "en") == ["error", "kh", "402", "kh402#"]


def test_re_16_other_queries_find_the_code_and_not_its_neighbour() -> None:
    document = set(terms("Error KH-402 means that the session is over.", "en"))
    assert "kh402#" in terms("kh 402", "en")
    assert document.issuperset(terms("kh 402", "en"))
    assert document.issuperset(terms("402", "en"))
    assert codes("KH-403") == ["kh403"]
    assert "kh402#" not in terms("KH-403", "en")


@pytest.mark.parametrize(
    "text",
    ["em 2024", "de 50", "o 15", "às 22", "at 10", "At 10", "EM 2024", "R$ 50", "EUR 50", "rs 500",
     "gate 4", "VAT 10%", "max 50", "402", "v2.1.3", "कोड-402"],
)  # fmt: skip
def test_a_word_before_a_number_is_no_code(text: str) -> None:
    assert codes(text) == []
    assert not any(term.endswith("#") for term in terms(text, "pt"))


def test_codes_stand_between_unspaced_scripts() -> None:
    assert codes("エラーKH-402です") == ["kh402"]
    assert {"kh402#", "です"} <= set(terms("エラーKH-402です", "ja"))


def test_re_17_unspaced_scripts_give_pairs() -> None:
    assert words("国際標準化") == ["国際", "際標", "標準", "準化"]
    assert set(words("国際標準化")) <= set(words("国際標準化に関する動向"))
    assert words("中") == ["中"]
    assert words("カード") == ["カー", "ード"]
    assert words("ผู้ใช้") == ["ผู้ใ", "ใช้"]
    assert words("A中文B") == ["a", "中文", "b"]


@pytest.mark.parametrize(
    ("language", "group"),
    [
        ("pt", ["informação", "informações", "INFORMACAO", "informacoes"]),
        ("pt", ["acessível", "acessíveis", "acessivel"]),
        ("pt", ["deficiência", "deficiencia", "DEFICIÊNCIAS"]),
        ("pt", ["São", "sao", "SÃO"]),
        ("es", ["devolución", "devolucion"]),
        ("es", ["boletería", "boleterias", "boleterías"]),
        ("en", ["refund", "refunds", "Refunded"]),
    ],
)
def test_re_20_one_stem_with_and_without_accents(language: str, group: list[str]) -> None:
    assert len({stem(word, language) for word in group}) == 1


def test_other_words_have_other_stems() -> None:
    assert len({stem(word, "pt") for word in ("informação", "formação", "reforma")}) == 3


def test_re_20_the_exact_form_is_a_term_beside_the_folded_one() -> None:
    assert terms("SÃO Paulo", "pt") == ["sa", "são=", "paul"]
    assert terms("sao paulo", "pt") == ["sa", "paul"]
    assert terms("किताबें", "hi") == [stem("किताबें", "hi")]


def test_re_26_names_of_programs_are_found_by_their_parts() -> None:
    assert set(terms("user id", "en")) <= set(terms("getUserById", "en"))
    assert set(terms("user id", "en")) <= set(terms("get_user_by_id", "en"))
    assert set(terms("http server", "en")) <= set(terms("HTTPServer", "en"))
    assert words("USA Refunds") == ["usa", "refunds"]


def test_an_unknown_language_keeps_the_folded_word() -> None:
    assert stem("São", "xx") == stem("São", "") == "sao"


def test_query_terms_hold_one_set_of_alternatives_a_word() -> None:
    asked = query_terms("Refunds refunds KH-402", frozenset({"en", "pt"}))
    assert asked == [
        frozenset({"refund", "refunds"}),
        frozenset({"kh"}),
        frozenset({"402"}),
        frozenset({"kh402#"}),
    ]
    assert query_terms("São", frozenset()) == [frozenset({"sao", "são="})]
    assert query_terms("  ", frozenset({"en"})) == []


@pytest.mark.parametrize("text", ["don't", "C++", "AND", "wallet OR", '"', "foo:bar", "*", ""])
def test_re_15_nothing_is_query_language(text: str) -> None:
    assert all(word.isalnum() for word in words(text))


def test_term_ids_stay_in_the_space() -> None:
    assert term_id("refund", "red") == term_id("refund", "red")
    assert all(1 <= term_id(str(i), "red") < TERM_SPACE for i in range(50))


def test_a_term_has_another_id_for_each_tenant() -> None:
    assert term_id("refund", "red") != term_id("refund", "blue")


@given(st.text(alphabet="abcdeKHãé-402 国際में.", max_size=40))
def test_each_language_gives_as_many_terms(text: str) -> None:
    assert len(terms(text, "pt")) == len(terms(text, "en")) == len(terms(text, ""))


@given(st.text(st.characters(max_codepoint=0x24F), max_size=60))
def test_latin_texts_have_the_words_that_the_rule_for_all_scripts_finds(text: str) -> None:
    assert analyse._LATIN_WORD.findall(text) == analyse._WORD.findall(text)


def test_every_latin_character_is_a_letter_to_both_rules_or_to_none() -> None:
    for character in map(chr, range(0x250)):
        both = (analyse._LATIN_WORD.findall(character), analyse._WORD.findall(character))
        assert both[0] == both[1], f"U+{ord(character):04X}"
    assert analyse._BEYOND_LATIN.search("\u0250")
