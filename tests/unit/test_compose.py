"""Do pieces become one text with exact spans?"""

from vademecum.adapters.parsers.compose import Composer


def test_every_block_is_an_exact_slice_of_the_text() -> None:
    composer = Composer()
    composer.page()
    composer.heading("Cafe\u0301  rules", 1)
    composer.paragraph("First\x00 line  \nsecond")
    composer.item("one")
    composer.item("two", depth=1)
    composer.page()
    composer.heading("Prices", 2)
    composer.table([["Seat", "Price"], ["A|1", "10\nEUR"], ["", ""], ["B"]])
    parsed = composer.document(title="", media_type="text/x")

    assert [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        ("heading", "Café rules"),
        ("paragraph", "First line\nsecond"),
        ("list", "- one"),
        ("list", "  - two"),
        ("heading", "Prices"),
        ("table", "| Seat | Price |\n| --- | --- |\n| A\\|1 | 10 EUR |\n| B |  |"),
    ]
    table = parsed.blocks[-1]
    assert parsed.text[table.start : table.header_end] == "| Seat | Price |\n| --- | --- |"
    assert table.heading_path == ("Café rules", "Prices")
    assert parsed.page_starts == (0, parsed.text.index("Prices"))
    assert parsed.title == "Café rules"


def test_a_table_without_text_leaves_nothing() -> None:
    composer = Composer()
    composer.table([["", " "], []])
    composer.paragraph("  \n ")
    assert composer.document(title="t", media_type="text/x").text == ""


def test_empty_columns_go_and_headers_are_counted_after_empty_rows() -> None:
    composer = Composer()
    composer.table([["", ""], ["a", "", "b"], ["1", "", "2"]], header_rows=2)
    parsed = composer.document(title="t", media_type="text/x")
    assert parsed.text == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert parsed.text[: parsed.blocks[0].header_end].endswith("--- |")
