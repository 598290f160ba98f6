"""Archives: names that climb, links, nests, bombs, and counts that are not true."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable
from random import Random

from malformed.sample import ESCAPED, Sample, damaged, paragraph, sentence, zipped

_CLIMBING = (
    f"../../../../tmp/{ESCAPED}", f"/tmp/{ESCAPED}", f"..\\..\\..\\{ESCAPED}", f"C:\\{ESCAPED}",
    f"a/../../{ESCAPED}", f"./{ESCAPED}", f"~/{ESCAPED}", f"%2e%2e/{ESCAPED}", f"..\0/{ESCAPED}",
)  # fmt: skip


def _zip(content: bytes, name: str = "box.zip") -> Sample:
    return Sample(content=content, uri=f"papers/{name}")


def climbing(random: Random) -> Sample:
    return _zip(zipped((name, sentence(random).encode()) for name in random.sample(_CLIMBING, 5)))


def climbing_tar(random: Random) -> Sample:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in random.sample(_CLIMBING[:6], 3):
            info = tarfile.TarInfo(name)
            info.type = random.choice(
                [
                    tarfile.REGTYPE,
                    tarfile.SYMTYPE,
                    tarfile.LNKTYPE,
                    tarfile.CHRTYPE,
                    tarfile.FIFOTYPE,
                ]
            )
            info.linkname = random.choice(["/etc/passwd", "../..", name])
            archive.addfile(info)
    return Sample(content=held.getvalue(), uri="papers/box.tar.gz")


def nested(random: Random) -> Sample:
    content, name = paragraph(random).encode(), "note.txt"
    for depth in range(random.choice([5, 50])):
        content, name = zipped([(name, content)]), f"{depth}.zip"
    return _zip(content)


def bomb(random: Random) -> Sample:
    return _zip(zipped([("zeros.txt", b"0" * (random.choice([1, 10, 50]) << 20))]))


def bomb_of_copies(random: Random) -> Sample:
    inner = zipped([("zeros.txt", b"0" * (4 << 20))])
    return _zip(zipped((f"{n}.zip", inner) for n in range(200)))


def packed_bomb(random: Random) -> Sample:
    pack, name = random.choice(
        [(gzip.compress, "a.gz"), (bz2.compress, "a.bz2"), (lzma.compress, "a.xz")]
    )
    return Sample(content=pack(b"0" * (random.choice([1, 10]) << 20)), uri=f"papers/{name}")


def many_entries(random: Random) -> Sample:
    return _zip(
        zipped(((f"{n}.txt", b"") for n in range(random.choice([2_000, 60_000]))), stored=True)
    )


def counted_wrongly(random: Random) -> Sample:
    content = bytearray(zipped([("note.txt", paragraph(random).encode())]))
    at = content.rindex(b"PK\x05\x06")
    struct.pack_into(
        "<HHII",
        content,
        at + 8,
        65535,
        65535,
        random.choice([0, 2**32 - 1]),
        random.choice([0, 2**32 - 1]),
    )
    return _zip(bytes(content))


def bytes_changed(random: Random) -> Sample:
    content = zipped((f"{n}.txt", paragraph(random).encode()) for n in range(5))
    return _zip(damaged(random, content), random.choice(["box.zip", "book.epub", "letter.docx"]))


def names_twice(random: Random) -> Sample:
    return _zip(zipped([("note.txt", sentence(random).encode()) for _ in range(9)]))


def odd_names(random: Random) -> Sample:
    names = [
        "",
        "/",
        ".",
        "..",
        "a" * 60_000,
        "CON",
        "nul.txt",
        "a\nb",
        "\u202etxt.exe",
        "a" + "/b" * 4_000,
    ]
    return _zip(zipped((name, b"x") for name in random.sample(names, 6)))


def only_a_head(random: Random) -> Sample:
    return _zip(
        random.choice(
            [
                b"PK\x03\x04",
                b"PK\x05\x06",
                b"Rar!\x1a\x07",
                b"7z\xbc\xaf\x27\x1c",
                b"\x1f\x8b",
                b"BZh9",
            ]
        )
        + random.randbytes(random.randrange(60))
    )


def book(random: Random) -> Sample:
    """A book whose parts are missing, climb, or name themselves."""
    where = random.choice(
        ["OEBPS/a.opf", "../../etc/passwd", "http://192.0.2.1/a.opf", "missing.opf"]
    )
    container = f'<container><rootfiles><rootfile full-path="{where}"/></rootfiles></container>'
    spine = '<itemref idref="a"/>' * random.choice([1, 5_000])
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        f'<item id="a" href="{random.choice(["../../../etc/passwd", "a.opf", "a.xhtml"])}" media-type="application/xhtml+xml"/>'
        f"</manifest><spine>{spine}</spine></package>"
    )
    return _zip(
        zipped([("mimetype", b"application/epub+zip"), ("META-INF/container.xml", container.encode()),
                ("OEBPS/a.opf", package.encode()), ("OEBPS/a.xhtml", f"<html><p>{sentence(random)}</html>".encode())]),
        "book.epub",
    )  # fmt: skip


def book_with_entities(random: Random) -> Sample:
    container = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><container>&e;</container>'
    return _zip(
        zipped(
            [("mimetype", b"application/epub+zip"), ("META-INF/container.xml", container.encode())]
        ),
        "book.epub",
    )


def another_behind_it(random: Random) -> Sample:
    """Two documents in one file: which of them is it?"""
    content = zipped([("note.txt", sentence(random).encode())])
    return _zip(
        random.choice(
            [b"%PDF-1.7\n" + content, content + b"%PDF-1.7\n", b"<html>" + content, content * 2]
        )
    )


KINDS: tuple[Callable[[Random], Sample], ...] = (
    climbing, climbing_tar, nested, bomb, bomb_of_copies, packed_bomb, many_entries, counted_wrongly,
    bytes_changed, names_twice, odd_names, only_a_head, book, book_with_entities, another_behind_it,
)  # fmt: skip
