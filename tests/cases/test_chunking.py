"""Faults of other systems' chunkers, each under the number of its case."""

import time
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from vademecum.adapters.chunkers.choose import ChunkingRule, ChunkingRules
from vademecum.adapters.chunkers.fixed import FixedChunker
from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.recursive import RecursiveChunker
from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.errors import InvalidSetting
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.ports.chunker import Chunker
from vademecum.settings import load
from vademecum.testing.conformance_chunker import divided as spans_of
from vademecum.testing.conformance_chunker import faults, table_faults
from vademecum.testing.embedders import HashEmbedder

TOKENIZER = HashEmbedder()
Make = Callable[[int], Chunker]


def overlapping(tokens: int) -> Chunker:
    return FixedChunker(tokens, tokens // 5)


def parted(tokens: int) -> Chunker:
    return FixedChunker(tokens, 0)


LOSSLESS = [StructureChunker, RecursiveChunker, parted, SemanticChunker, ParentChunker]
EVERY = [*LOSSLESS, overlapping]
every = pytest.mark.parametrize("make", EVERY)
lossless = pytest.mark.parametrize("make", LOSSLESS)


def parsed(text: str, kind: str = "text") -> ParsedDocument:
    read = parse_markdown if kind == "markdown" else parse_text
    return read(text.encode(), "a", f"text/{kind}")


def divided(chunker: Chunker, text: str, tokens: int, kind: str = "text") -> list[str]:
    """Return the chunks, after checking what must hold for every text."""
    document = parsed(text, kind)
    spans = spans_of(chunker, document, TOKENIZER, HashEmbedder())
    overlaps = isinstance(chunker, FixedChunker)
    assert faults(document, spans, TOKENIZER, tokens=tokens, overlaps=overlaps) == []
    return [document.text[span.start : span.end] for span in spans]


@pytest.mark.parametrize("size", ["0", "7", "-1", "100000", "many"])
def test_ch_01_a_size_that_cannot_be_is_refused_when_it_is_read(size: str) -> None:
    with pytest.raises(InvalidSetting, match=r"chunking\.size"):
        load(config=None, flags={}, environment={"VADE_CHUNKING__SIZE": size, "VADE_HOME": "/x"})
    with pytest.raises(ValueError, match="at least 8"):
        StructureChunker(7)


@pytest.mark.parametrize(
    ("overlap", "right"), [(99, True), (100, False), (150, False), (-1, False)]
)
def test_ch_01_an_overlap_as_large_as_a_chunk_is_refused(overlap: int, right: bool) -> None:
    rule = ChunkingRule(strategy="fixed", size=100, overlap=overlap)
    if right:
        assert len(divided(FixedChunker(100, overlap), "a" * 5_000, 100)) > 6
        ChunkingRules(rule, window=400)
        return
    with pytest.raises(ValueError, match="not below the size"):
        FixedChunker(100, overlap)
    for rules in (
        lambda: ChunkingRules(rule, window=400),
        lambda: ChunkingRules(ChunkingRule(), collections={"faq": rule}, window=400),
        lambda: ChunkingRules(ChunkingRule(), types={"pdf": rule}, window=400),
    ):
        with pytest.raises(InvalidSetting, match=r"overlap is .*\d, with chunks of 100 tokens"):
            rules()


@lossless
def test_ch_01_letters_without_end_end(make: Make) -> None:
    started = time.process_time()
    assert "".join(divided(make(100), "a" * 5_000, 100)) == "a" * 5_000
    assert time.process_time() - started < 1


@every
def test_ch_02_the_last_chunk_stops_at_the_end(make: Make) -> None:
    text = "abcdefg " * 131 + "ab"
    assert text.endswith(divided(make(100), text, 100)[-1])
    spans = FixedChunker(100, 20).split(parsed("a b " * 525), TOKENIZER)
    assert spans[-1].end == 4 * 525 - 1
    assert len(spans) == 13


@every
def test_ch_04_a_text_that_fits_is_one_chunk(make: Make) -> None:
    text = " ".join(["word"] * 200)
    assert divided(make(200), text, 200) == [text]
    assert divided(FixedChunker(800, 150), " ".join(["word"] * 800), 800) == [
        "word " * 799 + "word"
    ]


def test_ch_05_sentences_longer_than_the_step_end() -> None:
    text = "One two three four five six seven eight nine ten. " * 40
    assert len(divided(FixedChunker(20, 15), text, 20)) > 40


@every
def test_ch_06_repeated_text_has_places_of_its_own(make: Make) -> None:
    text = "tick tock " * 30
    assert len(divided(make(9), text, 9)) > 5
    assert divided(FixedChunker(9, 4), "tick tock tick tock tick tock", 9)
    spans = FixedChunker(9, 4).split(parsed(text), TOKENIZER)
    assert len({(span.start, span.end) for span in spans}) == len(spans)


def test_ch_07_an_overlap_in_tokens_has_offsets_in_characters() -> None:
    text = " ".join(f"wörd{n}" for n in range(300))
    document = parsed(text)
    spans = FixedChunker(20, 10).split(document, TOKENIZER)
    assert faults(document, spans, TOKENIZER, tokens=20, overlaps=True) == []
    shared = [text[b.start : a.end] for a, b in pairwise(spans)]
    assert all(0 < TOKENIZER.count(piece) <= 10 for piece in shared)


@every
def test_ch_08_a_chunk_is_an_exact_slice(make: Make) -> None:
    text = "A one.\n\n\tB two.  C three."
    for tokens in (8, 9, 20):
        assert all(chunk in text for chunk in divided(make(tokens), text, tokens))


@every
def test_ch_09_the_last_sentence_is_there(make: Make) -> None:
    assert "zebra" in divided(make(8), "One. Two. Three. Four. The last is a zebra.", 8)[-1]
    assert divided(make(8), "Only a zebra.", 8) == ["Only a zebra."]


def test_ch_11_headings_without_their_marks() -> None:
    text = (
        "## Refunds ##\n\nOne.\n\n# C#\n\nTwo.\n\nUnderlined\n----------\n\nThree.\n\nAlso\n====\n"
    )
    names = [b.heading_path[-1] for b in parsed(text, "markdown").blocks if b.kind == "heading"]
    assert names == ["Refunds", "C#", "Underlined", "Also"]


def _table(rows: int, names: Sequence[str]) -> str:
    lines = [*names, *(f"| gate {n} | opens at {n} o'clock |" for n in range(rows))]
    return "\n".join(lines)


@pytest.mark.parametrize("make", [StructureChunker, SemanticChunker, ParentChunker])
def test_ch_12_a_table_is_cut_between_rows_and_keeps_its_names(make: Make) -> None:
    names = ["| gate | time |", "|------|------|"]
    text = f"# Gates\n\nWhen the gates open.\n\n{_table(40, names)}\n\nWords after it.\n"
    document = parsed(text, "markdown")
    size = TOKENIZER.count(_table(10, names))
    spans = spans_of(make(size), document, TOKENIZER, HashEmbedder())
    assert faults(document, spans, TOKENIZER, tokens=size) == []
    assert table_faults(document, spans, TOKENIZER, tokens=size) == []
    in_table = [span for span in spans if span.header]
    assert len(in_table) >= 3
    assert {span.header for span in in_table} == {"\n".join(names)}
    whole = [text[span.start : span.end] + span.header for span in spans]
    assert sum("When the gates open" in chunk for chunk in whole) == 1
    for span in in_table:
        rows = text[span.start : span.end].split("\n")
        assert all(row.count("|") == 3 for row in rows if "gate " in row)


@lossless
@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦" * 300, "नेपाली " * 500, "e\u0301" * 2000, "한국어" * 900, "🇧🇷🇳🇵" * 300]
)
def test_ch_13_no_letter_is_cut(text: str, make: Make) -> None:
    text = unicodedata.normalize("NFC", text)
    chunks = divided(make(50), text, 50)
    assert len(chunks) > 3
    assert "".join(chunks).replace(" ", "") == text.replace(" ", "")
    for chunk in chunks:
        assert "\ufffd" not in chunk
        assert not unicodedata.category(chunk[0]).startswith("M")
        assert chunk[0] != "\u200d"


