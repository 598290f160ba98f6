"""Does a semantic chunk end where the text goes over to something else, always at one place?"""

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.ingest.embed import vectors_of
from vademecum.model.document import ParsedDocument
from vademecum.model.embedding import FloatArray
from vademecum.testing.conformance_chunker import divided, faults, table_faults
from vademecum.testing.embedders import HashEmbedder

TOKENIZER = HashEmbedder()
LIFT = [
    "The lift to the upper gallery is slow and the lift is old.",
    "Whoever needs the lift to the gallery rings at the old lift door.",
    "The upper lift door of the gallery is repaired once a year.",
]
SOUP = [
    "Lentil soup is cooked with onions and cumin for an hour.",
    "Cumin and onions make the lentil soup taste of more than lentil.",
    "An hour later the soup with onions and lentil is eaten.",
]


def markdown(text: str) -> ParsedDocument:
    return parse_markdown(text.encode(), "a", "text/markdown")


def chunks(document: ParsedDocument, tokens: int = 200) -> list[str]:
    """Return the chunks, after checking what must always hold."""
    spans = divided(SemanticChunker(tokens), document, TOKENIZER, HashEmbedder())
    assert faults(document, spans, TOKENIZER, tokens=tokens) == []
    assert table_faults(document, spans, TOKENIZER, tokens=tokens) == []
    return [document.text[span.start : span.end] for span in spans]


def given(
    texts: Sequence[str], groups: Mapping[str, int], dimension: int = 8
) -> dict[str, FloatArray]:
    """Return a vector each: texts of one group have the same."""
    rows = np.eye(dimension, dtype=np.float32)
    return {text: rows[next(n for word, n in groups.items() if word in text)] for text in texts}


def test_a_chunk_ends_where_the_subject_changes() -> None:
    text = " ".join([*LIFT, *SOUP])
    document = parse_text(text.encode(), "a", "text/plain")
    assert TOKENIZER.count(text) < 200, "the limit does not divide it"
    assert chunks(document) == [" ".join(LIFT), " ".join(SOUP)]


def test_one_subject_stays_together_up_to_the_limit() -> None:
    document = parse_text(" ".join(LIFT * 2).encode(), "a", "text/plain")
    assert len(chunks(document)) == 1
    small = chunks(document, 30)
    assert len(small) == 3
    assert all(chunk.endswith(".") for chunk in small)


def test_paragraphs_of_one_subject_are_one_chunk_and_other_headings_are_none() -> None:
    same = markdown("\n\n".join(LIFT))
    assert len(chunks(same)) == 1
    apart = markdown(f"# Up\n\n{LIFT[0]}\n\n# Down\n\n{LIFT[1]}\n\n# Way\n\n{LIFT[2]}")
    assert [chunk.split("\n")[0] for chunk in chunks(apart)] == ["# Up", "# Down", "# Way"]


def test_a_heading_is_never_left_alone_at_an_end() -> None:
    text = f"# Lifts\n\n## Upper lift\n\n{' '.join([*LIFT, *SOUP])}"
    found = chunks(markdown(text), 40)
    assert found[0].startswith("# Lifts\n\n## Upper lift\n\nThe lift")
    assert not any(chunk.splitlines()[-1].startswith("#") for chunk in found)


def test_code_is_whole_where_it_fits() -> None:
    fence = "```python\n" + "\n".join(f"soup_{n} = lentil" for n in range(8)) + "\n```"
    text = f"{' '.join(LIFT)}\n\n{fence}\n\n{' '.join(SOUP)}"
    assert TOKENIZER.count(fence) < 60 < TOKENIZER.count(text)
    assert any(fence in chunk for chunk in chunks(markdown(text), 60))


def test_a_list_is_divided_between_items() -> None:
    items = [f"- {sentence}\n  and so on" for sentence in [*LIFT, *SOUP]]
    found = chunks(markdown("\n".join(items)), 60)
    assert len(found) > 1
    assert all(chunk.startswith("- ") and chunk.endswith("so on") for chunk in found)


