"""Does a damaged document end in a verdict, and in nothing else? Seeded, so that each run is one."""

import io
import random
import re
import zipfile

import openpyxl
import pptx
import pytest
from made_documents import docx, open_document, paragraph, read, zipped

from vademecum.errors import DocumentUnreadable

TIMES = 60
ODD = (
    "",
    "0",
    "-1",
    "99999999999999",
    "x",
    "1e400",
    "nan",
    "A1:XFD1048576",
    "²",
    "٣",
    "5.5",
    "true",
)


def _saved(made: object) -> bytes:
    buffer = io.BytesIO()
    made.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def _book() -> bytes:
    book = openpyxl.Workbook()
    for number in range(5):
        book.active.append([f"row {number}", number * 1.5, number % 2 == 0, "=A1"])
    book.active.merge_cells("A1:A3")
    return _saved(book)


def _show() -> bytes:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Title"
    slide.placeholders[1].text_frame.text = "one"
    return _saved(show)


TABLE = f"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr></w:tbl>"
DOCUMENTS = {
    "a.docx": docx(
        paragraph("Head", '<w:outlineLvl w:val="1"/>') + paragraph("x", '<w:numPr><w:numId w:val="1"/></w:numPr>') + TABLE,
        {
            "styles": '<w:style w:styleId="a"><w:name w:val="heading 2"/></w:style>',
            "numbering": '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/></w:lvl></w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
        },
    ),
    "a.xlsx": _book(),
    "a.pptx": _show(),
    "a.odt": open_document("text", '<text:h text:outline-level="1">H</text:h><text:p>a<text:s text:c="3"/></text:p>'),
    "a.ods": open_document(
        "spreadsheet",
        '<table:table table:name="S"><table:table-row table:number-rows-repeated="2">'
        '<table:table-cell table:number-columns-repeated="3"><text:p>x</text:p></table:table-cell></table:table-row></table:table>',
    ),
    "a.epub": zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<c><rootfile full-path="b.opf"/></c>',
            "b.opf": '<p><item id="a" href="a.html"/><itemref idref="a"/></p>',
            "a.html": "<html><body><p>words</p></body></html>",
        }
    ),
    "a.html": b'<html lang="en"><body><ol start="3"><li value="2">x</li></ol><table><tr><th colspan="2">a</th></tr>'
    b'<tr><td rowspan="2" style="color:#fff">b</td><td>c</td></tr></table></body></html>',
    "a.eml": b"From: a@example.org\nSubject: =?utf-8?q?x?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nwords\n"
    b"--b\nContent-Disposition: attachment; filename=x.csv\n\na,b\n1,2\n--b--\n",
    "a.rtf": rb"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}\f0 a\'e0\u8364?\par\trowd x\cell y\cell\row}",
    "a.csv": b'a;b\n1;"two\nlines"\n3;4\n',
    "a.json": b'{"a": [1, {"b": "\\u00e9"}], "c": null}',
    "a.md": b"---\ntitle: T\n---\n# Head\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}  # fmt: skip


def _bytes_changed(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    if chance.random() < 0.2:
        return bytes(changed[: chance.randrange(len(changed) + 1)])
    for _ in range(chance.choice((1, 3, 20))):
        place = chance.randrange(len(changed) + 1)
        piece = chance.choice((b'"', b"<", b"\x00", b"\xff", b"-1", b"999999999999", b"%%", b"&x;"))
        changed[place : place + chance.randrange(4)] = piece
    return bytes(changed)


def _values_changed(content: bytes, chance: random.Random) -> bytes:
    """Change attributes and texts, so that the XML stays well formed and its reader is reached."""
    text = content.decode("utf-8", "ignore")
    places = list(re.finditer(r'(?<==")[^"<>:/]*(?=")|(?<=>)[^<>]+(?=<)', text))
    for match in sorted(
        chance.sample(places, min(len(places), chance.choice((1, 4, 15)))), key=lambda m: -m.start()
    ):
        text = text[: match.start()] + chance.choice(ODD) + text[match.end() :]
    return text.encode()


def _changed(content: bytes, chance: random.Random) -> bytes:
    if not content.startswith(b"PK") or chance.random() < 0.2:
        return _bytes_changed(content, chance)
    with zipfile.ZipFile(io.BytesIO(content)) as container:
        parts = {name: container.read(name) for name in container.namelist()}
    for name in list(parts):
        if chance.random() < 0.05:
            del parts[name]
        elif chance.random() < 0.5:
            parts[name] = chance.choice((_values_changed, _values_changed, _bytes_changed))(
                parts[name], chance
            )
    return zipped(parts)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damage_costs_a_document_at_most(name: str) -> None:
    chance = random.Random(name)
    read_at_all = 0
    refusals: list[DocumentUnreadable] = []
    assert read(DOCUMENTS[name], name).text
    for _ in range(TIMES):
        try:
            read(_changed(DOCUMENTS[name], chance), name)
        except DocumentUnreadable as error:
            refusals.append(error)
        else:
            read_at_all += 1
    assert all(error.message and error.hint for error in refusals)
    assert read_at_all  # or nothing behind the first check was reached
