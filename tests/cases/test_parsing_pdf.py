"""Faults of other systems' PDF readers, each under the number of its case."""

import io

import pytest
from paper import HEIGHT, WIDTH, Paper, texts
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject, NullObject
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader

from vademecum.adapters.parsers.pdf import parse_pdf
from vademecum.errors import LimitExceeded, PasswordRequired


def picture() -> ImageReader:
    return ImageReader(Image.new("L", (60, 80), 200))


def test_pa_04_a_page_that_is_a_picture_gives_no_text() -> None:
    paper = Paper()
    paper.canvas.drawImage(picture(), 0, 0, WIDTH, HEIGHT)
    paper.page()
    document = paper.read()
    assert document.text == ""
    assert document.page_starts == (0,), "no text is told apart from an empty document"
    assert document.unread == ()


def test_pa_04_pictures_among_pages_of_text_are_named() -> None:
    paper = Paper()
    for page in range(1, 7):
        if page in (2, 5):
            paper.canvas.drawImage(picture(), 0, 0, WIDTH, HEIGHT)
        elif page != 6:
            paper.lines([f"Words of page {page} stand here."], top=120)
        paper.page()
    document = paper.read()
    assert document.unread == ("no text was found on pages 2, 5",), "a blank page is no loss"
    assert len(document.page_starts) == 6


def test_pa_05_a_user_password_is_asked_for() -> None:
    paper = Paper(encrypt=StandardEncryption("user", ownerPassword="owner"))
    paper.lines(["Secret words."], top=120)
    with pytest.raises(PasswordRequired, match=r"rules/my-rules\.pdf is locked"):
        paper.read()


@pytest.mark.parametrize("strength", [40, 128])
def test_pa_06_a_password_for_permissions_only_locks_nothing(strength: int) -> None:
    lock = StandardEncryption("", ownerPassword="owner", canCopy=0, strength=strength)
    paper = Paper(encrypt=lock)
    paper.lines(["Anyone can read these words."], top=120)
    assert paper.read().text == "Anyone can read these words."


def test_pa_07_ligatures_are_letters_and_broken_ones_are_mended() -> None:
    paper = Paper()
    paper.lines(["The fi eld of a fl ower is an of fi ce, and 12 fl oz of sci-fi tea."], top=120)
    text = paper.read().text
    assert "field" in text
    assert "flower" in text
    assert "12 fl oz of sci-fi tea" in text


def test_pa_08_letters_set_one_by_one_are_words() -> None:
    paper = Paper()
    paper.canvas.setFont("Helvetica", 11)
    x = 72.0
    line = "Tickets are refunded within thirty days of the sale at the north gate"
    for char in line:
        if char != " ":
            paper.canvas.drawString(x, HEIGHT - 120, char)
        x += paper.canvas.stringWidth(char, "Helvetica", 11) + 1.2
    document = paper.read()
    assert document.text == line
    assert document.warnings == ()


def test_pa_08_words_that_run_together_are_told() -> None:
    paper = Paper()
    paper.lines(
        ["Ticketsarerefundedwithinthirtydaysofthesaleatthenorthgate" for _ in range(3)], top=99
    )
    document = paper.read()
    assert document.warnings == ("words may run together or have inner blanks on page 1",)


LEFT = [f"L{n} of the left column goes on here" for n in range(1, 11)]
RIGHT = [f"R{n} of the right column goes on too" for n in range(1, 11)]


@pytest.mark.parametrize("across", [False, True])
def test_pa_09_columns_are_read_one_after_the_other(across: bool) -> None:
    paper = Paper()
    paper.lines(["A heading over both of the columns of this page"], top=70, size=16, bold=True)
    if across:  # the file sets a line of each in turn
        for number, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
            paper.lines([left], top=120 + 14 * number)
            paper.lines([right], top=120 + 14 * number, left=320)
    else:
        paper.lines(LEFT, top=120)
        paper.lines(RIGHT, top=120, left=320)
    text = paper.read().text
    places = [text.index(line) for line in ("A heading", *(line[:7] for line in LEFT + RIGHT))]
    assert places == sorted(places)


def test_pa_09_rows_of_a_table_without_rulings_stay_rows() -> None:
    paper = Paper()
    for number in range(8):
        top = 120 + 14 * number
        paper.lines([f"Seat {number}"], top=top)
        paper.lines([f"{number}2.50"], top=top, left=320)
    text = paper.read().text
    assert text.index("02.50") < text.index("Seat 1") < text.index("12.50") < text.index("Seat 2")


def test_pa_10_only_the_repeated_line_goes() -> None:
    paper = Paper()
    for page in range(1, 7):
        paper.lines(["Arena of the North"], top=40)
        top = 62.0
        if page == 2:
            top = paper.lines(["A title on page two"], top=top, size=16, bold=True)
        paper.lines([f"First body line of page {'abcdef'[page - 1]} only."], top=top)
        paper.page()
    document = paper.read()
    assert "Arena of the North" not in document.text
    assert [f"page {letter} only" in document.text for letter in "abcdef"] == [True] * 6
    assert texts(document, "heading") == ["A title on page two"]
    assert document.warnings == ("6 repeated header and footer lines left out",)


def test_pa_10_the_last_row_of_a_table_stays_at_the_edge() -> None:
    paper = Paper()
    for page in range(1, 5):
        paper.lines([f"Prices of stand {'abcd'[page - 1]} are these."], top=120)
        paper.grid(
            [["Seat", "Price"], *([f"Row {n}", f"{page}{n}"] for n in range(3)), ["Total", "9"]],
            top=HEIGHT - 100,
        )
        paper.page()
    document = paper.read()
    assert document.text.count("| Total | 9 |") == 4
    assert document.warnings == ()


