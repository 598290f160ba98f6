"""Is a book read chapter by chapter?"""

import pytest
from made_documents import read, zipped

from vademecum.errors import DocumentUnreadable, PasswordRequired

CONTAINER = '<c xmlns="c"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></c>'
BOOK = """<package xmlns="o" xmlns:dc="d"><metadata><dc:title>The book</dc:title><dc:language>pt-BR</dc:language></metadata>
<manifest><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="b" href="two%20words.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/><item id="m" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="p" href="p.png" media-type="image/png"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/><itemref idref="p"/><itemref idref="m"/></spine></package>"""
PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OPS/book.opf": BOOK,
    "OPS/nav.xhtml": "<html><body><p>X</p></body></html>",
    "OPS/one.xhtml": '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e "X">]><html><body><h1>First</h1><p>caf&#233;</p></body></html>',
    "OPS/two words.xhtml": "<html><body><h1>Second</h1><p hidden='hidden'>X</p><p>end</p></body></html>",
}


def test_chapters_stand_in_reading_order() -> None:
    parsed = read(zipped(PARTS), "a.zip")
    assert parsed.text == "First\n\ncafé\n\nSecond\n\nend"
    assert (parsed.title, parsed.language) == ("The book", "pt")
    assert parsed.warnings == ("1 hidden elements left out",)
    assert parsed.unread == ("chapter OPS/gone.xhtml is not in the book",)


def test_a_book_without_its_list_is_damaged() -> None:
    with pytest.raises(DocumentUnreadable, match="damaged"):
        read(zipped({"mimetype": "application/epub+zip"}), "a.epub")


def test_copy_protection_is_told() -> None:
    def locked(name: str) -> dict[str, str]:
        return PARTS | {
            "META-INF/encryption.xml": f'<e xmlns="e"><CipherReference URI="{name}"/></e>'
        }

    with pytest.raises(PasswordRequired, match="seller"):
        read(zipped(locked("OPS/one.xhtml")), "a.epub")
    assert read(zipped(locked("OPS/font.otf")), "a.epub").text
