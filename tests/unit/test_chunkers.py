"""Where does each chunker cut, and how long does it take?"""

import dataclasses
import time

import pytest

from vademecum.adapters.chunkers.cut import first_blank
from vademecum.adapters.chunkers.fixed import FixedChunker
from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.recursive import RecursiveChunker
from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.compose import Composer
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.model.chunk import Span
from vademecum.model.document import Block, BlockKind, ParsedDocument
from vademecum.ports.chunker import Chunker
from vademecum.testing.conformance_chunker import faults
from vademecum.testing.embedders import HashEmbedder

TOKENIZER = HashEmbedder()


def parsed(text: str, kind: str = "text") -> ParsedDocument:
    read = parse_markdown if kind == "markdown" else parse_text
    return read(text.encode(), "a", f"text/{kind}")


def split(chunker: Chunker, text: str, tokens: int, kind: str = "text") -> list[str]:
    """Return the chunks of a text, after checking everything that must always hold."""
    return shown(chunker, parsed(text, kind), tokens)


def shown(chunker: Chunker, document: ParsedDocument, tokens: int) -> list[str]:
    overlaps = isinstance(chunker, FixedChunker)
    spans = chunker.split(document, TOKENIZER)
    assert faults(document, spans, TOKENIZER, tokens=tokens, overlaps=overlaps) == []
    return [document.text[span.start : span.end] for span in spans]


def by_structure(text: str, tokens: int, kind: str = "text") -> list[str]:
    return split(StructureChunker(tokens), text, tokens, kind)


def test_blocks_of_one_section_are_packed() -> None:
    text = "# One\n\nA b.\n\nC d.\n\n# Two\n\nE f.\n"
    assert by_structure(text, 20, "markdown") == ["# One\n\nA b.\n\nC d.", "# Two\n\nE f."]


def test_headings_of_one_name_begin_a_chunk_each() -> None:
    text = "# Price\n\nTen.\n\n# Price\n\nTwenty.\n"
    assert by_structure(text, 40, "markdown") == ["# Price\n\nTen.", "# Price\n\nTwenty."]


def test_a_heading_is_never_left_alone_at_an_end() -> None:
    text = "# One\n\n## Deep\n\nWords of the section here.\n"
    assert by_structure(text, 20, "markdown") == [text.strip()]
    long = "# One\n\nFirst words of a long one. Second words of a long one. Third of them."
    assert by_structure(long, 12, "markdown")[0] == "# One\n\nFirst words of a long one."


def test_a_large_block_is_cut_between_sentences() -> None:
    text = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert by_structure(text, 8) == ["One two three four.", "Five six seven eight.",
                                     "Nine ten eleven twelve."]  # fmt: skip


def test_a_block_that_fits_alone_is_not_cut() -> None:
    text = "One two three four. Five six.\n\nSeven eight nine. Ten eleven twelve."
    assert by_structure(text, 10) == text.split("\n\n")


def test_a_large_list_is_cut_between_items() -> None:
    text = "\n".join(f"- item {n}\n  goes on and on here" for n in range(9))
    for chunk in by_structure(text, 18, "markdown"):
        assert chunk.startswith("- item")
        assert chunk.endswith("goes on and on here")


@pytest.mark.parametrize("size", [30, 60])
def test_code_is_whole_where_it_fits_else_cut_between_lines(size: int) -> None:
    lines = "\n".join(f"value_{n} = {n}" for n in range(8))
    text = f"Words before it. More words before it, and more.\n\n```python\n{lines}\n```\n"
    chunks = by_structure(text, size, "markdown")
    fence = f"```python\n{lines}\n```"
    assert any(fence in chunk for chunk in chunks) == (TOKENIZER.count(fence) <= size)
    rows = {*fence.split("\n"), text.split("\n", maxsplit=1)[0]}
    assert all(line in rows for chunk in chunks for line in chunk.split("\n") if line)


