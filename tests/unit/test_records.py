"""Does each record of a file become a source of its own?"""

import json

import pytest

from vademecum.adapters.sources.records import records
from vademecum.errors import DocumentUnreadable


def found(content: bytes, uri: str = "u") -> list[tuple[str, object]]:
    return [(name, json.loads(record)) for name, record in records(content, uri)]


def test_arrays_lines_and_rows() -> None:
    assert found(b'[{"id": 7, "t": "x"}, {"t": "y"}, {"id": 7}]') == [
        ("u#7", {"id": 7, "t": "x"}),
        ("u#2", {"t": "y"}),
        ("u#7.3", {"id": 7}),
    ]
    assert found(b'{"_id": "a"}\n{"uri": "b"}\n') == [("u#a", {"_id": "a"}), ("u#b", {"uri": "b"})]
    assert found(b'id;note\n1;"two\nlines"\n2;ok', "u.csv") == [
        ("u.csv#1", {"id": "1", "note": "two\nlines"}),
        ("u.csv#2", {"id": "2", "note": "ok"}),
    ]
    assert found(b'{"one": 1}') == [("u#1", {"one": 1})]


@pytest.mark.parametrize("value", [b'"\\ud83d"', b"9" * 5_000, b"NaN", b'"\\u0000"'])
def test_odd_values_do_no_harm(value: bytes) -> None:
    [(uri, record)] = records(b'[{"t": ' + value + b"}]", "u")
    assert uri == "u#1"
    assert isinstance(json.loads(record)["t"], str | float)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"Just words.", b"%PDF-1.7", b"\x89PNG", b""])
def test_what_has_no_records_is_refused(content: bytes) -> None:
    with pytest.raises(DocumentUnreadable):
        list(records(content, "u"))
