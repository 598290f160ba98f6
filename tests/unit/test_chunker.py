"""Are chunks exact, complete, within their limit, and quickly made, whatever the text?"""

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.testing.embedders import HashEmbedder

TOKENIZER = HashEmbedder()
_CLUSTER = regex.compile(r"\X")


def parsed(text: str, kind: str = "text") -> ParsedDocument:
    read = parse_markdown if kind == "markdown" else parse_text
    return read(text.encode(), "a", f"text/{kind}")


def faults(document: ParsedDocument, spans: list[Span], tokens: int) -> list[str]:
    """Everything that is wrong with the spans; an empty list is what every text must give."""
    text = document.text
    found = []
    starts = [span.start for span in spans]
    if starts != sorted(set(starts)):
        found.append("starts do not increase")
    if any(a.end > b.start for a, b in pairwise(spans)):
        found.append("spans overlap")
    covered = bytearray(len(text))
    for span in spans:
        covered[span.start : span.end] = b"\x01" * (span.end - span.start)
        piece = text[span.start : span.end]
        if not piece.strip():
            found.append(f"blank span {span}")
        if TOKENIZER.count(piece) > tokens and len(_CLUSTER.findall(piece)) > 1:
            found.append(f"{TOKENIZER.count(piece)} tokens in {span}")
    lost = [i for i, letter in enumerate(text) if not covered[i] and not letter.isspace()]
    if lost:
        found.append(f"lost {text[lost[0]]!r} at {lost[0]}")
    inside = {
        i
        for match in _CLUSTER.finditer(text)
        for i in range(match.start() + 1, match.end())
        if not text[match.start()].isspace()
    }
    found += [
        f"a cluster is cut at {edge}"
        for span in spans
        for edge in (span.start, span.end)
        if edge in inside
    ]
    return found


def split(text: str, tokens: int = 8, kind: str = "text") -> list[str]:
    """Return the chunks of a text, after checking everything that must always hold."""
    document = parsed(text, kind)
    spans = StructureChunker(tokens).split(document, TOKENIZER)
    assert faults(document, spans, tokens) == []
    return [document.text[span.start : span.end] for span in spans]


LETTERS = st.sampled_from(
    [
        *list("ab é́\u200d️\n\t.!?।。,#|->*`\u3000\xa0"),
        "नेपाली",
        "👩\u200d👩\u200d👧",
        "🇧🇷",
        "票",
        "\n\n",
        "# ",
        "- ",
        "\r\n",
        "xxxxxxxxx",
        "1. ",
        "한",
    ]
)
TEXTS = st.lists(LETTERS, max_size=120).map("".join)


@settings(max_examples=400, deadline=None)
@example(text="👩\u200d👩।\u200dxxxxxxxxx yyyyyyyy zzzz", tokens=8, kind="text")
@given(text=TEXTS, tokens=st.integers(8, 24), kind=st.sampled_from(["text", "markdown"]))
def test_any_text(text: str, tokens: int, kind: str) -> None:
    document = parsed(text, kind)
    assert faults(document, StructureChunker(tokens).split(document, TOKENIZER), tokens) == []


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=300), tokens=st.integers(8, 24))
def test_any_characters(text: str, tokens: int) -> None:
    document = parsed(text.encode(errors="ignore").decode())
    assert faults(document, StructureChunker(tokens).split(document, TOKENIZER), tokens) == []


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([(0, 3)], "lost 'd' at 4"),
        ([(0, 3), (4, 7), (4, 7)], "starts do not increase"),
        ([(0, 5), (4, 7)], "spans overlap"),
        ([(0, 3), (3, 4), (4, 7)], "blank span"),
    ],
)
def test_the_check_sees_faults(spans: list[tuple[int, int]], fault: str) -> None:
    made = [Span(start=start, end=end, heading_path=()) for start, end in spans]
    assert any(fault in each for each in faults(parsed("abc def"), made, 8))


def test_the_check_sees_a_cut_cluster_and_a_passed_limit() -> None:
    cut = [Span(start=0, end=1, heading_path=()), Span(start=1, end=2, heading_path=())]
    assert "a cluster is cut at 1" in faults(parsed("x\u0301"), cut, 8)
    whole = [Span(start=0, end=17, heading_path=())]
    assert "9 tokens" in faults(parsed("a b c d e f g h i"), whole, 8)[0]


def test_blocks_of_one_section_are_packed() -> None:
    text = "# One\n\nA b.\n\nC d.\n\n# Two\n\nE f.\n"
    assert split(text, 20, "markdown") == ["# One\n\nA b.\n\nC d.", "# Two\n\nE f."]


def test_a_heading_is_never_left_alone_at_an_end() -> None:
    text = "# One\n\n## Deep\n\nWords of the section here.\n"
    assert split(text, 20, "markdown") == [text.strip()]


def test_a_large_block_is_cut_between_sentences() -> None:
    text = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert split(text, 8) == ["One two three four.", "Five six seven eight.",
                              "Nine ten eleven twelve."]  # fmt: skip


def test_a_table_is_cut_between_rows() -> None:
    rows = "\n".join(f"| gate {n} | opens at {n} |" for n in range(20))
    text = f"| gate | time |\n|---|---|\n{rows}\n"
    for chunk in split(text, 30, "markdown"):
        assert all(line.startswith("|") and line.endswith("|") for line in chunk.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5_000_000,
        "word " * 1_000_000,
        "One sentence. " * 350_000,
        "票" * 1_600_000,
        "\n".join(["line"] * 1_000_000),
        "\n\n".join(["line"] * 700_000),
    ],
    ids=["letters", "words", "sentences", "han", "lines", "paragraphs"],
)
def test_five_megabytes_take_seconds(text: str) -> None:
    document = parsed(text)
    started = time.process_time()
    spans = StructureChunker(200).split(document, TOKENIZER)
    seconds = time.process_time() - started
    assert spans[-1].end == len(text.rstrip())
    assert seconds < 20


def test_time_grows_with_the_text_and_not_with_its_square() -> None:
    def seconds(size: int) -> float:
        document = parsed("foo  bar,baz " * size)
        started = time.process_time()
        StructureChunker(200).split(document, TOKENIZER)
        return time.process_time() - started

    seconds(1_000)
    small, large = seconds(10_000), seconds(80_000)
    assert large < 8 * 3 * max(small, 0.05)
