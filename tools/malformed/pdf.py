"""PDF: loops, lies about lengths, bombs, locks, depths, and what a page should not hold."""

import zlib
from collections.abc import Callable, Sequence
from random import Random

from malformed.sample import ESCAPED, Sample, damaged, sentence

_MEGABYTE = 1 << 20


def document(objects: Sequence[bytes], *, trailer: bytes = b"", start: int | None = None) -> bytes:
    """Return a PDF of the objects 1, 2, …, the first being the catalogue, with a true xref."""
    body = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    xref = len(body) if start is None else start
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"trailer\n<< /Size %d /Root 1 0 R %b >>\n" % (len(objects) + 1, trailer)
    return bytes(body + b"startxref\n%d\n%%%%EOF\n" % xref)


def stream(content: bytes, keys: bytes = b"", length: int | None = None) -> bytes:
    size = len(content) if length is None else length
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (size, keys, content)


def shown(text: str, *, operators: str = "") -> bytes:
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /F1 12 Tf {operators} 72 720 Td ({escaped}) Tj ET".encode("latin-1", "replace")


_CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
    b" /Resources << /Font << /F1 5 0 R >> >> >>"
)
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def one_page(content: bytes, *, page: bytes = _PAGE, catalogue: bytes = _CATALOGUE,
             font: bytes = _FONT, more: Sequence[bytes] = (), trailer: bytes = b"") -> bytes:  # fmt: skip
    return document([catalogue, _PAGES, page, content, font, *more], trailer=trailer)


def plain(random: Random) -> bytes:
    return one_page(stream(shown(sentence(random))))


def _pdf(content: bytes) -> Sample:
    return Sample(content=content, uri="papers/sheet.pdf")


def bytes_changed(random: Random) -> Sample:
    return _pdf(damaged(random, plain(random)))


def cut_off(random: Random) -> Sample:
    whole = plain(random)
    return _pdf(whole[: random.randrange(9, len(whole))])


def only_a_head(random: Random) -> Sample:
    return _pdf(b"%PDF-1.7" + random.randbytes(random.randrange(0, 200)))


def xref_that_points_anywhere(random: Random) -> Sample:
    objects = [_CATALOGUE, _PAGES, _PAGE, stream(shown(sentence(random))), _FONT]
    return _pdf(document(objects, start=random.choice([0, 5, 2**31, 2**63, 40])))


def xref_that_names_itself(random: Random) -> Sample:
    whole = plain(random)
    at = whole.rindex(b"xref\n0")
    return _pdf(whole.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % at))


def page_tree_loop(random: Random) -> Sample:
    pages = b"<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Count %d >>" % random.choice(
        [1, -1, 2**31]
    )
    objects = [_CATALOGUE, pages, _PAGE, stream(shown(sentence(random))), _FONT]
    return _pdf(document(objects))


def deep_page_tree(random: Random) -> Sample:
    depth = random.choice([100, 3_000, 10_000])
    trees = [b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (n + 3) for n in range(depth)]
    return _pdf(document([_CATALOGUE, *trees, b"<< /Type /Page /MediaBox [0 0 9 9] >>"]))


def deep_arrays(random: Random) -> Sample:
    depth = random.choice([500, 10_000, 100_000])
    return _pdf(
        one_page(stream(shown(sentence(random))), trailer=b"/X " + b"[" * depth + b"]" * depth)
    )


def deep_operators(random: Random) -> Sample:
    depth = random.choice([1_000, 100_000])
    return _pdf(one_page(stream(b"q " * depth + shown(sentence(random)) + b" Q" * depth)))


def lying_length(random: Random) -> Sample:
    text = shown(sentence(random))
    return _pdf(one_page(stream(text, length=random.choice([0, 1, len(text) + 9, 2**31, 2**40]))))


def length_that_is_its_own(random: Random) -> Sample:
    content = b"<< /Length 4 0 R >>\nstream\n" + shown(sentence(random)) + b"\nendstream"
    return _pdf(one_page(content))


