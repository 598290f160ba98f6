"""Office and OpenDocument containers: bombs, entities, outside parts, missing and lying parts."""

import struct
from collections.abc import Callable
from random import Random

from malformed.sample import ESCAPED, Sample, damaged, paragraph, sentence, zipped

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
_KINDS = {
    "docx": ("word/document.xml", "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"),
    "xlsx": ("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"),
    "pptx": ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"),
}  # fmt: skip
Parts = dict[str, bytes]


def parts(kind: str, body: str) -> Parts:
    """Return the parts of an office document with `body` inside its main part."""
    main, media = _KINDS[kind]
    types = (
        f'<Types xmlns="{_P}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{media}"/></Types>'
    )
    relations = (
        f'<Relationships xmlns="{_P}/relationships"><Relationship Id="r1" '
        f'Type="{_R}/officeDocument" Target="{main}"/></Relationships>'
    )
    return {
        "[Content_Types].xml": types.encode(),
        "_rels/.rels": relations.encode(),
        main: body.encode(),
    }


def _words(text: str) -> str:
    return f'<w:document xmlns:w="{_W}"><w:body>{text}</w:body></w:document>'


def _p(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(random: Random) -> Parts:
    return parts("docx", _words("".join(_p(paragraph(random)) for _ in range(3))))


def xlsx(rows: str) -> Parts:
    made = parts(
        "xlsx",
        f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>',
    )
    made["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{_P}/relationships"><Relationship Id="r1" Type="{_R}/worksheet"'
        ' Target="worksheets/sheet1.xml"/></Relationships>'
    ).encode()
    made["xl/worksheets/sheet1.xml"] = (
        f'<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData></worksheet>'.encode()
    )
    return made


def odt(body: str, kind: str = "text") -> Parts:
    content = (
        f'<office:document-content xmlns:office="{_OFFICE}:office:1.0" xmlns:text="{_OFFICE}:text:1.0"'
        f' xmlns:table="{_OFFICE}:table:1.0"><office:body><office:{kind}>{body}</office:{kind}>'
        "</office:body></office:document-content>"
    )
    return {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": content.encode(),
    }


def _file(made: Parts, name: str) -> Sample:
    return Sample(content=zipped(made.items()), uri=f"papers/{name}")


def bytes_changed(random: Random) -> Sample:
    made = random.choice(
        [docx(random), xlsx("<row><c><v>1</v></c></row>"), odt("<text:p>x</text:p>")]
    )
    return Sample(content=damaged(random, zipped(made.items())), uri="papers/sheet.docx")


def xml_changed(random: Random) -> Sample:
    made = docx(random)
    made["word/document.xml"] = damaged(random, made["word/document.xml"])
    return _file(made, "letter.docx")


def bomb(random: Random) -> Sample:
    ratio = random.choice([10, 100, 1_000])
    body = _words(_p(sentence(random)) + "<!--" + " " * (ratio * 50_000) + "-->")
    return _file(parts("docx", body), "letter.docx")


def bomb_of_text(random: Random) -> Sample:
    return _file(
        parts("docx", _words(_p("word " * random.choice([200_000, 5_000_000])))), "letter.docx"
    )


def many_small_entries(random: Random) -> Sample:
    made = docx(random)
    made |= {f"word/media/{n}.xml": b"" for n in range(random.choice([3_000, 30_000]))}
    return Sample(content=zipped(made.items(), stored=True), uri="papers/letter.docx")


def lying_sizes(random: Random) -> Sample:
    """The directory says that everything is small."""
    made = docx(random) | {"word/document.xml": _words(_p("x " * 3_000_000)).encode()}
    content = bytearray(zipped(made.items()))
    at = 0
    while (at := content.find(b"PK\x01\x02", at)) >= 0:
        struct.pack_into("<I", content, at + 24, random.choice([0, 10, 2**32 - 1]))
        at += 4
    return Sample(content=bytes(content), uri="papers/letter.docx")


def overlapping_entries(random: Random) -> Sample:
    """Every entry of the directory points at the same large bytes."""
    made = {f"word/{n}.xml": b"" for n in range(200)} | docx(random)
    made["word/document.xml"] = _words(_p("x " * 500_000)).encode()
    content = bytearray(zipped(made.items()))
    target = content.find(b"word/document.xml") - 30
    at = 0
    while (at := content.find(b"PK\x01\x02", at)) >= 0:
        struct.pack_into("<I", content, at + 42, target)
        at += 4
    return Sample(content=bytes(content), uri="papers/letter.docx")


def entities(random: Random) -> Sample:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    body = f"<!DOCTYPE w:document [{lol}]>" + _words(_p("&l9;" + sentence(random)))
    return _file(parts("docx", body), "letter.docx")


def outside_entity(random: Random) -> Sample:
    where = random.choice(
        ["file:///etc/passwd", "http://192.0.2.1/x", "/proc/self/environ", "expect://id"]
    )
    body = f'<!DOCTYPE w:document [<!ENTITY x SYSTEM "{where}">]>' + _words(
        _p("&x;" + sentence(random))
    )
    return _file(
        random.choice([parts("docx", body), odt("") | {"content.xml": body.encode()}]), "a.odt"
    )


def outside_relations(random: Random) -> Sample:
    made = docx(random)
    made["word/_rels/document.xml.rels"] = (
        f'<Relationships xmlns="{_P}/relationships"><Relationship Id="r1" Type="{_R}/attachedTemplate"'
        f' TargetMode="External" Target="{random.choice(["http://192.0.2.1/t.dotm", "file:///etc/passwd", "//192.0.2.1/x"])}"/>'
        f'<Relationship Id="r2" Type="{_R}/footnotes" Target="../../../../etc/passwd"/></Relationships>'
    ).encode()
    return _file(made, "letter.docx")


def macros(random: Random) -> Sample:
    made = docx(random) | {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + random.randbytes(900)}
    return _file(made, "letter.docm")


def wide_sheet(random: Random) -> Sample:
    """Two cells that stand a million rows apart, or a range that says so."""
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    made = xlsx(rows)
    if random.random() < 0.5:
        sheet = made["xl/worksheets/sheet1.xml"].replace(
            b"</sheetData>",
            b'</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        )
        made["xl/worksheets/sheet1.xml"] = sheet
    return _file(made, "prices.xlsx")


def many_cells(random: Random) -> Sample:
    row = "<row>" + "<c><v>1</v></c>" * 100 + "</row>"
    return _file(xlsx(row * random.choice([100, 3_000])), "prices.xlsx")


def bad_cells(random: Random) -> Sample:
    values = ("1e999", "NaN", "-99999999", "9" * 5_000, "", "&#xD800;", "TRUE", "2958466.5")
    cells = "".join(
        f'<c t="{random.choice(["s", "n", "b", "d", "e", "inlineStr", "?"])}" s="999"><f>A1</f><v>{value}</v></c>'
        for value in values
    )
    return _file(xlsx(f"<row>{cells}</row>"), "prices.xlsx")


def repeated_cells(random: Random) -> Sample:
    times = random.choice([1_000, 2**31 - 1])
    cell = f'<table:table-cell table:number-columns-repeated="{times}"><text:p>x</text:p></table:table-cell>'
    rows = f'<table:table><table:table-row table:number-rows-repeated="{times}">{cell}</table:table-row></table:table>'
    return _file(odt(rows, "spreadsheet"), "prices.ods")


def repeated_blanks(random: Random) -> Sample:
    body = f'<text:p>{sentence(random)}<text:s text:c="{random.choice([9, 2**31 - 1, -1])}"/>end</text:p>'
    return _file(odt(body), "letter.odt")


def missing_parts(random: Random) -> Sample:
    made = random.choice([docx(random), xlsx(""), odt("<text:p>x</text:p>")])
    del made[random.choice(list(made))]
    return _file(made, random.choice(["letter.docx", "prices.xlsx", "letter.odt"]))


def deep_xml(random: Random) -> Sample:
    depth = random.choice([500, 100_000])
    body = _words("<w:p>" * depth + "<w:r><w:t>deep</w:t></w:r>" + "</w:p>" * depth)
    return _file(parts("docx", body), "letter.docx")


def tables_in_tables(random: Random) -> Sample:
    depth = random.choice([10, 60])
    body = "<w:tbl><w:tr><w:tc>" * depth + _p(sentence(random)) + "</w:tc></w:tr></w:tbl>" * depth
    return _file(parts("docx", _words(body)), "letter.docx")


def wide_spans(random: Random) -> Sample:
    cell = f'<w:tc><w:tcPr><w:gridSpan w:val="{random.choice([9, 2**31 - 1])}"/></w:tcPr>{_p("x")}</w:tc>'
    return _file(parts("docx", _words(f"<w:tbl><w:tr>{cell * 3}</w:tr></w:tbl>")), "letter.docx")


def locked(random: Random) -> Sample:
    """An old container that says it holds an encrypted package."""
    name = "EncryptedPackage".encode("utf-16-le")
    return Sample(
        content=b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500 + name + random.randbytes(900),
        uri="papers/letter.docx",
    )


def locked_zip(random: Random) -> Sample:
    content = bytearray(zipped(docx(random).items()))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = 0
        while (at := content.find(mark, at)) >= 0:
            content[at + offset] |= 1
            at += 4
    return Sample(content=bytes(content), uri="papers/letter.docx")


def names_that_climb(random: Random) -> Sample:
    made = docx(random)
    made |= dict.fromkeys(
        (f"../../../tmp/{ESCAPED}", f"/tmp/{ESCAPED}", f"..\\..\\{ESCAPED}"), b"x"
    )
    return _file(made, "letter.docx")


def slides_that_are_missing(random: Random) -> Sample:
    body = f'<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="{_R}"><p:sldIdLst><p:sldId id="256" r:id="r9"/></p:sldIdLst></p:presentation>'
    return _file(parts("pptx", body), "talk.pptx")


KINDS: tuple[Callable[[Random], Sample], ...] = (
    bytes_changed, xml_changed, bomb, bomb_of_text, many_small_entries, lying_sizes,
    overlapping_entries, entities, outside_entity, outside_relations, macros, wide_sheet, many_cells,
    bad_cells, repeated_cells, repeated_blanks, missing_parts, deep_xml, tables_in_tables, wide_spans,
    locked, locked_zip, names_that_climb, slides_that_are_missing,
)  # fmt: skip
