"""Faults of other systems' chunkers, each under the number of its case."""

import sys
import time
import unicodedata
from pathlib import Path

import pytest

from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.errors import InvalidSetting
from vademecum.settings import load

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from test_chunker import TOKENIZER, parsed, split


@pytest.mark.parametrize("size", ["0", "7", "-1", "100000", "many"])
def test_ch_01_a_size_that_cannot_be_is_refused_when_it_is_read(size: str) -> None:
    with pytest.raises(InvalidSetting, match=r"chunking\.size"):
        load(config=None, flags={}, environment={"VADE_CHUNKING__SIZE": size, "VADE_HOME": "/x"})
    with pytest.raises(ValueError, match="at least 8"):
        StructureChunker(7)


def test_ch_01_letters_without_end_end() -> None:
    started = time.process_time()
    assert "".join(split("a" * 5_000, 100)) == "a" * 5_000
    assert time.process_time() - started < 1


def test_ch_02_the_last_chunk_stops_at_the_end() -> None:
    text = "abcdefg " * 131
    assert text.rstrip().endswith(split(text, 100)[-1])


def test_ch_04_a_text_that_fits_is_one_chunk() -> None:
    text = " ".join(["word"] * 200)
    assert split(text, 200) == [text]


def test_ch_06_repeated_text_has_places_of_its_own() -> None:
    text = "tick tock " * 30
    document = parsed(text)
    spans = StructureChunker(9).split(document, TOKENIZER)
    assert len(spans) > 5
    assert [s.start for s in spans] == sorted({s.start for s in spans})
    assert split(text, 9)


def test_ch_09_the_last_sentence_is_there() -> None:
    assert "zebra" in split("One. Two. Three. Four. The last is a zebra.", 8)[-1]
    assert split("Only a zebra.") == ["Only a zebra."]


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦" * 300, "नेपाली " * 500, "e\u0301" * 2000, "한국어" * 900]
)
def test_ch_13_no_letter_is_cut(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    chunks = split(text, 50)
    assert len(chunks) > 3
    assert "".join(chunks).replace(" ", "") == text.replace(" ", "")
    for chunk in chunks:
        assert "\ufffd" not in chunk
        assert not unicodedata.category(chunk[0]).startswith("M")
        assert chunk[0] != "\u200d"


@pytest.mark.parametrize(
    "text",
    ["a" * 150_000, '{"k": [' + '"value", ' * 110_000 + '"end"]}', "foo  bar baz " * 3],
    ids=["letters", "json", "blanks"],
)
def test_ch_14_a_line_without_an_end_is_cut(text: str) -> None:
    started = time.process_time()
    chunks = split(text, 8 if len(text) < 100 else 200)
    assert time.process_time() - started < 20
    assert len(chunks) > 1


@pytest.mark.parametrize(("mark", "word"), [("。", "门票在演出前七天可以退款"), ("।", "टिकट फिर्ता हुन्छ"),
                                            ("！", "门票可以退款"), ("？", "门票可以退款")])  # fmt: skip
def test_ch_17_sentences_end_in_every_script(mark: str, word: str) -> None:
    text = (word + mark) * 150
    chunks = split(text, 50)
    assert all(chunk.endswith(mark) for chunk in chunks)
    assert "".join(chunks) == text


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("  \n\t\n ", 0), ("a", 1), ("a\nb\nc", 1), ("。", 1)]
)
@pytest.mark.parametrize("kind", ["text", "markdown"])
def test_ch_18_short_and_blank_texts(text: str, count: int, kind: str) -> None:
    assert len(split(text, 8, kind)) == count
