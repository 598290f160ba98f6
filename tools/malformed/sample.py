"""What is one bad file, and of which simple parts are many of them made?"""

import io
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

# A name that no file of a machine has: found anywhere, something was written where it must not be.
ESCAPED = "vademecum-escaped-file"
WORDS = [
    "the",
    "ticket",
    "office",
    "beside",
    "the",
    "north",
    "gate",
    "opens",
    "at",
    "noon",
    "and",
    "refunds",
    "are",
    "paid",
    "within",
    "nine",
    "days",
    "bilheteira",
    "portão",
    "ingresso",
    "reembolso",
    "prazo",
    "acessível",
    "entrada",
    "taquilla",
    "puerta",
    "boleto",
    "devolución",
]
_DAY = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One file as it would be handed in; `metadata` may be as bad as its bytes."""

    content: bytes
    uri: str
    family: str = ""
    name: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def named(self, family: str, name: str) -> "Sample":
        return replace(self, family=family, name=name)


def sentence(random: Random, words: int = 9) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize() + "."


def paragraph(random: Random, sentences: int = 4) -> str:
    return " ".join(sentence(random) for _ in range(sentences))


def zipped(entries: Iterable[tuple[str, bytes]], *, stored: bool = False) -> bytes:
    """Return a zip container; names may be as bad as one likes, and come twice."""
    held = io.BytesIO()
    kind = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(held, "w", kind) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo("x", _DAY)
            info.filename = name
            info.compress_type = kind
            archive.writestr(info, content)
    return held.getvalue()


def damaged(random: Random, content: bytes, *, flips: int = 12) -> bytes:
    """Return the bytes with some changed, or cut off, or with some in twice."""
    changed = bytearray(content)
    way = random.randrange(4)
    if way == 0:
        return bytes(changed[: random.randrange(1, len(changed))])
    if way == 1:
        start, size = random.randrange(len(changed)), random.randrange(1, 400)
        return bytes(changed[:start] + changed[start : start + size] * 3 + changed[start:])
    if way == 2:
        start = random.randrange(len(changed))
        del changed[start : start + random.randrange(1, 400)]
        return bytes(changed)
    for _ in range(flips):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)
