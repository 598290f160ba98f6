"""Is a PDF read in the order of a reader, with its headings, pages and nothing of its margins?"""

import pytest
from paper import HEIGHT, Paper, texts
from reportlab.lib.pdfencrypt import StandardEncryption

from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.pdf import parse_pdf
from vademecum.errors import DocumentUnreadable, PasswordRequired
from vademecum.ingest.contextualize import contextualize
from vademecum.testing.embedders import HashEmbedder


def test_two_columns_are_read_one_after_the_other() -> None:
    paper = Paper()
    left = [f"Left column line {n} goes on" for n in range(12)]
    right = [f"Right column line {n} goes on" for n in range(12)]
    paper.lines(left, top=120)
    paper.lines(right, top=120, left=320)
    text = paper.read().text
    assert [text.index(f"Left column line {n} ") for n in range(12)] == sorted(
        text.index(f"Left column line {n} ") for n in range(12)
    )
    assert text.index("Left column line 11") < text.index("Right column line 0 ")


def test_headers_and_footers_that_repeat_are_left_out_and_titles_stay() -> None:
    paper = Paper()
    for page, title in enumerate(("Tickets", "Refunds", "Access"), start=1):
        paper.lines(["Arena of the North - rules"], top=30, size=9)
        top = paper.lines([title], top=62, size=18, bold=True)
        paper.lines([f"Rule {page} is of this page only, and goes on."], top=top + 20)
        paper.lines([f"Page {page} of 3"], top=HEIGHT - 30, size=9)
        paper.page()
    document = paper.read()
    assert "Arena of the North" not in document.text
    assert "of 3" not in document.text
    assert texts(document, "heading") == ["Tickets", "Refunds", "Access"]
    assert all(f"Rule {page} is" in document.text for page in (1, 2, 3))
    assert document.warnings == ("6 repeated header and footer lines left out",)
    assert document.title == "Tickets"


def test_a_line_at_the_top_of_one_page_only_stays() -> None:
    paper = Paper()
    paper.lines(["The only text of the first page is here."], top=120)
    paper.page()
    paper.lines(["A title at the very top"], top=40, size=16, bold=True)
    paper.lines(["And a paragraph under it on page two."], top=120)
    document = paper.read()
    assert "A title at the very top" in texts(document, "heading")
    assert document.warnings == ()


def test_headings_and_their_paths() -> None:
    paper = Paper()
    top = paper.lines(["Rules of the house"], top=100, size=20, bold=True)
    top = paper.lines(["The first words are an introduction to it all."], top=top + 20)
    top = paper.lines(["Refunds"], top=top + 20, size=14, bold=True)
    top = paper.lines(
        ["Tickets are refunded within thirty days of sale,", "at the north gate."], top=top + 15
    )
    top = paper.lines(["By card"], top=top + 20, bold=True)
    paper.lines(["A card is credited within five days of the request."], top=top + 15)
    document = paper.read()
    assert [(document.text[b.start : b.end], b.level) for b in document.blocks if b.level] == [
        ("Rules of the house", 1), ("Refunds", 2), ("By card", 3),
    ]  # fmt: skip
    last = document.blocks[-1]
    assert last.heading_path == ("Rules of the house", "Refunds", "By card")
    assert "Tickets are refunded within thirty days of sale, at the north gate." in texts(document)


def test_a_hyphen_at_a_lines_end_is_mended_and_a_real_one_kept() -> None:
    paper = Paper()
    paper.lines(
        [
            "The organi-",
            "sation refunds well-known",
            "tickets in full, also for",
            "pre-",
            "Christmas shows.",
        ],
        top=120,
    )
    document = paper.read()
    text = document.text
    assert "The organisation refunds well-known tickets" in text
    assert "tickets in full, also for pre-Christmas shows." in text
    assert len(document.blocks) == 1


def test_list_items_keep_their_wrapped_lines() -> None:
    paper = Paper()
    top = paper.lines(["You may bring:"], top=120)
    paper.lines(
        [
            "- a small bag of at most thirty",
            "  centimetres on each side",
            "- a bottle of water",
            "1. first",
            "2. second",
        ],
        top=top + 15,
    )
    document = paper.read()
    assert texts(document, "list") == [
        "- a small bag of at most thirty centimetres on each side",
        "- a bottle of water", "1. first", "2. second",
    ]  # fmt: skip


