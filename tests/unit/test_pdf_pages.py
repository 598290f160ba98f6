"""Do outlines, page ends, forms and pictures of text come out as their reader takes them?"""

import io
import os
import shutil

import pytest
from paper import HEIGHT, WIDTH, Paper, texts
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter
from reportlab.lib.utils import ImageReader

from vademecum.adapters.parsers.pdf import parse_pdf


def test_the_outline_names_headings_and_their_levels() -> None:
    paper = Paper()
    for number, name in enumerate(["Entry", "Children", "Refunds"]):
        paper.canvas.bookmarkPage(name)
        paper.canvas.addOutlineEntry(name, name, level=0 if number != 1 else 1)
        paper.lines([f"{number + 1}. {name}" if number else name], top=100)
        paper.lines([f"The rules of part {number} stand here, and they are plain."], top=140)
        paper.page()
    document = paper.read()
    assert [(document.text[b.start : b.end], b.level) for b in document.blocks if b.level] == [
        ("Entry", 1), ("2. Children", 2), ("3. Refunds", 1),
    ]  # fmt: skip


def test_a_sentence_over_a_pages_end_is_one_block_with_both_pages() -> None:
    paper = Paper()
    paper.lines(["Tickets are refunded within", "thirty days of the sale, and"], top=700)
    paper.page()
    paper.lines(["members get their money at", "once."], top=100)
    paper.lines(["Another paragraph is here."], top=200)
    document = paper.read()
    first = (
        "Tickets are refunded within thirty days of the sale, and members get their money at once."
    )
    assert texts(document) == [first, "Another paragraph is here."]
    assert document.page_starts == (0, first.index("members"))
    assert document.page_at(first.index("members") - 2) == 1
    assert document.page_at(first.index("members")) == 2


def test_a_word_parted_by_a_pages_end_is_one_word() -> None:
    paper = Paper()
    paper.lines(["Tickets are refunded within the sea-"], top=700)
    paper.page()
    paper.lines(["son of their sale, and after it."], top=100)
    document = paper.read()
    assert document.text == "Tickets are refunded within the season of their sale, and after it."
    assert document.page_starts[1] == document.text.index("son of")


def test_a_sentence_may_go_on_over_three_pages() -> None:
    paper = Paper()
    for line in ["It begins here and", "goes on here and", "ends here."]:
        paper.lines([line], top=300)
        paper.page()
    document = paper.read()
    assert document.text == "It begins here and goes on here and ends here."
    assert [document.text[start:][:4] for start in document.page_starts] == ["It b", "goes", "ends"]


def test_a_finished_sentence_and_a_new_one_stay_apart() -> None:
    paper = Paper()
    paper.lines(["It ends on the first page."], top=700)
    paper.page()
    paper.lines(["a second one begins small."], top=100)
    assert len(paper.read().blocks) == 2


def test_values_of_a_form_are_text() -> None:
    paper = Paper()
    paper.lines(["Name of the guest:"], top=100)
    paper.canvas.acroForm.textfield(name="guest", value="Visitor seven", x=200, y=HEIGHT - 105)
    assert "Visitor seven" in paper.read().text


def test_what_stands_outside_the_crop_box_is_left_out() -> None:
    paper = Paper()
    paper.lines(["Inside the page."], top=120)
    paper.lines(["Printer's note"], top=30)
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(paper.content())))
    writer.pages[0].cropbox.upper_right = (WIDTH, HEIGHT - 60)
    out = io.BytesIO()
    writer.write(out)
    document = parse_pdf(out.getvalue(), "a.pdf", "application/pdf")
    assert document.text == "Inside the page."
    assert document.warnings == ("hidden text left out: 13 characters on page 1",)


def picture_of(text: str) -> ImageReader:
    image = Image.new("L", (1600, 300), 255)
    ImageDraw.Draw(image).text((40, 100), text, fill=0, font=ImageFont.load_default(60))
    return ImageReader(image)


def scanned() -> Paper:
    paper = Paper()
    paper.lines(["The first page has text of its own."], top=120)
    paper.page()
    paper.canvas.drawImage(picture_of("Tickets are refunded"), 30, 400, 530, 100)
    paper.page()
    return paper


def test_a_picture_of_text_is_recognised_where_that_is_wanted() -> None:
    if shutil.which("tesseract") is None and not os.environ.get("VADE_REQUIRE_PROGRAMS"):
        pytest.skip("tesseract is not installed")
    document = parse_pdf(scanned().content(), "a.pdf", "application/pdf", ocr="eng")
    assert texts(document)[1] == "Tickets are refunded"
    assert document.page_at(document.text.index("Tickets")) == 2
    assert document.unread == ()
    assert document.warnings == ("text was recognised from the picture on page 2",)


def test_without_it_the_page_is_named_as_unread() -> None:
    assert scanned().read().unread == ("no text was found on page 2",)


@pytest.mark.parametrize("languages", ["xx_unknown", "eng; rm -rf /", "--help"])
def test_languages_that_are_not_there_cost_the_picture_only(languages: str) -> None:
    document = parse_pdf(scanned().content(), "a.pdf", "application/pdf", ocr=languages)
    assert document.unread == ("no text was found on page 2",)
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith("pages were not recognised: ")
