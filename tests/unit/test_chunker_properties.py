"""Are chunks exact, complete and within their limit, whatever the document and the chunker?"""

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
from vademecum.testing.conformance_chunker import divided, faults, section_faults, table_faults
from vademecum.testing.embedders import HashEmbedder
from vademecum.text.normalise import clean

TOKENIZER = HashEmbedder()
CHUNKERS: dict[str, Callable[[int], Chunker]] = {
    "structure": StructureChunker,
    "recursive": RecursiveChunker,
    "fixed": lambda tokens: FixedChunker(tokens, 0),
    "overlapping": lambda tokens: FixedChunker(tokens, tokens // 3),
    "nearly the same": lambda tokens: FixedChunker(tokens, tokens - 1),
    "semantic": SemanticChunker,
    "parent": ParentChunker,
}
BY_BLOCKS = ("structure", "semantic", "parent")
PIECES = (
    *"ab é́\u200d️\x1f\n\t.!?।。,#|->*`\u3000\xa0\u200b\u0600\ufdfa",
    "नेपाली ",
    "क्षेत्र",
    "👩\u200d👩\u200d👧\u200d👦",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "🇧🇷",
    "票价。",
    "ไทย",
    "עברית ",
    "مرحبا؟ ",
    "\u202edlrow\u202c",
    "한국어 ",
    "e\u0301\u0323",
    "\n\n",
    "# ",
    "- ",
    "\r\n",
    "1. ",
    "xxxxxxxxxxxxxxxxxxxx",
    "One sentence. ",
    "| a | b |\n",
    "<|endoftext|>",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)
SIZES = st.integers(8, 48)


def parsed(text: str, kind: str = "text") -> ParsedDocument:
    read = parse_markdown if kind == "markdown" else parse_text
    return read(text.encode(errors="ignore"), "a", f"text/{kind}")


@st.composite
def composed(draw: st.DrawFn) -> ParsedDocument:
    """A document as readers put it together."""
    document = Composer()
    for _ in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["heading", "paragraph", "item", "code", "quote", "table"]))
        if kind == "heading":
            document.heading(draw(TEXTS), draw(st.integers(1, 6)))
        elif kind == "table":
            row = st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=4)
            rows = draw(st.lists(row, max_size=12))
            document.table(rows, header_rows=draw(st.integers(0, 2)))
        else:
            getattr(document, kind)(draw(TEXTS))
    return document.document(title="", media_type="text/html")


@st.composite
def scattered(draw: st.DrawFn) -> ParsedDocument:
    """A document whose blocks lie anywhere, with text between them, cutting what they like."""
    text = clean(draw(TEXTS))
    edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12, unique=True)))
    kinds = st.sampled_from(["heading", "paragraph", "list", "code", "quote", "table"])
    blocks = tuple(
        Block(
            kind=cast("BlockKind", draw(kinds)),
            start=start,
            end=end,
            level=0,
            heading_path=tuple(draw(st.lists(st.sampled_from("xyz"), max_size=2))),
        )
        for start, end in zip(edges[::2], edges[1::2], strict=False)
    )
    return ParsedDocument(
        text=text, blocks=blocks, page_starts=(), title="", media_type="", warnings=()
    )


DOCUMENTS = st.one_of(
    TEXTS.map(parsed),
    TEXTS.map(lambda text: parsed(text, "markdown")),
    st.text(max_size=300).map(parsed),
    composed(),
)


def check(document: ParsedDocument, name: str, tokens: int) -> None:
    spans = divided(CHUNKERS[name](tokens), document, TOKENIZER, HashEmbedder())
    overlaps = name in ("overlapping", "nearly the same")
    assert faults(document, spans, TOKENIZER, tokens=tokens, overlaps=overlaps) == []
    if name in BY_BLOCKS:
        assert table_faults(document, spans, TOKENIZER, tokens=tokens) == []
    if name == "parent":
        assert section_faults(document, spans, TOKENIZER, tokens=4 * tokens) == []


