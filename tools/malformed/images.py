"""Images and sound: floods of pixels, other bytes than the name says, nothing at all."""

import struct
import zlib
from collections.abc import Callable
from random import Random

from malformed.sample import Sample, damaged, sentence

_HEADS = {
    "png": b"\x89PNG\r\n\x1a\n", "jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF", "gif": b"GIF89a\xff\xff\xff\xff",
    "bmp": b"BM", "tiff": b"II*\x00", "webp": b"RIFF\xff\xff\xff\xffWEBP", "ico": b"\0\0\1\0",
    "mp3": b"ID3\x03", "wav": b"RIFF\0\0\0\0WAVE", "ogg": b"OggS", "mp4": b"\0\0\0\x18ftypmp42",
}  # fmt: skip


def _png(width: int, height: int, content: bytes) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return _HEADS["png"] + part(b"IHDR", head) + part(b"IDAT", content) + part(b"IEND", b"")


def flood(random: Random) -> Sample:
    size = random.choice([0, 30_000, 2**31 - 1])
    return Sample(content=_png(size, size, zlib.compress(b"\0" * (1 << 20))), uri="scans/page.png")


def bytes_changed(random: Random) -> Sample:
    return Sample(
        content=damaged(random, _png(9, 9, zlib.compress(b"\0" * 252))), uri="scans/page.png"
    )


def only_a_head(random: Random) -> Sample:
    kind = random.choice(list(_HEADS))
    return Sample(
        content=_HEADS[kind] + random.randbytes(random.randrange(500)), uri=f"scans/page.{kind}"
    )


def of_another_kind(random: Random) -> Sample:
    kind = random.choice(list(_HEADS))
    name = random.choice(["pdf", "docx", "md", "txt", "json", "html", "csv", "eml"])
    return Sample(content=_HEADS[kind] + random.randbytes(300), uri=f"scans/page.{name}")


def text_as_image(random: Random) -> Sample:
    return Sample(
        content=sentence(random).encode(), uri=f"scans/page.{random.choice(list(_HEADS))}"
    )


def nothing(random: Random) -> Sample:
    return Sample(
        content=b"",
        uri=f"scans/page.{random.choice([*_HEADS, 'pdf', 'docx', 'html', 'json', 'csv', 'eml', ''])}",
    )


def text_inside(random: Random) -> Sample:
    """Words in the parts that hold remarks: bombs for whoever unpacks them."""
    remark = b"Comment\0\0" + zlib.compress(b"x" * (8 << 20))
    data = struct.pack(">I", len(remark)) + b"zTXt" + remark + b"\0\0\0\0"
    png = _png(9, 9, b"")
    return Sample(
        content=png[:33] + data + png[33:] + sentence(random).encode(), uri="scans/page.png"
    )


KINDS: tuple[Callable[[Random], Sample], ...] = (
    flood, bytes_changed, only_a_head, of_another_kind, text_as_image, nothing, text_inside,
)  # fmt: skip
