"""Mail: names of attachments, parts in parts, headers without end, false encodings."""

import base64
import zlib
from collections.abc import Callable
from random import Random

from malformed.sample import ESCAPED, Sample, damaged, paragraph, sentence

_HEAD = "From: box office <office@example.org>\r\nTo: guests@example.org\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\n"
_NAMES = (
    f"../../tmp/{ESCAPED}", f"/tmp/{ESCAPED}", f"..\\{ESCAPED}", "", ".", "..", "a" * 5_000, "a\\0b", "CON",
    "a\r\n b", "=?utf-8?q?=2e=2e=2f?=x", "=?no-such?b?!!!?=", "\u202etxt.exe", "a/b", "a;b", '"', "%2e%2e%2f",
)  # fmt: skip


def _mail(text: str) -> Sample:
    return Sample(content=text.encode("utf-8", "surrogatepass"), uri="post/letter.eml")


def _parts(random: Random, *parts: str, kind: str = "mixed", boundary: str = "b1") -> str:
    head = _HEAD.format(subject=sentence(random, 3))
    body = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts)
    return f'{head}Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n{body}--{boundary}--\r\n'


def _attached(name: str, content: bytes, kind: str = "application/octet-stream") -> str:
    return (
        f'Content-Type: {kind}; name="{name}"\r\nContent-Disposition: attachment; filename="{name}"\r\n'
        f"Content-Transfer-Encoding: base64\r\n\r\n{base64.b64encode(content).decode()}"
    )


def names_of_attachments(random: Random) -> Sample:
    return _mail(_parts(random, f"Content-Type: text/plain\r\n\r\n{sentence(random)}",
                        *(_attached(name, b"x") for name in random.sample(_NAMES, 5))))  # fmt: skip


def bytes_changed(random: Random) -> Sample:
    text = _parts(
        random,
        f"Content-Type: text/plain\r\n\r\n{paragraph(random)}",
        _attached("a.txt", b"abc" * 50),
    )
    return Sample(content=damaged(random, text.encode()), uri="post/letter.eml")


def parts_in_parts(random: Random) -> Sample:
    depth = random.choice([10, 200, 2_000])
    opening = "".join(
        f'Content-Type: multipart/mixed; boundary="b{n}"\r\n\r\n--b{n}\r\n' for n in range(depth)
    )
    return _mail(
        _HEAD.format(subject="Deep")
        + opening
        + f"Content-Type: text/plain\r\n\r\n{sentence(random)}"
    )


def boundary_of_its_parent(random: Random) -> Sample:
    inner = f'Content-Type: multipart/mixed; boundary="b1"\r\n\r\n--b1\r\n\r\n{sentence(random)}\r\n--b1--'
    return _mail(_parts(random, inner, inner))


def many_parts(random: Random) -> Sample:
    return _mail(
        _parts(random, *(f"\r\n{sentence(random, 2)}" for _ in range(random.choice([100, 10_000]))))
    )


def letters_in_letters(random: Random) -> Sample:
    text = _HEAD.format(subject="Inner") + f"\r\n{sentence(random)}"
    for _ in range(random.choice([5, 60])):
        text = _HEAD.format(subject="Outer") + f"Content-Type: message/rfc822\r\n\r\n{text}"
    return _mail(text)


def endless_headers(random: Random) -> Sample:
    header = random.choice(
        [
            "Received: from example.org\r\n",
            "X-Y: " + "z" * 100_000 + "\r\n",
            " folded\r\n",
            "Subject: =?utf-8?b?4pyT?= \r\n",
        ]
    )
    return _mail(
        _HEAD.format(subject=sentence(random, 3))
        + header * random.choice([1, 3_000][: 1 if len(header) > 999 else 2])
        + f"\r\n{sentence(random)}"
    )


def false_encodings(random: Random) -> Sample:
    kind, charset = (
        random.choice(["base64", "quoted-printable", "uuencode", "8bit", "no-such"]),
        random.choice(["utf-8", "no-such", "utf-7", "us-ascii", "\x00"]),
    )
    return _mail(
        _parts(
            random,
            f"Content-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: {kind}\r\n\r\n=ZZ=\xe9=E9===!!!{sentence(random)}",
        )
    )


def no_end(random: Random) -> Sample:
    return _mail(
        _parts(random, f"Content-Type: text/html\r\n\r\n<b>{sentence(random)}").rsplit("--b1--", 1)[
            0
        ]
    )


def bomb_attached(random: Random) -> Sample:
    packed = zlib.compress(b"0" * (random.choice([1, 20]) << 20))
    return _mail(
        _parts(
            random,
            f"\r\n{sentence(random)}",
            _attached("a.pdf", b"%PDF-1.7" + packed, "application/pdf"),
            _attached("a.zip", b"PK\x03\x04" + packed, "application/zip"),
        )
    )


def odd_dates_and_people(random: Random) -> Sample:
    head = (
        "Date: Fri, 99 Foo 99999 99:99:99 +9999\r\nFrom: "
        + '"' * random.choice([1, 5_000])
        + "\r\nTo: "
        + "a@b," * 2_000
        + "\r\nSubject: \x00\x1b[31m\r\n"
    )
    return _mail(head + f"\r\n{sentence(random)}")


def no_headers(random: Random) -> Sample:
    return _mail(
        random.choice(["\r\n", "From\r\n", ": x\r\n", "Subject\r\n\r\n", "From x\n"])
        + sentence(random)
    )


KINDS: tuple[Callable[[Random], Sample], ...] = (
    names_of_attachments, bytes_changed, parts_in_parts, boundary_of_its_parent, many_parts,
    letters_in_letters, endless_headers, false_encodings, no_end, bomb_attached, odd_dates_and_people,
    no_headers,
)  # fmt: skip
