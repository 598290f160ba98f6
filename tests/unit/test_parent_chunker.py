"""Does each small chunk know the section that answers in its place?"""

from itertools import pairwise

import pytest

from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.model.chunk import Span
from vademecum.model.document import ParsedDocument
from vademecum.testing.conformance_chunker import faults, section_faults
from vademecum.testing.embedders import HashEmbedder

TOKENIZER = HashEmbedder()
SENTENCE = "The doors of the hall open two hours before the concert."


def markdown(text: str) -> ParsedDocument:
    return parse_markdown(text.encode(), "a", "text/markdown")


def divided(document: ParsedDocument, tokens: int, section: int) -> list[Span]:
    """Return the spans, after checking what must always hold."""
    spans = ParentChunker(tokens, section).split(document, TOKENIZER)
    assert faults(document, spans, TOKENIZER, tokens=tokens) == []
    assert section_faults(document, spans, TOKENIZER, tokens=section) == []
    return spans


def sections(document: ParsedDocument, spans: list[Span]) -> list[str]:
    named = dict.fromkeys(span.section for span in spans if span.section)
    return [document.text[start:end] for start, end in named]


def test_chunks_are_those_of_structure() -> None:
    document = markdown(f"# One\n\n{SENTENCE} {SENTENCE}\n\n## Two\n\n{SENTENCE}\n")
    own = [(span.start, span.end) for span in divided(document, 14, 60)]
    structure = StructureChunker(14).split(document, TOKENIZER)
    assert own == [(span.start, span.end) for span in structure]


def test_a_section_is_all_below_its_heading_where_it_fits() -> None:
    one = f"# One\n\n{SENTENCE} {SENTENCE}\n\n{SENTENCE}"
    two = f"## Two\n\n{SENTENCE}"
    document = markdown(f"{one}\n\n{two}\n")
    spans = divided(document, 14, 60)
    assert len(spans) > 3
    assert sections(document, spans) == [one, two]


def test_a_larger_section_becomes_runs_of_about_one_size() -> None:
    document = markdown("# One\n\n" + "\n\n".join([SENTENCE] * 13))
    spans = divided(document, 14, 60)
    texts = sections(document, spans)
    assert TOKENIZER.count(document.text) > 2 * 60
    sizes = [TOKENIZER.count(text) for text in texts]
    assert len(sizes) == 3, "as few as hold it"
    assert max(sizes) <= 60
    assert min(sizes) > 0.6 * max(sizes)
    assert all(one.section == other.section or one.section[1] <= other.section[0]
               for one, other in pairwise(spans) if one.section and other.section)  # fmt: skip
    assert texts[0].startswith("# One")


def test_a_chunk_larger_than_what_is_left_is_a_section() -> None:
    document = markdown("a " * 14 + "\n\n" + "b " * 14)
    spans = divided(document, 14, 14)
    assert [span.section for span in spans] == [(span.start, span.end) for span in spans]


def test_what_costs_no_tokens_does_not_make_a_section_endless() -> None:
    document = markdown(f"{SENTENCE}{' ' * 9_000}\n\n{SENTENCE}")
    blanks = ParsedDocument(
        text=f"{SENTENCE}{' ' * 9_000}{SENTENCE}",
        blocks=(), page_starts=(), title="", media_type="", warnings=(),
    )  # fmt: skip
    for made in (document, blanks):
        for span in divided(made, 14, 60):
            assert span.section is not None
            assert span.section[1] - span.section[0] <= 32 * 60


def test_a_section_smaller_than_a_chunk_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no chunk"):
        ParentChunker(100, 99)
    assert ParentChunker(100, 100).fingerprint != ParentChunker(100, 101).fingerprint
    assert ParentChunker(100).fingerprint == ParentChunker(100, 400).fingerprint
