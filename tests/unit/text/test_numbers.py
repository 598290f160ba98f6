"""Is each number of a text found, in one spelling?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.text.numbers import numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.500 1,500 1500 1\u00a0500 1\u202f500 1’500", {"1500"}),
        ("1.000.000 1,000,000", {"1000000"}),
        ("Rs 1,50,000 and 150,000", {"150000"}),
        ("7,50 7.5 7.50 07.50", {"7.5"}),
        ("0.50 0,5", {"0.5"}),
        ("0.500 0,500", {"0.5"}),
        ("R$ 1.234,56 1,234.56 1234.56", {"1234.56"}),
        ("10.000,00 10,000.00 10000 10000.0", {"10000"}),
        ("22h30 22:30", {"22:30"}),
        ("9:05 09:05 9h05", {"9:5"}),
        ("19h 19h00 19:00 19", {"19"}),
        ("31/12/2026 2026-12-31 31.12.2026", {"31", "12", "2026", "31.12.2026"}),
        ("१५ ٣ １５", {"15", "3"}),
        ("KH-402 KH402 kh 402", {"402"}),
        ("1.5.2", {"1.5.2"}),
        ("It is 1.500.", {"1500"}),
        ("100% of 5kg, 3rd", {"100", "5", "3"}),
        ("007 0 00", {"7", "0"}),
        ("none, not one", set()),
    ],
)
def test_numbers(text: str, expected: set[str]) -> None:
    assert numbers(text) == expected


def test_other_numbers_stay_other() -> None:
    assert numbers("7.5") != numbers("75")
    assert numbers("22:30") != numbers("22:03")
    assert numbers("1,500") != numbers("1.5")


@given(st.integers(1000, 10**12))
def test_grouping_does_not_change_a_number(value: int) -> None:
    english = f"{value:,}"
    assert numbers(english) == numbers(english.replace(",", ".")) == {str(value)}


@given(st.text(alphabet="0123456789.,:h' /-x", max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    assert all(any(c.isdigit() for c in number) for number in numbers(text))
