"""Does every PDF of the shared documents end in its stated verdict, in a child under its limits?"""

import tomllib
from pathlib import Path
from typing import Any

from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import DocumentUnreadable, PasswordRequired, VademecumError
from vademecum.model.document import ParsedDocument

EXPECTED: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("docs_parser_pdf.toml").read_text(encoding="utf-8")
)


async def verdict_of(parser: ChildParser, content: bytes, name: str) -> tuple[str, str]:
    """Return the verdict on a document, and the text that was read."""
    try:
        document = await parser.parse(content, name)
    except PasswordRequired:
        return "locked", ""
    except DocumentUnreadable as error:
        # The reader said so itself: it did not die.
        return ("damaged" if "is a damaged PDF" in error.message else error.message), ""
    except VademecumError as error:
        return type(error).__name__, ""
    check_offsets(document)
    return ("read" if document.text.strip() else "no text"), document.text


def check_offsets(document: ParsedDocument) -> None:
    position = 0
    for block in document.blocks:
        assert position <= block.start < block.end <= len(document.text)
        assert document.text[position : block.start].strip() == ""
        position = block.end
    assert document.text[position:].strip() == ""
    assert list(document.page_starts) == sorted(document.page_starts)
    assert document.page_starts
    assert document.page_starts[0] == 0
    assert "\x00" not in document.text
    document.text.encode()


async def test_every_pdf_ends_in_its_verdict(shared_data: Path) -> None:
    folder = shared_data / "docs-parser"
    files = {
        str(path.relative_to(folder))
        for kind in (*folder.glob("pdf-*"), folder / "hostile")
        for path in kind.glob("*.pdf")
    }
    assert files == set(EXPECTED)
    parser = ChildParser()
    wrong = {}
    try:
        for name, expected in EXPECTED.items():
            verdict, text = await verdict_of(parser, (folder / name).read_bytes(), name)
            found = {"verdict": verdict}
            if verdict == expected["verdict"] == "read":
                found |= {
                    "word": expected["word"] if expected["word"] in text else "",
                    "length": min(len(text), expected["length"]),
                }
            if found != expected:
                wrong[name] = found
    finally:
        await parser.aclose()
    assert wrong == {}
