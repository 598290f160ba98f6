"""Does a PDF with damaged bytes end in a verdict, never in a fault of the reader's own code?"""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from paper import Paper

from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import VademecumError

_SNIPPETS = (b"99999999999", b"-1", b"<<", b">>", b" 0 0 0 0 re f ", b"/Type/Page", b"\x00" * 9)


def sound() -> bytes:
    """Return a PDF with headings, a table, columns and odd letters, its streams uncompressed."""
    paper = Paper(pageCompression=0)
    for page in range(3):
        paper.lines(["Rules of the house"], top=40)
        top = paper.lines([f"Part {page}"], top=80, size=16, bold=True)
        top = paper.grid([["Seat", "Price"], ["Row 1", "12.50"]], top=top)
        paper.lines(["A line of the fi rst column-", "and its next"] * 5, top=top + 20)
        paper.lines(["A line of the second column"] * 10, top=top + 20, left=320)
        paper.page()
    return paper.content()


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Return the bytes with some changed, taken out, put in or copied."""
    changed = bytearray(content)
    for _ in range(dice.choice((1, 3, 10, 60))):
        place = dice.randrange(len(changed))
        match dice.randrange(4):
            case 0:
                changed[place] = dice.randrange(256)
            case 1:
                del changed[place : place + dice.randrange(60)]
            case 2:
                changed[place:place] = dice.choice(_SNIPPETS)
            case _:
                start = dice.randrange(len(changed))
                changed[place:place] = changed[start : start + dice.randrange(300)]
    return bytes(changed)


@pytest.fixture
async def parser() -> AsyncIterator[ChildParser]:
    parser = ChildParser()
    yield parser
    await parser.aclose()


async def faults(parser: ChildParser, content: bytes, seed: int, count: int) -> dict[int, str]:
    """Return which of the damaged versions ended the reader by a fault of its own."""
    dice = random.Random(seed)
    found = {}
    for number in range(count):
        try:
            await parser.parse(damaged(content, dice), "a.pdf")
        except VademecumError as error:
            if "status 1" in error.message or "no answer" in error.message:
                found[number] = error.message
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_damage_ends_in_a_verdict(parser: ChildParser, seed: int) -> None:
    assert await faults(parser, sound(), seed, 200) == {}


async def test_damage_to_real_documents_ends_in_a_verdict(
    parser: ChildParser, shared_data: Path
) -> None:
    folder = shared_data / "docs-parser"
    files = [path for path in sorted(folder.glob("pdf-*/*.pdf")) if path.stat().st_size < 100_000]
    for number, path in enumerate(files):
        assert await faults(parser, path.read_bytes(), number, 3) == {}, path.name
