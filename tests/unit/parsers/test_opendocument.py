"""Are the three kinds of OpenDocument read?"""

import pytest
from made_documents import open_document, read

from vademecum.errors import PasswordRequired

META = '<m xmlns:dc="dc"><dc:title>The rules</dc:title><dc:language>pt-BR</dc:language></m>'


def test_a_text() -> None:
    styles = (
        '<style:style style:name="gone"><style:text-properties text:display="none"/></style:style>'
        '<text:list-style style:name="L1"><text:list-level-style-number style:num-format="1"/></text:list-style>'
    )
    body = (
        "<text:tracked-changes><text:p>X</text:p></text:tracked-changes>"
        '<text:h text:outline-level="2">Head</text:h>'
        '<text:p>a<text:s text:c="2"/>b<text:tab/>c<text:line-break/>d'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Note.</text:p></text:note-body></text:note>"
        "<office:annotation><text:p>X</text:p></office:annotation></text:p>"
        '<text:p>seen<text:span text:style-name="gone">X</text:span></text:p>'
        '<text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>in</text:p>'
        "</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>"
        "<text:list><text:list-item><text:p>dot</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>Seat</text:p></table:table-cell>"
        "<table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row><table:table-row>"
        "<table:table-cell><text:p>Front</text:p></table:table-cell><table:table-cell><text:p>10</text:p></table:table-cell>"
        "</table:table-row></table:table>"
        "<text:p><draw:frame><draw:text-box><text:p>In the box</text:p></draw:text-box></draw:frame></text:p>"
    )
    parsed = read(open_document("text", body, styles=styles, more={"meta.xml": META}), "a.odt")
    assert parsed.text == (
        "Head\n\na  b c\nd[1]\n\n[1] Note.\n\nseen\n\n1. one\n  1. in\n2. two\n- dot\n\n"
        "| Seat | Price |\n| --- | --- |\n| Front | 10 |\n\nIn the box"
    )
    assert (parsed.title, parsed.language) == ("The rules", "pt")
    assert parsed.warnings == ("1 hidden passage left out", "1 comment left out")


def sheet_cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def test_a_sheet() -> None:
    styles = (
        '<style:style style:name="h"><style:table-properties table:display="false"/></style:style>'
    )
    tall, twice = 'table:number-rows-spanned="2"', 'table:number-columns-repeated="2"'
    date = 'office:value-type="date" office:date-value="2024-05-01"'
    body = (
        '<table:table table:name="Plan"><table:table-column/><table:table-column table:number-columns-repeated="2"/>'
        f"<table:table-row>{sheet_cell('Day')}{sheet_cell('Since')}{sheet_cell('Share')}</table:table-row>"
        f"<table:table-row>{sheet_cell('Mon', tall)}"
        f"{sheet_cell('01.05.24', date)}{sheet_cell('25 %')}</table:table-row>"
        "<table:table-row><table:covered-table-cell/>"
        f"{sheet_cell('x', twice)}</table:table-row>"
        f'<table:table-row table:visibility="collapse">{sheet_cell("X")}</table:table-row>'
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
        "</table:table>"
        f'<table:table table:name="Secret" table:style-name="h"><table:table-row>{sheet_cell("X")}</table:table-row></table:table>'
    )
    parsed = read(open_document("spreadsheet", body, styles=styles), "my-plan.ods")
    assert parsed.text == (
        "Plan\n\n| Day | Since | Share |\n| --- | --- | --- |\n| Mon | 2024-05-01 | 25 % |\n| Mon | x | x |"
    )
    assert parsed.title == "my plan"
    assert parsed.warnings == (
        "1 hidden part left out: Secret",
        "1 cell of hidden rows and columns left out",
    )


def test_slides() -> None:
    def slide(title: str, body: str) -> str:
        return (
            f'<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{title}</text:p></draw:text-box></draw:frame>'
            f"<draw:frame><draw:text-box><text:p>{body}</text:p></draw:text-box></draw:frame>"
            f"<presentation:notes><draw:frame><draw:text-box><text:p>Say {body}</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
        )

    parsed = read(open_document("presentation", slide("A", "one") + slide("B", "two")), "a.odp")
    assert parsed.text == "A\n\none\n\nNotes: Say one\n\nB\n\ntwo\n\nNotes: Say two"
    assert parsed.page_starts == (0, parsed.text.index("B"))


def test_a_locked_one_asks_for_its_password() -> None:
    manifest = (
        '<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    )
    with pytest.raises(PasswordRequired):
        read(open_document("text", "", more={"META-INF/manifest.xml": manifest}), "a.odt")
