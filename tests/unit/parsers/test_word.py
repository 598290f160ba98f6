"""Is DOCX read as it is printed with its changes accepted?"""

import io

import docx as library
import pytest
from made_documents import docx, paragraph, read


def text(body: str, parts: dict[str, str] | None = None) -> str:
    return read(docx(body, parts), "a.docx").text


def run(content: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr>{content}</w:r>"


def cell(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_a_document_of_the_usual_library() -> None:
    made = library.Document()
    made.core_properties.title = "Box office"
    made.add_heading("Rules", 1)
    made.add_paragraph("First.")
    made.add_paragraph("one", style="List Bullet")
    made.add_paragraph("two", style="List Number")
    grid = made.add_table(2, 2)
    for number, content in enumerate(("Seat", "Price", "Front", "10")):
        grid.cell(number // 2, number % 2).text = content
    made.add_heading("Refunds", 2)
    buffer = io.BytesIO()
    made.save(buffer)
    parsed = read(buffer.getvalue(), "report.doc")
    assert parsed.text == (
        "Rules\n\nFirst.\n\n- one\n1. two\n\n| Seat | Price |\n| --- | --- |\n| Front | 10 |\n\nRefunds"
    )
    assert parsed.title == "Box office"
    assert parsed.language == "en"
    assert parsed.blocks[-1].heading_path == ("Rules", "Refunds")
    assert parsed.blocks[4].header_end > 0


def test_changes_are_accepted() -> None:
    body = (
        f"<w:p>{run('<w:t>The fee is </w:t>')}<w:del>{run('<w:delText>5</w:delText>')}</w:del>"
        f"<w:ins>{run('<w:t>7</w:t>')}</w:ins></w:p>"
        f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('<w:t>joined </w:t>')}</w:p>{paragraph('up')}"
    )
    parsed = read(docx(body), "a.docx")
    assert parsed.text == "The fee is 7\n\njoined up"
    assert parsed.warnings == ("1 deleted passage left out",)


def test_what_is_hidden_stays_out() -> None:
    body = (
        paragraph("seen")
        + paragraph("X", run="<w:vanish/>")
        + paragraph("X", run='<w:color w:val="FFFFFF"/>')
        + paragraph("X", run='<w:sz w:val="2"/>')
        + paragraph("too", run='<w:vanish w:val="0"/>')
        + paragraph("lit", run='<w:color w:val="FFFFFF"/><w:shd w:fill="000000"/>')
    )
    parsed = read(docx(body), "a.docx")
    assert parsed.text == "seen\n\ntoo\n\nlit"
    assert parsed.warnings == ("3 hidden passages left out",)


def test_merged_cells_stand_in_each_row() -> None:
    body = table(
        cell(paragraph("Day")) + cell(paragraph("Hours"), '<w:gridSpan w:val="2"/>'),
        cell(paragraph("Mon"), '<w:vMerge w:val="restart"/>')
        + cell(paragraph("9"))
        + cell(paragraph("12")),
        cell(paragraph(""), "<w:vMerge/>") + cell(paragraph("14")) + cell(paragraph("18")),
    )
    assert text(body).splitlines()[2:] == ["| Mon | 9 | 12 |", "| Mon | 14 | 18 |"]


def test_inner_tables_keep_rows_in_their_cell() -> None:
    inner = table(
        cell(paragraph("a")) + cell(paragraph("b")), cell(paragraph("c")) + cell(paragraph("d"))
    )
    assert text(table(cell(paragraph("x")) + cell(inner))) == "| x | a, b; c, d |"


def test_a_table_of_one_column_is_a_frame() -> None:
    assert text(table(cell(paragraph("one") + paragraph("two")))) == "one\n\ntwo"


def test_notes_follow_their_paragraph() -> None:
    reference = run('<w:footnoteReference w:id="2"/>')
    body = f"<w:p>{run('<w:t>Text</w:t>')}{reference}</w:p>{paragraph('Next')}"
    notes = f'<w:footnote w:id="2">{paragraph("The note.")}</w:footnote>'
    assert text(body, {"footnotes": notes}) == "Text[1]\n\n[1] The note.\n\nNext"


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{paragraph('In the box')}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent>"
    )
    assert text(f"<w:p>{run('<w:t>Before</w:t>')}{run(both)}</w:p>") == "Before\n\nIn the box"


def test_fields_give_their_result() -> None:
    def mark(kind: str) -> str:
        return run(f'<w:fldChar w:fldCharType="{kind}"/>')

    code = run("<w:instrText>PAGE</w:instrText><w:t>never</w:t>")
    body = f"<w:p>{mark('begin')}{code}{mark('separate')}{run('<w:t>12</w:t>')}{mark('end')}{run('<w:t>!</w:t>')}</w:p>"
    assert text(body) == "12!"


def test_lists_count_as_they_print() -> None:
    level = '<w:lvl w:ilvl="{0}"><w:start w:val="1"/><w:numFmt w:val="{1}"/><w:lvlText w:val="{2}"/></w:lvl>'
    numbering = (
        f'<w:abstractNum w:abstractNumId="0">{level.format(0, "decimal", "%1.")}'
        f"{level.format(1, 'lowerLetter', '%1.%2)')}{level.format(2, 'bullet', 'o')}</w:abstractNum>"
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    )

    def item(content: str, depth: int, name: int = 1) -> str:
        place = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{name}"/></w:numPr>'
        return paragraph(content, place)

    body = (
        item("one", 0) + item("sub", 1) + item("sub", 1) + item("dot", 2) + item("two", 0)
        + item("sub", 1) + item("seven", 0, 2)
    )  # fmt: skip
    assert text(body, {"numbering": numbering}).splitlines() == [
        "1. one", "  1.a) sub", "  1.b) sub", "    - dot", "2. two", "  2.a) sub", "7. seven",
    ]  # fmt: skip


def test_headings_come_from_styles_and_outlines() -> None:
    styles = (
        '<w:style w:styleId="a"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="b"><w:name w:val="mine"/><w:basedOn w:val="a"/></w:style>'
        '<w:style w:styleId="c"><w:name w:val="c"/><w:basedOn w:val="c"/></w:style>'
    )
    body = (
        paragraph("By style", '<w:pStyle w:val="b"/>')
        + paragraph("By outline", '<w:outlineLvl w:val="2"/>')
        + paragraph("Loop", '<w:pStyle w:val="c"/>')
    )
    parsed = read(docx(body, {"styles": styles}), "a.docx")
    assert [(b.kind, b.level) for b in parsed.blocks] == [
        ("heading", 2),
        ("heading", 3),
        ("paragraph", 0),
    ]


def test_signs_and_powers() -> None:
    power = run("<w:t>6</w:t>", '<w:vertAlign w:val="superscript"/>')
    signs = run('<w:sym w:font="Symbol" w:char="F061"/><w:tab/><w:noBreakHyphen/>')
    body = (
        f"<w:p>{run('<w:t>10</w:t>')}{power}{signs}"
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    )
    assert text(body) == "10⁶α -(a+b)/2"


@pytest.mark.parametrize("language", ["pt-BR", "de-DE"])
def test_the_language_of_most_text_counts(language: str) -> None:
    body = paragraph("Texto longo do documento", run=f'<w:lang w:val="{language}"/>') + paragraph(
        "x"
    )
    styles = '<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="en-US"/></w:rPr></w:rPrDefault></w:docDefaults>'
    assert read(docx(body, {"styles": styles}), "a.docx").language == language[:2]
    assert read(docx(paragraph("x"), {"styles": styles}), "a.docx").language == "en"
