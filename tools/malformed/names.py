"""Names and metadata: too long, of another direction, reserved, a megabyte, rights that are none."""

from collections.abc import Callable
from random import Random
from typing import Any

from malformed.sample import ESCAPED, Sample, paragraph, sentence

_URIS = (
    "a" * 255 + ".txt", "é" * 200 + ".md", "dir/" * 400 + "a.txt", "a" * 70_000, "", " ", ".", "..", "/",
    f"../../tmp/{ESCAPED}", "a\0b.txt", "a\nb.txt", "a\tb.pdf", "\u202etxt.fdp", "👩\u200d👧.md", "CON", "nul.txt",
    "aux.json", "a.PDF", "a.tar.gz.md", "a?b#c.txt", "file:///etc/passwd", "http://192.0.2.1/a.html",
    "s3://bucket/\ud800.txt", "a%00b.txt", "<script>.html", "'; DROP TABLE x; --.txt", "$(touch x).txt",
    "a.docx ", ".hidden", "~root/a.txt", "\ufeffa.txt", "ﬁle.txt", "e\u0301.txt", "-rf.txt", "|x.txt",
)  # fmt: skip


def _file(random: Random, uri: str = "notes/note.txt", **metadata: Any) -> Sample:
    return Sample(content=paragraph(random).encode(), uri=uri, metadata=metadata)


def any_name(random: Random) -> Sample:
    return _file(random, random.choice(_URIS))


def letters_of_any_kind(random: Random) -> Sample:
    name = "".join(
        chr(
            random.choice(
                [random.randrange(32), random.randrange(0x3000), random.randrange(0x10FFFF)]
            )
        )
        for _ in range(random.randrange(1, 90))
    )
    return _file(random, name)


def name_of_another_kind(random: Random) -> Sample:
    return _file(
        random,
        f"note.{random.choice(['pdf', 'docx', 'html', 'json', 'csv', 'eml', 'epub', 'png', 'xyz', 'zip'])}",
    )


def large_metadata(random: Random) -> Sample:
    return _file(random, note="x" * random.choice([1_000, 1_000_000]))


def many_keys(random: Random) -> Sample:
    return _file(random, **{f"key {n}": n for n in range(random.choice([100, 10_000]))})


def odd_keys(random: Random) -> Sample:
    keys = (
        "",
        " ",
        "a.b",
        "a b",
        "__proto__",
        "\0",
        "\ud800",
        "access",
        "tenant",
        "$where",
        "a" * 5_000,
        "effective_from",
    )
    return _file(random, **{key: sentence(random, 2) for key in random.sample(keys, 5)})


def odd_values(random: Random) -> Sample:
    values = (
        float("nan"),
        float("inf"),
        2**70,
        -(2**70),
        "",
        "\0",
        "\ud800",
        None,
        True,
        [],
        {},
        b"x",
        "2026-13-45",
        [[[]]],
    )
    return _file(random, **{f"k{n}": value for n, value in enumerate(random.sample(values, 6))})


def rights_that_are_none(random: Random) -> Sample:
    rights = (
        "",
        "*",
        "tenant:*",
        "\0",
        "group:" + "x" * 5_000,
        "tenant\n",
        "user:'; --",
        "TENANT",
        None,
        5,
        "group:a:b:c",
    )
    return _file(random, access=random.sample(rights, 4))


def effective_days(random: Random) -> Sample:
    days = (
        "2026-02-30",
        "99999-01-01",
        "0000-00-00",
        "tomorrow",
        "2026-01-01T00:00:00+99:99",
        "",
        20260101,
        "2026/01/01",
    )
    return _file(random, effective_from=random.choice(days), effective_until=random.choice(days))


def title_of_any_kind(random: Random) -> Sample:
    title = random.choice(
        ["\0", "x" * 100_000, "\u202egnp", "<script>", "a\n\n# b", "\ud800", "   "]
    )
    return Sample(
        content=f"# {title}\n\n{paragraph(random)}".encode("utf-8", "surrogatepass"),
        uri="notes/note.md",
        metadata={"title": title},
    )


KINDS: tuple[Callable[[Random], Sample], ...] = (
    any_name, letters_of_any_kind, any_name, name_of_another_kind, large_metadata, many_keys,
    odd_keys, odd_values, rights_that_are_none, effective_days, title_of_any_kind, any_name,
)  # fmt: skip
