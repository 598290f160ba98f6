"""Do the first bytes decide what a document is?"""

import pytest

from vademecum.adapters.parsers.media_type import JSON, MARKDOWN, PDF, TEXT, media_type
from vademecum.errors import MediaTypeUnknown


@pytest.mark.parametrize(
    ("content", "uri", "expected"),
    [
        (b"%PDF-1.7\n...", "a.txt", PDF),
        (b"\n\n  %PDF-1.4", "a", PDF),
        (b"text that says %PDF- late" + b" " * 2000 + b"%PDF-", "a.txt", TEXT),
        (b"# Title", "a.md", MARKDOWN),
        (b"# Title", "A.MARKDOWN", MARKDOWN),
        (b"# Title", "a.txt", TEXT),
        (b"# Title", "folder.md/a", TEXT),
        (b'{"a": 1}', "a.json", JSON),
        (b"  [1, 2]", "a", JSON),
        (b"[a link] and text", "a.txt", TEXT),
        (b"{not json}", "a.json", TEXT),
        (b"[" * 100_000, "a.json", TEXT),
        (b'{"a": 1}', "a.md", MARKDOWN),
        ("Plain text, ñandú".encode(), "noname", TEXT),
        ("Plain text, ñandú".encode("cp1252"), "a.txt", TEXT),
        ("Text".encode("utf-16"), "a.txt", TEXT),
        (b"\xef\xbb\xbfText", "a.txt", TEXT),
        (b"one stray \x00 byte in a text", "a.txt", TEXT),
        (b"", "a.txt", TEXT),
        (b"", "", TEXT),
    ],
)  # fmt: skip
def test_what_can_be_read(content: bytes, uri: str, expected: str) -> None:
    assert media_type(content, uri) == expected


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"\xd0\xcf\x11\xe0rest", "old office"),
        (b"\x89PNG\r\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"GIF89a", "GIF"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x7fELF\x02", "program"),
        (bytes(range(9)) * 100, "not text"),
        (b"\x00" * 5000, "not text"),
        (b"\x00\x01" * 50, "not text"),
    ],
)
@pytest.mark.parametrize("uri", ["a.pdf", "a.md", "a.txt", ""])
def test_what_cannot_be_read_is_named(content: bytes, named: str, uri: str) -> None:
    with pytest.raises(MediaTypeUnknown, match=named) as caught:
        media_type(content, uri)
    assert caught.value.hint
