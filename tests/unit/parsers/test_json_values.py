"""Are values of JSON read as they are written?"""

import pytest
from made_documents import read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a_b": 1.10, "c": {"d": true, "e": null}}', "a b: 1.10\n\nc: d: true; e: null"),
        (b'[{"x": 1, "y": 2}, {"x": 3}]', "x: 1; y: 2\n\nx: 3"),
        (b'{"list": [1, 2], "rows": [{"x": {"y": 1}}]}', "list: 1, 2\n\nrows: x: y: 1"),
        (b'{"a": 1, "a": 2}', "a: 1\n\na: 2"),
        (b'{"a": NaN, "b": 1e999}', "a: NaN\n\nb: 1e999"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "a: " + "9" * 5_000),
        (b'{"text": "\\ud83d hi"}', "text:  hi"),
        (b'{"text": "pol\\u0000icy"}', "text: policy"),
        (b"{}", ""),
    ],
)
def test_values(content: bytes, expected: str) -> None:
    parsed = read(content, "a.json")
    assert parsed.text == expected
    assert parsed.media_type == "application/json"


def test_each_line_is_a_record() -> None:
    parsed = read(b'{"a": 1}\n\n{"a": 2, "b": {"c": 3}}\n', "a.jsonl")
    assert parsed.media_type == "application/jsonl"
    assert [parsed.text[b.start : b.end] for b in parsed.blocks] == ["a: 1", "a: 2; b: c: 3"]


def test_depth_ends() -> None:
    assert read(b"[" * 100_000 + b"]" * 100_000, "a.json").media_type == "text/plain"
    assert read(b'{"a":' * 400 + b"1" + b"}" * 400, "a.json").text.endswith(" a: 1")


def test_the_title_is_a_text() -> None:
    assert read(b'{"title": "T", "x": 1}', "a.json").title == "T"
    assert read(b'{"title": {"x": 1}, "y": 2}', "my-file.json").title == "my file"