def test_a_locked_one_asks_for_its_password() -> None:
    paper = Paper(encrypt=StandardEncryption("user", ownerPassword="owner", canPrint=0))
    paper.lines(["Secret words."], top=120)
    with pytest.raises(PasswordRequired, match="locked"):
        paper.read()


def test_an_owners_password_alone_locks_nothing() -> None:
    paper = Paper(encrypt=StandardEncryption("", ownerPassword="owner", canPrint=0, canCopy=0))
    paper.lines(["Readable words stand on this page."], top=120)
    assert "Readable words stand on this page." in paper.read().text


def test_pages_without_text_are_pages() -> None:
    paper = Paper()
    paper.canvas.rect(100, 100, 200, 200, fill=1)
    paper.page()
    paper.page()
    document = paper.read()
    assert document.text.strip() == ""
    assert document.blocks == ()
    assert len(document.page_starts) == 2, "no text on pages is told apart from an empty document"


def test_a_blank_page_between_two_counts() -> None:
    paper = Paper()
    paper.lines(["Words of the first page stand here."], top=120)
    paper.page()
    paper.page()
    paper.lines(["Words of the third page stand here."], top=120)
    document = paper.read()
    assert len(document.page_starts) == 3
    assert document.page_at(document.text.index("first")) == 1
    assert document.page_at(document.text.index("third")) == 3
    assert document.page_at(len(document.text) - 1) == 3


def test_chunks_tell_the_pages_they_span() -> None:
    paper = Paper()
    for page in range(1, 5):
        for line in range(3):
            paper.lines(
                [f"Page {page} has a sentence number {line} of its own."], top=150 + 60 * line
            )
        paper.page()
    document = paper.read()
    tokenizer = HashEmbedder()
    spans = StructureChunker(60).split(document, tokenizer)
    chunks = contextualize(document, spans, "T", "en", tokenizer)
    assert any(chunk.page_start != chunk.page_end for chunk in chunks)
    for chunk in chunks:
        named = [
            int(word)
            for i, word in enumerate(chunk.text.split())
            if chunk.text.split()[i - 1] == "Page"
        ]
        assert (chunk.page_start, chunk.page_end) == (named[0], named[-1])
        for offset in range(chunk.start, chunk.end):
            assert chunk.page_at(offset) == document.page_at(offset)


@pytest.mark.parametrize("cut", [5, 50, 400, -200, -20])
def test_a_damaged_one_is_told_or_read(cut: int) -> None:
    paper = Paper()
    paper.lines(["Words that may survive."], top=120)
    content = paper.content()[:cut]
    try:
        text = parse_pdf(content, "a.pdf", "application/pdf").text.strip()
    except DocumentUnreadable as error:
        text = str(error)
    assert text in ("", "Words that may survive.", "a.pdf is a damaged PDF. export it again")


def test_noise_under_a_pdfs_name_is_damaged() -> None:
    with pytest.raises(DocumentUnreadable, match="damaged"):
        parse_pdf(b"%PDF-1.7\n" + bytes(range(256)) * 100, "a.pdf", "application/pdf")


def test_the_title_is_the_files_own_or_the_first_heading_or_the_name() -> None:
    named = Paper()
    named.canvas.setTitle("Rules of 2026")
    named.lines(["Some words stand on this page."], top=120)
    assert named.read().title == "Rules of 2026"
    bare = Paper()
    bare.canvas.setTitle("")
    bare.lines(["Some words stand on this page, and they are a paragraph of it."], top=120)
    assert bare.read().title == "my-rules"


def test_offsets_are_exact_and_in_order() -> None:
    paper = Paper()
    for page in range(3):
        top = paper.lines([f"Section {page}"], top=100, size=16, bold=True)
        paper.lines(["First line of a paragraph that", "goes on and ends here."], top=top + 20)
        paper.page()
    document = paper.read()
    position = 0
    for block in document.blocks:
        assert block.start >= position
        assert document.text[position : block.start].strip() == ""
        position = block.end
    assert position == len(document.text)
    assert list(document.page_starts) == sorted(document.page_starts)


def test_a_hyphen_that_the_word_has_elsewhere_stays() -> None:
    paper = Paper()
    paper.lines(
        ["The well-known rules are these. They are well-", "known to the organi-", "sation."],
        top=120,
    )
    assert "They are well-known to the organisation." in paper.read().text