def test_code_is_not_cut_for_the_headings_above_it() -> None:
    text = "# One two three four\n\n```\na b c\nd e f\n```\n"
    assert by_structure(text, 13, "markdown") == text.strip().split("\n\n")


@pytest.mark.parametrize("header_rows", [0, 1, 2])
def test_column_names_go_with_each_chunk_of_their_table(header_rows: int) -> None:
    document = Composer()
    document.heading("Gates", 1)
    names = [["gate", "time"], ["", "(local)"]][:header_rows]
    document.table([*names, *([f"gate {n}", f"opens at {n}"] for n in range(20))],
                   header_rows=header_rows)  # fmt: skip
    document.paragraph("Words that come after the table.")
    made = document.document(title="", media_type="text/html")
    spans = StructureChunker(60).split(made, TOKENIZER)
    assert len(spans) >= 3
    table = made.blocks[1]
    for span in spans:
        inside = table.header_end <= span.start < table.end
        expected = made.text[table.start : table.header_end] if inside and header_rows else ""
        assert span.header == expected
        for line in made.text[span.start : span.end].split("\n"):
            assert not line.startswith("|") or line.endswith("|")


def test_a_row_is_not_cut_for_the_headings_above_it() -> None:
    document = Composer()
    document.heading("One two three", 1)
    document.table([["a", "b", "c"], ["d", "e", "f"]])
    made = document.document(title="", media_type="text/html")
    assert shown(StructureChunker(8), made, 8)[:2] == ["One two three", "| a | b | c |"]


def test_column_names_of_over_half_a_chunk_are_not_repeated() -> None:
    document = Composer()
    document.table([["word"] * 8, *([str(n)] * 8 for n in range(9))])
    made = document.document(title="", media_type="text/html")
    assert {span.header for span in StructureChunker(60).split(made, TOKENIZER)} == {""}


def test_a_heading_path_is_that_of_the_whole_chunk() -> None:
    text = "# A\n\n## B\n\nOne two.\n\n## C\n\nThree four.\n\n# D\n\nFive."
    document = parsed(text, "markdown")

    def paths(chunker: Chunker) -> list[tuple[str, ...]]:
        return [span.heading_path for span in chunker.split(document, TOKENIZER)]

    assert paths(StructureChunker(50)) == [("A", "B"), ("A", "C"), ("D",)]
    assert paths(RecursiveChunker(50)) == [()]
    assert paths(RecursiveChunker(13)) == [("A",), ()]


def test_recursive_takes_the_coarsest_separator_that_fills_a_quarter() -> None:
    text = "One.\n\nTwo three four five six. Seven eight nine ten eleven twelve.\nEnd of it."
    assert split(RecursiveChunker(12), text, 12) == [
        "One.\n\nTwo three four five six.", "Seven eight nine ten eleven twelve.\nEnd of it."
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "chunks"), [(799, 1), (800, 1), (801, 2), (1450, 2), (1451, 3)])
def test_fixed_steps(words: int, chunks: int) -> None:
    text = " ".join(["word"] * words)
    spans = FixedChunker().split(parsed(text), TOKENIZER)
    assert len(spans) == chunks
    assert [span.start for span in spans] == [650 * 5 * n for n in range(chunks)]
    assert spans[-1].end == len(text)


def test_fixed_spares_words_near_a_cut() -> None:
    text = " ".join(f"immeasurable{n:04}" for n in range(300))
    for chunk in split(FixedChunker(80, 20), text, 80):
        assert chunk.startswith("imm")
        assert len(chunk.split()[-1]) == 16


TEXTS = {
    "letters": "a" * 1_500_000,
    "words": "word " * 300_000,
    "sentences": "One sentence. " * 100_000,
    "han": "票" * 500_000,
    "lines": "\n".join(["line"] * 300_000),
    "paragraphs": "\n\n".join(["line"] * 200_000),
    "marks": "a" + "\u0301" * 800_000,
    "emoji": "👩\u200d👩\u200d👧\u200d👦" * 60_000,
    "blanks": "a" + " " * 1_500_000 + "b",
}


