"""Does every real document of the shared set end in the verdict that was judged right for it?

`docs_parser_verdicts.toml` names each file but PDF, with a few words that must be in its text.
"""

import time
import tomllib
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import DocumentUnreadable
from vademecum.model.document import ParsedDocument

VERDICTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("docs_parser_verdicts.toml").read_text("utf-8")
)
FILES = [(folder, name) for folder, files in VERDICTS.items() for name in files]
MOST_SECONDS = 20.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parser() -> AsyncIterator[ChildParser]:
    parser = ChildParser()
    yield parser
    await parser.aclose()


async def outcome(
    parser: ChildParser, content: bytes, name: str
) -> ParsedDocument | DocumentUnreadable:
    try:
        return await parser.parse(content, name)
    except DocumentUnreadable as error:
        return error


def verdict(parsed: ParsedDocument) -> str:
    if not parsed.text.strip():
        return "no_text" if parsed.page_starts else "empty"
    return "partial" if parsed.unread else "ready"


def rubbish(text: str) -> int:
    """How many letters no document shows: controls, unassigned ones, replaced ones."""
    return sum(
        letter == "\ufffd"
        or (unicodedata.category(letter) in ("Cc", "Cn") and letter not in "\n\t")
        for letter in text
    )


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("folder", "name"), FILES)
async def test_verdict(folder: str, name: str, shared_data: Path, parser: ChildParser) -> None:
    content = (shared_data / "docs-parser" / folder / name).read_bytes()
    expected = VERDICTS[folder][name]
    started = time.monotonic()
    found = await outcome(parser, content, name)
    assert time.monotonic() - started < MOST_SECONDS
    if isinstance(found, DocumentUnreadable):
        assert (found.code, bool(found.hint)) == (expected["verdict"], True)
        return
    parsed = found
    assert verdict(parsed) == expected["verdict"], parsed.unread
    assert len(parsed.text) >= expected.get("least", 0)
    assert expected.get("words", "") in parsed.text
    assert rubbish(parsed.text) * 100 <= len(parsed.text)
    assert all(parsed.text[block.start : block.end].strip() for block in parsed.blocks)


def test_no_file_is_left_out(shared_data: Path) -> None:
    there = {
        (folder, path.name)
        for folder in VERDICTS
        for path in (shared_data / "docs-parser" / folder).iterdir()
        if path.suffix.lower() != ".pdf"
    }
    assert there == set(FILES)