# The row fits alone, and not below the column names that its chunk repeats.
NAMED_COLUMNS = ParsedDocument(
    text="| a |  |  |  |\n| --- | --- | --- | --- |\n| a | aa🇧🇷a,a | aa\\| a \\| b \\| | aa.a |",
    blocks=(
        Block(kind="table", start=0, end=80, level=0, heading_path=(), header_end=40),
    ),
    page_starts=(), title="", media_type="text/html", warnings=(), language="", metadata={},
    unread=(),
)  # fmt: skip


@pytest.mark.parametrize("name", CHUNKERS)
@settings(max_examples=300, deadline=None)
@example(document=parsed("👩\u200d👩।\u200dxxxxxxxxx yyyyyyyy zzzz"), tokens=8)
@example(document=parsed("a" + "\u0301" * 5_000), tokens=8)
@example(document=parsed("a" + " " * 5_000 + "b"), tokens=8)
@example(document=parsed("\ufdfa" * 50), tokens=8)
@example(document=NAMED_COLUMNS, tokens=46)
# Blanks that are no blanks to every tokenizer, between two sentences.
@example(document=parsed("'0.\n" + "\x1f" * 9 + "5"), tokens=8)
@given(document=DOCUMENTS, tokens=SIZES)
def test_any_document(name: str, document: ParsedDocument, tokens: int) -> None:
    check(document, name, tokens)


@pytest.mark.parametrize("name", BY_BLOCKS)
@settings(max_examples=300, deadline=None)
@given(document=scattered(), tokens=SIZES)
def test_blocks_that_a_reader_placed_badly_lose_nothing(
    name: str, document: ParsedDocument, tokens: int
) -> None:
    spans = divided(CHUNKERS[name](tokens), document, TOKENIZER, HashEmbedder())
    # A reader's block may itself begin inside a cluster.
    found = faults(document, spans, TOKENIZER, tokens=tokens)
    assert [fault for fault in found if "cluster" not in fault] == []


def _made(*spans: tuple[int, int], header: str = "") -> list[Span]:
    return [Span(start=a, end=b, heading_path=(), header=header) for a, b in spans]


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([(0, 3)], "lost 'def' before 7"),
        ([(4, 7)], "lost 'abc' before 4"),
        ([(0, 3), (4, 7), (4, 7)], "starts do not increase"),
        ([(0, 5), (4, 7)], "spans overlap"),
        ([(0, 7), (4, 7)], "lies inside"),
        ([(0, 3), (3, 4), (4, 7)], "blanks at the ends"),
        ([(0, 4), (4, 7)], "blanks at the ends"),
    ],
)
def test_the_check_sees_faults(spans: list[tuple[int, int]], fault: str) -> None:
    found = faults(parsed("abc def"), _made(*spans), TOKENIZER, tokens=8)
    assert any(fault in each for each in found)


def test_the_check_sees_a_cut_cluster_and_a_passed_limit() -> None:
    cut = faults(parsed("x\u0301"), _made((0, 1), (1, 2)), TOKENIZER, tokens=8)
    assert "a cluster is cut at 1" in cut
    whole = faults(parsed("a b c d e f g h i"), _made((0, 17)), TOKENIZER, tokens=8)
    assert "9 tokens" in whole[0]


def test_the_check_sees_a_cut_row_and_a_missing_header() -> None:
    text = "| a | b |\n|---|---|\n| one | two |\n| three | four |"
    document = parsed(text, "markdown")
    cut = _made((0, 25), (26, len(text)))
    found = table_faults(document, cut, TOKENIZER, tokens=60)
    assert "the row '| one | two |' is cut" in found
    assert any("has not the header '| a | b |\\n|---|---|'" in fault for fault in found)
    repeated = _made((0, len(text)), header="| a | b |\n|---|---|")
    assert "has not the header ''" in table_faults(document, repeated, TOKENIZER, tokens=60)[0]