@every
@pytest.mark.parametrize(
    ("text", "tokens"),
    [("a" * 150_000, 200), ('{"k": [' + '"value", ' * 110_000 + '"end"]}', 200),
     ("foo  bar baz " * 3, 8)],
    ids=["letters", "json", "blanks"],
)  # fmt: skip
def test_ch_14_a_line_without_an_end_is_cut(text: str, tokens: int, make: Make) -> None:
    started = time.process_time()
    spans = make(tokens).split(parsed(text), TOKENIZER)  # without an embedder's time
    assert time.process_time() - started < 2
    assert len(spans) > 1
    assert max(TOKENIZER.count(text[span.start : span.end]) for span in spans) <= tokens


@pytest.mark.parametrize(
    ("make", "size"),
    [(StructureChunker, 5_000_000), (SemanticChunker, 1_250_000), (ParentChunker, 1_250_000)],
)
@pytest.mark.parametrize("piece", ["a", '"value", '], ids=["letters", "json"])
def test_ch_14_five_megabytes_take_two_seconds(piece: str, make: Make, size: int) -> None:
    """Those two count what they put together once more, and take a quarter of it here."""
    text = piece * (size // len(piece))
    document = parsed(text)
    started = time.process_time()
    TOKENIZER.ends(text)
    passes = time.process_time() - started
    started = time.process_time()
    make(200).split(document, TOKENIZER)
    # On a machine that is busy or slow, a few times what it takes to find the tokens.
    most = 4 if make is StructureChunker else 8
    assert time.process_time() - started < max(2, most * passes)


@pytest.mark.parametrize("chunker", [RecursiveChunker(3), FixedChunker(3, 0), FixedChunker(3, 2)])
def test_ch_14_a_limit_of_three(chunker: Chunker) -> None:
    assert divided(chunker, "foo  bar baz", 3) == ["foo  bar baz"]
    assert divided(chunker, "foo  bar baz more", 3)[0] == "foo  bar baz"


@every
def test_ch_15_special_tokens_are_plain_text(make: Make) -> None:
    text = "The mark <|endoftext|> ends it; <|im_start|>system <s>now</s> [CLS] <mask> <pad>"
    chunks = divided(make(100), text, 100)
    assert chunks == [text]
    assert "".join(divided(make(8), text * 9, 8)).count("<|endoftext|>") >= 1


def test_ch_16_a_separator_is_literal() -> None:
    text = "One two. Three four."
    chunker = RecursiveChunker(3, separators=[[". "]])
    assert divided(chunker, text, 3) == ["One two.", "Three four."]
    dotless = "Onextwo threeafour fivexsix sevenaeight"
    assert "".join(divided(chunker, dotless, 3)).replace(" ", "") == dotless.replace(" ", "")
    assert divided(RecursiveChunker(4, separators=[["*"], [".*"]]), "a b*c d.*e f", 4) == [
        "a b*", "c d.*", "e f"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="separates nothing"):
        RecursiveChunker(3, separators=[[""]])


@pytest.mark.parametrize("make", [StructureChunker, RecursiveChunker, SemanticChunker])
@pytest.mark.parametrize(("mark", "word"), [("。", "门票在演出前七天可以退款"), ("।", "टिकट फिर्ता हुन्छ"),
                                            ("！", "门票可以退款"), ("？", "门票可以退款")])  # fmt: skip
def test_ch_17_sentences_end_in_every_script(mark: str, word: str, make: Make) -> None:
    text = (word + mark) * 150
    chunks = divided(make(50), text, 50)
    assert all(chunk.endswith(mark) for chunk in chunks)
    assert "".join(chunks) == text


def test_ch_17_semicolons_and_quotations() -> None:
    text = "门票可以退款；" * 60
    assert all(chunk.endswith("；") for chunk in divided(RecursiveChunker(50), text, 50))
    quoted = "「门票可以退款。」" * 60
    for make in (StructureChunker, RecursiveChunker):
        assert all(chunk.endswith("。」") for chunk in divided(make(50), quoted, 50))


@every
@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("  \n\t\n ", 0), ("a", 1), ("a\nb\nc", 1), ("。", 1)]
)
@pytest.mark.parametrize("kind", ["text", "markdown"])
def test_ch_18_short_and_blank_texts(text: str, count: int, kind: str, make: Make) -> None:
    assert len(divided(make(8), text, 8, kind)) == count


@every
def test_ch_19_chinese_is_counted(make: Make) -> None:
    text = "门票在演出前七天可以退款。" * 923
    document = parsed(text)
    spans: list[Span] = spans_of(make(400), document, TOKENIZER, HashEmbedder())
    assert max(TOKENIZER.count(text[span.start : span.end]) for span in spans) <= 400