# With how many times the seconds of structure each may take: squares would be hundreds. Those that
# may take more get so much less text where it is long.
by_blocks = pytest.mark.parametrize(
    ("chunker", "times"),
    [(StructureChunker(), 1), (SemanticChunker(), 4), (ParentChunker(), 3)],
    ids=lambda value: type(value).__name__,
)


@pytest.mark.parametrize(
    ("name", "chunker", "most"),
    [
        *((name, StructureChunker(), 8) for name in TEXTS),
        # Each sentence is looked at by itself, and embedding it takes a thousand times that; the
        # tokens of sections are counted once more than those of their chunks.
        *((name, SemanticChunker(), 40) for name in TEXTS),
        *((name, ParentChunker(), 12) for name in TEXTS),
        *((name, RecursiveChunker(), 8) for name in ("words", "han", "marks")),
        *((name, FixedChunker(), 8) for name in ("letters", "emoji", "blanks")),
    ],
    ids=lambda value: str(value) if isinstance(value, str | int) else type(value).__name__,
)
def test_any_text_takes_a_few_times_what_their_tokens_take(
    name: str, chunker: Chunker, most: int
) -> None:
    document = parsed(TEXTS[name])
    passes = _seconds(lambda: TOKENIZER.ends(document.text))
    spans: list[Span] = []
    seconds = _seconds(lambda: spans.extend(chunker.split(document, TOKENIZER)))
    assert spans[-1].end == len(document.text.rstrip())
    assert seconds < max(0.6, most * passes)


@by_blocks
@pytest.mark.parametrize("kind", ["list", "code", "table", "paragraph"])
@pytest.mark.parametrize("piece", ["\n", "\n ", "- \n", "x\n\n\n", " .", "\n\u3000"])
def test_blanks_in_any_block_take_no_square_of_time(
    kind: BlockKind, piece: str, chunker: Chunker, times: int
) -> None:
    text = "a" + piece * (300_000 // times) + "b"
    block = Block(kind=kind, start=0, end=len(text), level=0, heading_path=())
    document = dataclasses.replace(parsed("a"), text=text, blocks=(block,))
    assert _seconds(lambda: chunker.split(document, TOKENIZER)) < 3


@by_blocks
def test_a_million_headings_take_seconds(chunker: Chunker, times: int) -> None:
    text = "\n".join(["name"] * (1_000_000 // times))
    blocks = tuple(
        Block(kind="heading", start=at, end=at + 4, level=1, heading_path=(f"name {at}",))
        for at in range(0, len(text), 5)
    )
    document = dataclasses.replace(parsed("a"), text=text, blocks=blocks)
    assert _seconds(lambda: chunker.split(document, TOKENIZER)) < 6


@by_blocks
def test_time_grows_with_the_text_and_not_with_its_square(chunker: Chunker, times: int) -> None:
    def seconds(size: int) -> float:
        document = parsed("foo  bar,baz " * size)
        return _seconds(lambda: chunker.split(document, TOKENIZER))

    seconds(1_000)
    small, large = seconds(10_000), seconds(80_000)
    assert large < 8 * 3 * max(small, 0.05 * times)


def _seconds(work: object) -> float:
    assert callable(work)
    started = time.process_time()
    work()
    return time.process_time() - started


def test_an_overlap_begins_at_no_blank_that_carries_a_mark() -> None:
    """U+0600 takes what follows into its cluster, and U+0301 stands on the blank before it."""
    text = "one two, \u0600 \u0301 three"
    inside = text.index("\u0600") + 1
    assert text[inside] == " "
    assert first_blank(text, 0, inside, len(text)) == text.index(" three")
    assert first_blank(text, 0, 0, len(text)) == text.index(" two")
    assert first_blank(text, 0, inside, inside + 2) is None
