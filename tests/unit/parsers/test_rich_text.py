"""Is RTF read without its codes?"""

import pytest
from made_documents import read


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (r"One\par Two\line three", "One\n\nTwo\nthree"),
        (r"caf\'e9 \u8364? \uc2\u8364ab!", "café € €!"),
        (r"{\fonttbl{\f0\fcharset204 Arial;}}\f0 \'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (r"{\stylesheet X}{\*\unknown X}{\pict ffd8}{\info{\author X}}seen", "seen"),
        (r"a{\v X}b{\deleted X}c", "abc"),
        (
            r"\trowd a\cell b\cell\row\trowd 1\cell 2\cell\row\pard after",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nafter",
        ),
        (r"{\listtext 1.\tab}item\par\pard text", "- item\n\ntext"),
        (r"{\field{\*\fldinst HYPERLINK X}{\fldrslt link}} \{\}\\", "link {}\\"),
        (r"\outlinelevel0 Head\par\pard body", "Head\n\nbody"),
        (r"\u-10179?\u-8704?", "😀"),
        ("{" * 5_000 + "deep", "deep"),
        (r"}}}}x", "x"),
    ],
)
def test_words(inner: str, expected: str) -> None:
    parsed = read(rf"{{\rtf1\ansi\ansicpg1252 {inner}}}".encode(), "a.doc")
    assert parsed.text == expected
    assert parsed.media_type == "application/rtf"


def test_the_title() -> None:
    assert read(rb"{\rtf1{\info{\title The rules}}x}", "a.rtf").title == "The rules"
