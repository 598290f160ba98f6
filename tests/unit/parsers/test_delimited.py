"""Does each record stand with the names of its columns?"""

import time

import pytest
from made_documents import read

from vademecum.adapters.parsers.delimited import delimiter_of, is_delimited


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1,2\n3,4\n", "a: 1; b: 2\na: 3; b: 4"),
        (b"a;b\r\n1,5;2\r\n3,5;4\r\n", "a: 1,5; b: 2\na: 3,5; b: 4"),
        (b"a\tb\n1\t2", "a: 1; b: 2"),
        (b"a|b\n1|2", "a: 1; b: 2"),
        (b"sep=;\na;b\n1;2", "a: 1; b: 2"),
        (b'a,b\n"x ""y"", z",2', 'a: x "y", z; b: 2'),
        (b"a,b\n1,\n,2\n\n", "a: 1\nb: 2"),
        (b"1,2\n3,4", "1; 2\n3; 4"),
        (b"a,b\n1,2,3", "a: 1; b: 2; 3"),
        (b"just\nwords\nhere", "just\nwords\nhere"),
        (b"price\n10\n20", "price: 10\nprice: 20"),
        (b"a,b", "a; b"),
        ("\ufeffname,age\nAda,36".encode(), "name: Ada; age: 36"),
        (b"a,b\n1,\x002", "a: 1; b: 2"),
        (b"", ""),
    ],
)
def test_records(content: bytes, expected: str) -> None:
    assert read(content, "table.csv").text == expected


def test_a_quote_that_nobody_closes_costs_its_record_only() -> None:
    content = b'name,text\na,"open\n' + b"b,c\n" * 20_000
    started = time.process_time()
    assert read(content, "t.csv").text.count("name: b; text: c") == 20_000
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "text",
    [
        "Dear all, hello.\nWe go, we see, we win.\nThen, at last, home.",
        "One, two\nthree, four\nfive, six",
        "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |",
        "no delimiter\nat all\nhere",
        "",
    ],
)
def test_a_text_with_commas_is_no_table(text: str) -> None:
    assert not is_delimited(text)
    assert read(text.encode(), "a.txt").media_type == "text/plain"


def test_a_table_is_seen_without_a_name() -> None:
    assert read(b"city;people;area\nx;1;2\ny;3;4", "noname").media_type == "text/csv"
    assert delimiter_of("a;b,c\n1;2,3,4\n5;6") == ";"
