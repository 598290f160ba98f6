"""Does a workbook give the values that it shows?"""

import io
from datetime import UTC, date, datetime, time
from typing import Any

import openpyxl
import pytest
from made_documents import read, relations, zipped

from vademecum.adapters.parsers.office.number_formats import read_format, shown
from vademecum.errors import DocumentUnreadable


def saved(book: Any) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def raw(sheet: str) -> bytes:
    """Return a workbook with this sheet as it stands, such as with stored results of formulas."""
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations({"r": ("officeDocument", "xl/workbook.xml")}),
            "xl/workbook.xml": '<workbook xmlns="m" xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations({"r1": ("worksheet", "worksheets/s.xml")}),
            "xl/worksheets/s.xml": f'<worksheet xmlns="m">{sheet}</worksheet>',
        }
    )


def test_a_workbook_of_the_usual_library() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Plan"
    sheet.append(["Opening hours 2025"])
    sheet.append([])
    sheet.append(["Day", "From", "Share", "Since"])
    sheet.append(["Monday", time(9, 30), 0.25, date(2024, 5, 1)])
    sheet.append(
        ["Tuesday", time(10, 0), 0.5, datetime(2024, 5, 2, 13, 30, tzinfo=UTC).replace(tzinfo=None)]
    )
    sheet["C4"].number_format = sheet["C5"].number_format = "0%"
    book.create_sheet("Empty")
    hidden = book.create_sheet("Secret")
    hidden["A1"] = "X"
    hidden.sheet_state = "hidden"
    parsed = read(saved(book), "my-plan.xlsx")
    assert parsed.text == (
        "Plan\n\nOpening hours 2025\n\n| Day | From | Share | Since |\n| --- | --- | --- | --- |\n"
        "| Monday | 09:30 | 25% | 2024-05-01 |\n| Tuesday | 10:00 | 50% | 2024-05-02 13:30 |"
    )
    assert parsed.title == "my plan"
    assert parsed.warnings == ("1 hidden sheet left out: Secret",)


def test_hidden_rows_and_columns_are_told() -> None:
    book = openpyxl.Workbook()
    for row in (["a", "b", "c"], ["1", "X", "3"], ["X", "X", "X"], ["4", "X", "6"]):
        book.active.append(row)
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions["B"].hidden = True
    parsed = read(saved(book), "a.xlsx")
    assert parsed.text.splitlines()[2:] == ["| a | c |", "| --- | --- |", "| 1 | 3 |", "| 4 | 6 |"]
    assert parsed.warnings == ("6 cells of hidden rows and columns left out",)


def test_labels_over_cells_stand_with_each() -> None:
    book = openpyxl.Workbook()
    for row in (["Region", "Sales", None], [None, "2023", "2024"], ["North", 1, 2], [None, 3, 4]):
        book.active.append(row)
    for area in ("B1:C1", "A1:A2", "A3:A4"):
        book.active.merge_cells(area)
    assert read(saved(book), "a.xlsx").text.splitlines()[2:] == [
        "| Region | Sales | Sales |",
        "| Region | 2023 | 2024 |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
    ]


def test_a_formula_gives_its_stored_result() -> None:
    sheet = (
        '<sheetData><row r="1"><c r="A1" t="str"><f>"x"</f><v>The total is 42</v></c></row>'
        '<row r="2"><c r="A2"><f>1+1</f></c></row></sheetData>'
    )
    parsed = read(raw(sheet), "a.xlsx")
    assert parsed.text == "S\n\nThe total is 42"
    assert parsed.warnings == ("1 formulas without a stored result left out",)


def test_cells_far_apart_cost_nothing() -> None:
    rows = "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in (1, 1_048_576))
    assert read(raw(f"<sheetData>{rows}</sheetData>"), "a.xlsx").text == "S\n\n1\n\n1048576"
    merged = '<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    assert read(raw(merged), "a.xlsx").text == "S\n\n1"


def test_a_sheet_that_breaks_off_is_damaged() -> None:
    with pytest.raises(DocumentUnreadable, match="damaged"):
        read(raw("<sheetData><row>"), "a.xlsx")


@pytest.mark.parametrize(
    ("value", "number", "code", "expected"),
    [
        (45413.0, 14, None, "2024-05-01"),
        (45413.5, 22, None, "2024-05-01 12:00"),
        (1.0, 14, None, "1900-01-01"),
        (61.0, 14, None, "1900-03-01"),
        (0.5, 20, None, "12:00"),
        (1.5, 0, "[h]:mm", "36:00:00"),
        (45413.0, 0, "[$-416]dd/mm/yyyy;@", "2024-05-01"),
        (0.2537, 10, None, "25.37%"),
        (0.07, 9, None, "7%"),
        (1234.5, 4, None, "1234.50"),
        (12.5, 0, '"$"#,##0.00', "$12.50"),
        (12.5, 0, "#,##0.00 [$€-407]", "12.50 €"),
        (5.0, 0, '"R$" #,##0.00', "R$5.00"),
        (420.0, 0, "00000", "00420"),
        (0.1 + 0.2, 0, None, "0.3"),
        (1e-7, 0, None, "0.0000001"),
        (5.0, 0, "General", "5"),
        (1e300, 14, None, "1e+300"),
    ],
)
def test_numbers_as_they_are_shown(
    value: float, number: int, code: str | None, expected: str
) -> None:
    assert shown(value, read_format(number, code)) == expected


def test_the_other_calendar() -> None:
    assert shown(0.0, read_format(14, None), from_1904=True) == "1904-01-01"