def flate_bomb(random: Random) -> Sample:
    packed = zlib.compress(b"0 0 m " * (random.choice([1, 20, 50]) * _MEGABYTE // 6), 9)
    return _pdf(one_page(stream(packed, b"/Filter /FlateDecode")))


def flate_in_flate(random: Random) -> Sample:
    packed, depth = shown(sentence(random)), random.choice([2, 20, 400])
    for _ in range(depth):
        packed = zlib.compress(packed)
    return _pdf(one_page(stream(packed, b"/Filter [" + b"/FlateDecode " * depth + b"]")))


def damaged_flate(random: Random) -> Sample:
    packed = damaged(random, zlib.compress(shown(sentence(random) * 30)))
    return _pdf(one_page(stream(packed, b"/Filter /FlateDecode")))


def run_length_bomb(random: Random) -> Sample:
    return _pdf(
        one_page(stream(b"\x81 " * random.choice([1_000, 300_000]), b"/Filter /RunLengthDecode"))
    )


def lzw_noise(random: Random) -> Sample:
    keys = b"/Filter /LZWDecode /DecodeParms << /EarlyChange 7 /Predictor 15 /Columns 2147483647 >>"
    return _pdf(one_page(stream(random.randbytes(5_000), keys)))


def huge_image(random: Random) -> Sample:
    kind = random.choice([b"/JBIG2Decode", b"/CCITTFaxDecode", b"/DCTDecode", b"/JPXDecode"])
    keys = b"/Type /XObject /Subtype /Image /Width 2147483647 /Height 2147483647 /Filter " + kind
    page = _PAGE.replace(b"/Font", b"/XObject << /I 6 0 R >> /Font")
    image = stream(random.randbytes(300), keys)
    return _pdf(one_page(stream(b"/I Do " + shown(sentence(random))), page=page, more=[image]))


def form_that_draws_itself(random: Random) -> Sample:
    page = _PAGE.replace(b"/Font", b"/XObject << /X 6 0 R >> /Font")
    keys = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>"
    return _pdf(one_page(stream(b"/X Do " + shown(sentence(random))), page=page,
                         more=[stream(b"/X Do /X Do", keys)]))  # fmt: skip


def locked(random: Random) -> Sample:
    """Encrypted, with a key that no password gives."""
    keys = b"<< /Filter /Standard /V %d /R %d /Length 128 /P -4 /O <%b> /U <%b> >>" % (
        random.choice([1, 2, 4, 5, 9]), random.choice([2, 3, 4, 6, 9]),
        random.randbytes(32).hex().encode(), random.randbytes(32).hex().encode(),
    )  # fmt: skip
    trailer = b"/Encrypt 6 0 R /ID [<00> <00>]"
    return _pdf(one_page(stream(random.randbytes(80)), more=[keys], trailer=trailer))


def no_pages(random: Random) -> Sample:
    pages = b"<< /Type /Pages /Kids [] /Count %d >>" % random.choice([0, -1, 7, 2**31])
    return _pdf(document([_CATALOGUE, pages]))


def many_pages(random: Random) -> Sample:
    """One page that is named many thousand times."""
    times = random.choice([2_000, 50_000])
    pages = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b"3 0 R " * times, times)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    return _pdf(document([_CATALOGUE, pages, page]))


def bad_boxes(random: Random) -> Sample:
    box = random.choice(
        [b"[0 0 0 0]", b"[1e38 -1e38 9e99 9e99]", b"[/a (b)]", b"[0 0 -612 -792]", b"null"]
    )
    return _pdf(
        one_page(stream(shown(sentence(random))), page=_PAGE.replace(b"[0 0 612 792]", box))
    )


def wrong_letters(random: Random) -> Sample:
    """A map to Unicode that says other things, or nothing, of the letters."""
    lines = b"".join(
        b"<%02x> <%b>\n"
        % (code, random.choice([b"D800", b"0000", b"FFFE", b"202E", b"E0041", b"0061"]))
        for code in range(32, 127)
    )
    cmap = b"begincmap 95 beginbfchar\n" + lines + b"endbfchar endcmap"
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    return _pdf(one_page(stream(shown(sentence(random))), font=font, more=[stream(cmap)]))


def font_map_by_path(random: Random) -> Sample:
    font = (b"<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /..#2f..#2fetc#2fpasswd"
            b" /DescendantFonts [5 0 R] >>")  # fmt: skip
    return _pdf(one_page(stream(shown(sentence(random))), font=font))


def scripts_and_files(random: Random) -> Sample:
    action = random.choice(
        [b"/S /JavaScript /JS (app.alert\\(1\\))", b"/S /Launch /F (/bin/sh)",
         b"/S /URI /URI (http://192.0.2.1/)", b"/S /SubmitForm /F (http://192.0.2.1/)"]
    )  # fmt: skip
    catalogue = (
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << %b >> /Names << /EmbeddedFiles" % action
    )
    catalogue += b" << /Names [(../../" + ESCAPED.encode() + b") 6 0 R] >> >> >>"
    more = [
        b"<< /Type /Filespec /F (/tmp/" + ESCAPED.encode() + b") /EF << /F 7 0 R >> >>",
        stream(b"x"),
    ]
    return _pdf(one_page(stream(shown(sentence(random))), catalogue=catalogue, more=more))


def outline_loop(random: Random) -> Sample:
    catalogue = b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>"
    more = [b"<< /First 7 0 R /Last 7 0 R /Count %d >>" % random.choice([1, 2**31]),
            b"<< /Title (Again) /Parent 6 0 R /Next 7 0 R /First 6 0 R /Dest [3 0 R /XYZ 0 0 0] >>"]  # fmt: skip
    return _pdf(one_page(stream(shown(sentence(random))), catalogue=catalogue, more=more))


def object_streams_of_noise(random: Random) -> Sample:
    keys = b"/Type /ObjStm /N %d /First %d" % (
        random.choice([0, 9, 2**31]),
        random.choice([0, 2**31]),
    )
    return _pdf(
        one_page(stream(shown(sentence(random))), more=[stream(random.randbytes(400), keys)])
    )


def many_letters(random: Random) -> Sample:
    """A page with a hundred thousand letters one above the other."""
    return _pdf(
        one_page(
            stream(b"BT /F1 1 Tf " + b"(x) Tj 0 0 Td " * random.choice([9_000, 60_000]) + b"ET")
        )
    )


KINDS: tuple[Callable[[Random], Sample], ...] = (
    bytes_changed, cut_off, only_a_head, xref_that_points_anywhere, xref_that_names_itself,
    page_tree_loop, deep_page_tree, deep_arrays, deep_operators, lying_length,
    length_that_is_its_own, flate_bomb, flate_in_flate, damaged_flate, run_length_bomb, lzw_noise,
    huge_image, form_that_draws_itself, locked, no_pages, many_pages, bad_boxes, wrong_letters,
    font_map_by_path, scripts_and_files, outline_loop, object_streams_of_noise, many_letters,
)  # fmt: skip
