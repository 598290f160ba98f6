"""Does a container cost no more than it may, and lead nowhere?"""

import io
import zipfile

import pytest
from made_documents import docx, paragraph, read, zipped

from vademecum.adapters.parsers.archive import Archive, parse_xml
from vademecum.adapters.parsers.limits import MOST_ENTRIES, MOST_INFLATED_BYTES
from vademecum.errors import DocumentUnreadable, LimitExceeded, MediaTypeUnknown, PasswordRequired


def test_names_are_keys() -> None:
    archive = Archive(zipped({"../../x": "a", "/etc/x": "b"}), "u")
    assert archive.read("../../x") == b"a"
    assert archive.read("missing") is None
    assert archive.xml("missing") is None


def test_a_part_that_packs_too_well_is_a_bomb() -> None:
    with pytest.raises(LimitExceeded, match="unpacks"):
        Archive(zipped({"a": b"\0" * 20_000_000}), "u")


def test_all_parts_together_are_bounded() -> None:
    buffer = io.BytesIO()
    block = bytes(range(256)) * 4_000
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as container:
        for number in range(MOST_INFLATED_BYTES // len(block) + 1):
            container.writestr(str(number), block)
    with pytest.raises(LimitExceeded, match="unpacks"):
        Archive(buffer.getvalue(), "u")


def test_what_comes_out_is_counted_too() -> None:
    archive = Archive(zipped({"a": b"x" * 1_000}), "u")
    archive._left = 1_500
    assert archive.read("a")
    with pytest.raises(LimitExceeded):
        archive.read("a")


def test_a_size_that_lies_is_damage() -> None:
    content = bytearray(zipped({"a": b"x" * 100_000}))
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = (10).to_bytes(4, "little")
    with pytest.raises(DocumentUnreadable, match="damaged"):
        Archive(bytes(content), "u").read("a")


def test_very_many_parts_are_refused() -> None:
    content = zipped({str(number): "" for number in range(MOST_ENTRIES + 1)})
    with pytest.raises(LimitExceeded, match="parts"):
        Archive(content, "u")
    with pytest.raises(LimitExceeded, match="parts"):
        read(content, "a.docx")


def test_a_locked_part_asks_for_its_password() -> None:
    content = bytearray(docx(paragraph("x")))
    for mark, shift in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := content.find(mark, place + 1)) >= 0:
            content[place + shift] |= 1
    with pytest.raises(PasswordRequired, match="locked"):
        read(bytes(content), "a.docx")


@pytest.mark.parametrize("cut", [4, 30, 200, 600])
def test_half_a_container_is_damaged(cut: int) -> None:
    with pytest.raises(DocumentUnreadable, match="damaged") as caught:
        read(docx(paragraph("x"))[:cut], "a.docx")
    assert caught.value.hint


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE d [<!ENTITY e "ha"><!ENTITY f "&e;&e;">]>',
        '<!DOCTYPE d [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]>',
    ],
)
def test_entities_are_refused(head: str) -> None:
    with pytest.raises(DocumentUnreadable):
        read(docx(paragraph("&e;"), head=head), "a.docx")
    with pytest.raises(DocumentUnreadable):
        parse_xml(f"{head}<d>&e;</d>".encode(), "u")


def test_depth_of_xml_is_bounded() -> None:
    with pytest.raises(DocumentUnreadable):
        parse_xml(b"<a>" * 5_000 + b"</a>" * 5_000, "u")


def test_other_containers_are_named() -> None:
    with pytest.raises(MediaTypeUnknown, match="zip container"):
        read(zipped({"a.txt": "x"}), "a.zip")
    with pytest.raises(MediaTypeUnknown, match="zip container"):
        read(b"PK\x05\x06" + b"\0" * 18, "a.docx")