def test_vectors_decide_and_nothing_else() -> None:
    """The same words, told to be alike in another way, are divided in another way."""
    text = " ".join([*LIFT, *SOUP])
    document = parse_text(text.encode(), "a", "text/plain")
    chunker = SemanticChunker(200)
    texts = chunker.wanted(document, TOKENIZER)
    assert texts == [*LIFT, *SOUP]
    early = {text: n for n, part in enumerate((LIFT[:2], [*LIFT[2:], *SOUP])) for text in part}
    spans = chunker.knowing(given(texts, early)).split(document, TOKENIZER)
    assert [text[span.start : span.end] for span in spans] == [
        " ".join(LIFT[:2]),
        " ".join([LIFT[2], *SOUP]),
    ]


def test_the_same_document_is_divided_the_same_whatever_the_batches() -> None:
    text = "\n\n".join([*LIFT, *SOUP, *LIFT, "Short.", *SOUP[::-1]])
    document = markdown(text)
    chunker = SemanticChunker(60)
    texts = chunker.wanted(document, TOKENIZER)
    together = asyncio.run(vectors_of(texts, HashEmbedder()))
    alone = {text: asyncio.run(vectors_of([text], HashEmbedder()))[text] for text in texts}
    # As far as vectors of one text differ from batch to batch: see `Embedder.embed`.
    noise = np.random.default_rng(3)
    near = {
        text: (row + noise.normal(0, 1e-5, row.shape)).astype(np.float32)
        for text, row in together.items()
    }
    ways = [
        chunker.knowing(vectors).split(document, TOKENIZER)
        for vectors in (together, alone, dict(reversed(together.items())), near)
    ]
    assert len(ways[0]) > 2
    assert ways[0] == ways[1] == ways[2] == ways[3]


def test_where_all_are_alike_the_fuller_chunk_comes_first_whatever_the_noise() -> None:
    text = "The door is open now. " * 12
    document = parse_text(text.encode(), "a", "text/plain")
    for seed in range(5):
        noise = np.random.default_rng(seed)
        chunker = SemanticChunker(30)
        vectors = {
            text: (np.eye(8)[0] + noise.normal(0, 1e-6, 8)).astype(np.float32)
            for text in chunker.wanted(document, TOKENIZER)
        }
        spans = chunker.knowing(vectors).split(document, TOKENIZER)
        counts = [text.count("open", span.start, span.end) for span in spans]
        assert counts == sorted(counts, reverse=True), counts


def test_without_vectors_chunks_are_full() -> None:
    text = " ".join([*LIFT, *SOUP])
    document = parse_text(text.encode(), "a", "text/plain")
    spans = SemanticChunker(200).split(document, TOKENIZER)
    assert [(span.start, span.end) for span in spans] == [(0, len(text))]


def test_a_sentence_without_a_vector_stays_with_its_neighbours() -> None:
    document = parse_text(" ".join([*LIFT, *SOUP]).encode(), "a", "text/plain")
    chunker = SemanticChunker(200)
    vectors = asyncio.run(vectors_of(chunker.wanted(document, TOKENIZER), HashEmbedder()))
    del vectors[LIFT[1]]
    spans = chunker.knowing(vectors).split(document, TOKENIZER)
    assert [document.text[s.start : s.end] for s in spans] == [" ".join(LIFT), " ".join(SOUP)]


def test_two_sentences_are_not_parted_by_their_own_mean() -> None:
    """Less their mean, two vectors are always opposite."""
    document = parse_text(f"{LIFT[0]} {LIFT[1]}".encode(), "a", "text/plain")
    assert len(chunks(document)) == 1


@pytest.mark.parametrize("text", ["", " \n ", "a", "।", "\u200b"])
def test_nothing_that_is_wanted_is_blank(text: str) -> None:
    document = parse_text(text.encode(), "a", "text/plain")
    assert all(told.strip() for told in SemanticChunker(8).wanted(document, TOKENIZER))


def test_a_size_below_eight_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 8"):
        SemanticChunker(7)
