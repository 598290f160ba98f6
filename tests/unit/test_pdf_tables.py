"""Is a ruled table a table with its cells, in its place, and a frame around text none?"""

from paper import HEIGHT, Paper, texts

ROWS = [["Seat", "Price", "Sold"], ["Row 1", "12.50", "40"], ["Row 2", "9.00", "55"]]


def test_a_ruled_table_stands_at_its_place() -> None:
    paper = Paper()
    top = paper.lines(["The prices of this season are these."], top=100)
    top = paper.grid(ROWS, top=top)
    paper.lines(["They hold until the last day of May."], top=top + 20)
    document = paper.read()
    assert [block.kind for block in document.blocks] == ["paragraph", "table", "paragraph"]
    table = document.blocks[1]
    assert document.text[table.start : table.end] == (
        "| Seat | Price | Sold |\n| --- | --- | --- |\n| Row 1 | 12.50 | 40 |\n| Row 2 | 9.00 | 55 |"
    )
    assert document.text[table.start : table.header_end].startswith("| Seat | Price | Sold |")


def test_lines_in_a_cell_are_one_text() -> None:
    paper = Paper()
    canvas = paper.canvas
    for row, texts_of_row in enumerate([["What", "Where"], ["", "north gate"], ["Tea", "hall"]]):
        for column, text in enumerate(texts_of_row):
            canvas.rect(72 + 120 * column, HEIGHT - 150 - 40 * row, 120, 40)
            canvas.drawString(76 + 120 * column, HEIGHT - 130 - 40 * row, text)
    paper.lines(["Refunds of the sea-", "son tickets"], top=162, left=76, size=10)
    assert "| Refunds of the season tickets | north gate |" in paper.read().text


def test_a_name_over_two_columns_names_both() -> None:
    paper = Paper()
    canvas = paper.canvas
    canvas.rect(72, HEIGHT - 120, 100, 20)
    canvas.rect(172, HEIGHT - 120, 200, 20)
    paper.lines(["Sold"], top=114, left=240)
    paper.grid([["Seat", "2025", "2026"], ["Row 1", "40", "41"]], top=120)
    assert paper.read().text.splitlines() == [
        "|  | Sold | Sold |",
        "| Seat | 2025 | 2026 |",
        "| --- | --- | --- |",
        "| Row 1 | 40 | 41 |",
    ]


def test_each_pages_part_is_a_table() -> None:
    paper = Paper()
    paper.grid(ROWS, top=700)
    paper.page()
    paper.grid([ROWS[0], ["Row 3", "7.00", "60"]], top=100)
    document = paper.read()
    tables = [block for block in document.blocks if block.kind == "table"]
    assert [document.page_at(table.start) for table in tables] == [1, 2]
    assert document.text.count("| Seat | Price | Sold |") == 2


def test_a_box_around_text_and_a_page_frame_are_no_tables() -> None:
    paper = Paper()
    paper.canvas.rect(20, 20, 550, 800)
    paper.canvas.rect(60, HEIGHT - 180, 400, 70)
    paper.canvas.line(60, HEIGHT - 145, 460, HEIGHT - 145)
    paper.lines(["A box holds this note, which is text.", "It goes on in a line."], top=130)
    paper.lines(["And so it does below the line of the box."], top=165)
    document = paper.read()
    assert [block.kind for block in document.blocks] == ["paragraph", "paragraph"]


def test_columns_of_text_in_one_frame_are_no_table() -> None:
    paper = Paper()
    paper.canvas.rect(60, HEIGHT - 300, 480, 200)
    paper.canvas.line(300, HEIGHT - 300, 300, HEIGHT - 100)
    paper.lines([f"Left column line {n} goes on" for n in range(9)], top=120)
    paper.lines([f"Right column line {n} goes on" for n in range(9)], top=120, left=320)
    document = paper.read()
    assert texts(document, "table") == []
    assert document.text.index("Left column line 8") < document.text.index("Right column line 0")


def test_figures_under_each_other_are_a_table_without_rulings() -> None:
    paper = Paper()
    paper.lines(["Visitors in thousands, by hall and by year of the count"], top=100)
    for column, name in enumerate(["Hall", "First", "Second"]):
        paper.lines([name], top=130, left=72 + 150 * column)
    for row in range(5):
        top = 150 + 14 * row
        paper.lines([f"Hall of stand {row}"], top=top)
        paper.lines([f"{row}1.5"], top=top, left=222)
        paper.lines([f"{row}2.5"], top=top, left=372)
    document = paper.read()
    assert texts(document, "table") == [
        "| Hall | First | Second |\n| --- | --- | --- |\n"
        + "\n".join(f"| Hall of stand {row} | {row}1.5 | {row}2.5 |" for row in range(5))
    ]
    assert texts(document)[0] == "Visitors in thousands, by hall and by year of the count"


def test_words_under_each_other_stay_text() -> None:
    paper = Paper()
    for row in range(6):
        top = 150 + 14 * row
        paper.lines([f"Paragraph {row} is followed"], top=top)
        paper.lines(["by words"], top=top, left=300)
    assert texts(paper.read(), "table") == []


def test_a_turned_page_is_read_upright() -> None:
    paper = Paper()
    paper.canvas.setPageSize((HEIGHT, HEIGHT))
    paper.canvas.rotate(90)
    paper.canvas.translate(0, -HEIGHT)
    paper.grid(ROWS, top=100)
    document = paper.read()
    assert "| Row 1 | 12.50 | 40 |" in document.text


def test_a_table_that_goes_on_has_its_header_on_its_first_page_only() -> None:
    paper = Paper()
    paper.grid(ROWS, top=700)
    paper.page()
    paper.grid([["Row 3", "7.00", "60"], ["Row 4", "6.00", "61"]], top=100)
    first, second = (block for block in paper.read().blocks if block.kind == "table")
    assert first.header_end > first.start
    assert second.header_end == 0