def test_pa_10_left_and_right_pages_have_lines_of_their_own() -> None:
    paper = Paper()
    for page in range(8):
        left = page % 2 == 0
        paper.lines(
            ["Rules of the house" if left else "Chapter of refunds"],
            top=36,
            left=72 if left else 400,
        )
        paper.lines([f"The {'abcdefgh'[page]} page says this and no more."], top=150)
        paper.page()
    document = paper.read()
    assert "Rules of the house" not in document.text
    assert "Chapter of refunds" not in document.text


def test_pa_21_nul_in_metadata_and_text_is_removed() -> None:
    paper = Paper()
    paper.lines(["The policy of the house."], top=120)
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(paper.content())))
    assert writer.metadata is not None
    writer.add_metadata({"/Title": "House\x00 rules\x00", "/Producer": "maker\x00"})
    out = io.BytesIO()
    writer.write(out)
    document = parse_pdf(out.getvalue(), "a.pdf", "application/pdf")
    assert document.title == "House rules"
    assert document.text == "The policy of the house."


def with_meanings(content: bytes, meanings: dict[str, str]) -> bytes:
    """Return a PDF whose fonts give some letters another meaning, in UTF-16 as hexadecimal."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    lines = [f"<{code:02x}> <{meanings.get(chr(code), f'{code:04x}')}>" for code in range(32, 127)]
    to_unicode = DecodedStreamObject()
    to_unicode.set_data(
        "\n".join(
            [
                "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def",
                "1 begincodespacerange <00> <ff> endcodespacerange",
                "95 beginbfchar",
                *lines,
                "endbfchar endcmap end end",
            ]
        ).encode()
    )
    reference = writer._add_object(to_unicode)  # there is no other way
    for font in writer.pages[0]["/Resources"]["/Font"].values():  # type: ignore[index]
        font.get_object()[NameObject("/ToUnicode")] = reference
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_pa_07_a_ligature_without_a_name_is_told_from_its_words() -> None:
    paper = Paper()
    paper.lines(["The oqce has a ~eld, con~rmed in the ~nal speci~cation."], top=120)
    content = with_meanings(paper.content(), {"q": "FB03", "~": "001F"})
    text = parse_pdf(content, "a.pdf", "application/pdf").text
    assert "The office" in text
    assert "confirmed in the final specification." in text


def test_pa_07_a_letter_that_nothing_explains_is_told() -> None:
    paper = Paper()
    paper.lines(["The zz~zz of the house is this one and no other, as all know."], top=120)
    content = with_meanings(paper.content(), {"~": "001F"})
    document = parse_pdf(content, "a.pdf", "application/pdf")
    assert document.text.startswith("The zz\ufffdzz of")
    assert document.warnings == ("letters without a known meaning stand on page 1",)


def test_pa_07_a_page_of_letters_without_meaning_is_unread() -> None:
    paper = Paper()
    paper.lines(["abcdefgh ijklmnop qrstuvwx"], top=120)
    private = {chr(code): f"{0xE000 + code:04x}" for code in range(97, 123)}
    document = parse_pdf(with_meanings(paper.content(), private), "a.pdf", "application/pdf")
    assert document.text == ""
    assert document.unread == ("page 1 uses letters without a known meaning",)


def test_pa_21_a_font_that_maps_letters_to_nul_and_half_pairs() -> None:
    paper = Paper()
    paper.lines(["The poqlizcy of the house."], top=120)
    content = with_meanings(paper.content(), {"q": "0000", "z": "D83D"})
    document = parse_pdf(content, "a.pdf", "application/pdf")
    assert "\x00" not in document.text
    document.text.encode()  # no half of a pair
    assert "of the house" in document.text


def test_over_two_thousand_pages_are_refused() -> None:
    paper = Paper()
    for _ in range(2_001):
        paper.page()
    with pytest.raises(LimitExceeded, match="over 2000 pages"):
        paper.read()


def test_a_broken_page_costs_that_page() -> None:
    paper = Paper()
    for page in "abc":
        paper.lines([f"Words of page {page} stand here."], top=120)
        paper.page()
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(paper.content())))
    pages = writer._pages.get_object()["/Kids"]
    pages[1] = NullObject()
    out = io.BytesIO()
    writer.write(out)
    document = parse_pdf(out.getvalue(), "a.pdf", "application/pdf")
    assert "page a" in document.text
    assert "page c" in document.text
    assert document.unread == ("page 2 could not be read",)


def test_pa_23_a_blank_page_is_a_page() -> None:
    paper = Paper()
    paper.page()
    paper.lines(["Words stand on the second page."], top=120)
    document = paper.read()
    assert len(document.page_starts) == 2
    assert document.page_at(document.text.index("Words")) == 2
    assert document.unread == ()


def test_pa_10_a_title_that_later_pages_repeat_stays_once() -> None:
    paper = Paper()
    for page in range(4):
        paper.lines(["Rules of the house"], top=50, size=18)
        paper.lines([f"The {'abcd'[page]} page says this and no more."], top=150)
        paper.page()
    document = paper.read()
    assert texts(document, "heading") == ["Rules of the house"]
    assert document.page_at(document.text.index("Rules of the house")) == 1
    assert document.text.count("Rules of the house") == 1
