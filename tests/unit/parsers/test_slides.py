"""Is each slide a page with its title and its frames in order?"""

import io

import pptx
from made_documents import read
from pptx.util import Inches


def test_a_presentation() -> None:
    show = pptx.Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Rules"
    body = first.placeholders[1].text_frame
    body.text = "one"
    inner = body.add_paragraph()
    inner.text, inner.level = "deeper", 1
    first.notes_slide.notes_text_frame.text = "Say hello."
    hidden = show.slides.add_slide(show.slide_layouts[5])
    hidden.shapes.title.text = "X"
    hidden._element.set("show", "0")
    last = show.slides.add_slide(show.slide_layouts[5])
    last.shapes.title.text = "Prices"
    for words, left, top in (("below", 1, 5), ("right", 5, 2), ("left", 1, 2)):
        box = last.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1))
        box.text_frame.text = words
    grid = last.shapes.add_table(2, 2, Inches(1), Inches(6), Inches(4), Inches(1)).table
    for number, content in enumerate(("Seat", "Price", "Front", "10")):
        grid.cell(number // 2, number % 2).text = content
    buffer = io.BytesIO()
    show.save(buffer)
    parsed = read(buffer.getvalue(), "show.pptx")
    assert parsed.text == (
        "Rules\n\n- one\n  - deeper\n\nNotes: Say hello.\n\n"
        "Prices\n\nleft\n\nright\n\nbelow\n\n| Seat | Price |\n| --- | --- |\n| Front | 10 |"
    )
    assert parsed.page_starts == (0, parsed.text.index("Prices"))
    assert parsed.title == "Rules"
    assert parsed.warnings == ("1 hidden slide left out: 2",)


def test_an_empty_presentation_has_no_text() -> None:
    show = pptx.Presentation()
    show.slides.add_slide(show.slide_layouts[6])
    buffer = io.BytesIO()
    show.save(buffer)
    parsed = read(buffer.getvalue(), "show.pptx")
    assert (parsed.text, parsed.page_starts) == ("", (0,))
