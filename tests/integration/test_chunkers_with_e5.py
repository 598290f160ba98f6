"""Do chunks keep their limit as the real tokenizer counts them, and how long does it take?"""

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vademecum.adapters.chunkers.fixed import FixedChunker
from vademecum.adapters.chunkers.parent import ParentChunker
from vademecum.adapters.chunkers.recursive import RecursiveChunker
from vademecum.adapters.chunkers.semantic import SemanticChunker
from vademecum.adapters.chunkers.structure import StructureChunker
from vademecum.adapters.embedders.e5_convert import ensure_model
from vademecum.adapters.embedders.e5_tokenizer import E5Tokenizer
from vademecum.adapters.parsers.markdown import parse_markdown
from vademecum.adapters.parsers.plain import parse_text
from vademecum.ports.chunker import Chunker
from vademecum.testing.conformance_chunker import divided, faults, table_faults
from vademecum.testing.embedders import HashEmbedder

CHUNKERS: dict[str, Callable[[int], Chunker]] = {
    "structure": StructureChunker,
    "recursive": RecursiveChunker,
    "fixed": lambda tokens: FixedChunker(tokens, tokens // 5),
    "semantic": SemanticChunker,
    "parent": ParentChunker,
}
PIECES = (
    *" \n\t.,;#|->*`éß\u3000\xa0\u200b\u200d\x1f\u0301\u2581",
    "the ",
    "ticket",
    "bilheteira ",
    "antidisestablishmentarianism",
    "नेपाली ",
    "टिकट",
    "售票处在北门旁边。",
    "👨\u200d👩\u200d👧\u200d👦",
    "مرحبا ",
    "\ufdfa",
    "…",
    "ﬁ",
    "12,345.67 ",
    "\n\n",
    "# ",
    "- ",
    "| a | b |\n",
    "|---|---|\n",
    "<s>",
    "<|endoftext|>",
    "𓀀𓀁𓀂",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=150).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> E5Tokenizer:
    files = ensure_model(tmp_path_factory.mktemp("models") / "multilingual-e5-small")
    return E5Tokenizer.load(files.tokenizer, pieces=files.pieces, replacements=files.replacements)


@pytest.mark.parametrize("name", CHUNKERS)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXTS | st.text(max_size=300), tokens=st.integers(8, 60), markdown=st.booleans())
def test_any_text(
    name: str, text: str, tokens: int, markdown: bool, tokenizer: E5Tokenizer
) -> None:
    read = parse_markdown if markdown else parse_text
    document = read(text.encode(errors="ignore"), "a", "text/plain")
    spans = divided(CHUNKERS[name](tokens), document, tokenizer, HashEmbedder())
    assert faults(document, spans, tokenizer, tokens=tokens, overlaps=name == "fixed") == []
    if name in ("structure", "semantic", "parent"):
        assert table_faults(document, spans, tokenizer, tokens=tokens) == []


@settings(max_examples=150, deadline=None)
@given(before=TEXTS, parting=st.sampled_from(" \n\t"), after=TEXTS)
def test_what_follows_a_blank_changes_no_token_before_it(
    before: str, parting: str, after: str, tokenizer: E5Tokenizer
) -> None:
    own = tokenizer.ends(before)
    assert tokenizer.ends(before + parting + after)[: len(own)] == own
    assert tokenizer.count(before) == len(own)


@pytest.mark.parametrize("name", CHUNKERS)
def test_a_megabyte_takes_little_more_than_its_tokens_do(name: str, tokenizer: E5Tokenizer) -> None:
    sentence = "O portador do ingresso deve apresentar documento com foto na entrada. "
    document = parse_text((sentence * 14_000).encode(), "a", "text/plain")
    tokenizer.count(document.text[:100_000])
    started = time.process_time()
    tokenizer.ends(document.text)
    passes = time.process_time() - started
    started = time.process_time()
    CHUNKERS[name](200).split(document, tokenizer)
    # Those two count what they put together once more, and one looks at each sentence alone.
    most = 10 if name in ("parent", "semantic") else 4
    assert time.process_time() - started < most * passes
