"""Does each of a thousand bad files end in a verdict, alone, and with nothing left of it?"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from malformed import FAMILIES, Sample, corpus
from malformed.sample import ESCAPED

from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import DocumentUnreadable
from vademecum.model.document import ParsedDocument
from vademecum.testing import conformance_chunker, conformance_parser
from vademecum.testing.embedders import HashEmbedder

SEED = 20260
QUICK = 120
TOKENS = 60
WALL_SECONDS = 40.0
TOKENIZER = HashEmbedder()
CHUNKER = StructureChunker(TOKENS)
GOOD = b"# Doors\n\nThe doors open at noon.\n"
# Where a file that was not kept in would be found.
OUTSIDE = ("/", "/tmp", "~", ".", "..")


def sampled() -> list[Sample]:
    """Some files of each family, the same ones in each run."""
    files = list(corpus(SEED))
    kinds = {
        sample.name.split("-", 2)[2]: sample for sample in Random(SEED).sample(files, len(files))
    }
    chosen = {sample.name for sample in Random(SEED).sample(list(kinds.values()), QUICK)}
    return [sample for sample in files if sample.name in chosen]


@pytest.fixture
async def parser() -> AsyncIterator[ChildParser]:
    made = ChildParser(wall_seconds=WALL_SECONDS)
    yield made
    await made.aclose()


async def verdict(parser: ChildParser, sample: Sample) -> tuple[str, ParsedDocument | None]:
    """Return what became of the file: a word or a code; any other error is a failure."""
    try:
        parsed = await parser.parse(sample.content, sample.uri)
    except DocumentUnreadable as error:
        return (error.code if error.message and error.hint else "a refusal without words"), None
    return ("partial" if parsed.unread else "parsed"), parsed


def wrong(document: ParsedDocument) -> list[str]:
    """Everything that is wrong with what a reader gave, and with its chunks."""
    found = conformance_parser.faults(document)
    spans = CHUNKER.split(document, TOKENIZER)
    cut = conformance_chunker.faults(document, spans, TOKENIZER, tokens=TOKENS)
    # A reader may end a block inside a cluster, as where a sheet's cell begins with a mark.
    return [*found, *(fault for fault in cut if "cluster" not in fault)]


async def examined(parser: ChildParser, sample: Sample) -> tuple[str, list[str]]:
    """Return the verdict on a file and all that went wrong with it or beside it."""
    started = time.monotonic()
    good, (first, document), (second, _) = await asyncio.gather(
        parser.parse(GOOD, "doors.md"), verdict(parser, sample), verdict(parser, sample)
    )
    found = [] if good.text == GOOD.decode() else ["a neighbour was harmed"]
    if time.monotonic() - started > WALL_SECONDS + 5:
        found.append("it passed the limit of time")
    if first == "a refusal without words":
        found.append(first)
    if first != second:
        found.append(f"two verdicts: {first} and {second}")
    if not await _no_child(parser):
        found.append("a child is left")
    if document is not None:
        found += wrong(document)
    return first, found


async def run(parser: ChildParser, files: list[Sample]) -> dict[str, int]:
    """Examine all files; return how many had each verdict."""
    bad: dict[str, list[str]] = {}
    verdicts: dict[str, int] = {}
    for sample in files:
        word, found = await examined(parser, sample)
        verdicts[word] = verdicts.get(word, 0) + 1
        if found:
            bad[sample.name] = found[:3]
    assert bad == {}
    assert [path for path in OUTSIDE if (Path(path).expanduser() / ESCAPED).exists()] == []
    return verdicts


async def test_a_sample_of_every_family_ends_in_verdicts(parser: ChildParser) -> None:
    files = sampled()
    assert len(files) == QUICK
    assert {sample.family for sample in files} == set(FAMILIES)
    verdicts = await run(parser, files)
    print(verdicts)
    assert {"parsed", "media-type-unknown"} <= set(verdicts)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_thousand_files_end_in_verdicts(family: str, parser: ChildParser) -> None:
    files = [sample for sample in corpus(SEED) if sample.family == family]
    assert len(files) == FAMILIES[family][1]
    print(family, await run(parser, files))


def test_a_seed_makes_the_same_files() -> None:
    one, again, other = corpus(7), corpus(7), corpus(8)
    for _ in range(100):
        first = next(one)
        assert first == next(again)
        next(other)
    assert next(one) != next(other)
    assert sum(count for _, count in FAMILIES.values()) == 1_000


async def test_the_oracle_sees_what_is_wrong() -> None:
    def document(text: str, **changed: object) -> ParsedDocument:
        parts = {"blocks": (), "page_starts": (), "title": "", "media_type": "", "warnings": ()}
        return ParsedDocument(text=text, **{**parts, **changed})  # type: ignore[arg-type]

    assert wrong(document("words")) == []
    assert wrong(document("a\0")) == ["a text holds a NUL or a lone surrogate"]
    assert "the text is not composed" in wrong(document("e\u0301"))
    assert len(wrong(document("words", page_starts=(9,)))) == 1


async def _no_child(parser: ChildParser) -> bool:
    """Return whether the nursery's last child ends within two seconds."""
    assert parser._nursery is not None
    own = Path(f"/proc/{parser._nursery.pid}/task/{parser._nursery.pid}/children")
    for _ in range(100):
        with suppress(FileNotFoundError):
            if not own.read_text().split():
                return True
        await asyncio.sleep(0.02)
    return False
