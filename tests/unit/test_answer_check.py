"""Is a sentence shown as supported only where its sources say it?"""

import pytest

from vademecum.answer.cite import verify
from vademecum.answer.markers import read_markers
from vademecum.errors import EmbeddingInvalid
from vademecum.model.answer import Citation, Sentence
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.passages import make_passage

SOURCES = {
    1: make_passage(
        "A refund takes 5 days, as shown in [12] of the rules. Write to the box office."
    ),
    2: make_passage("Door KH-402 opens at 18:30.", rank=2, at=500),
}


async def checked(
    sentence: str, embedder: HashEmbedder | None = None
) -> tuple[Sentence, tuple[Citation, ...]]:
    return await verify(read_markers(sentence, SOURCES), SOURCES, embedder)


@pytest.mark.parametrize(
    "sentence",
    [
        "A refund takes 5 days, as shown in [12] of the rules [1].",
        "A refund takes 5 days,  as shown in of the rules [1]",
        "1. Write to the box office [1].",
        "- Write to the box office [1].",
        "- 3) Write to the box office. [1]",
        "Door KH-402 opens at 18:30 [2].",
    ],
)
async def test_the_source_s_own_words_are_supported_without_any_model(sentence: str) -> None:
    assert (await checked(sentence))[0].support == "supported"


@pytest.mark.parametrize(
    "sentence",
    [
        "A refund takes 6 days, as shown in [12] of the rules [1].",
        'It says "write to the head office at once" [1].',
        'It says "a refund takes the box office" [1].',
        "Door KH-403 opens at 18:30 [2].",
        "Door KH-402 opens at 18:45 [2].",
        "Write to the box office.",
        "Write to the box office [3].",
    ],
)
async def test_what_no_cited_source_says_is_unsupported(sentence: str) -> None:
    assert (await checked(sentence, HashEmbedder()))[0].support == "unsupported"


@pytest.mark.parametrize("number", [12, 2])
async def test_a_quotation_may_hold_a_bracket_of_its_source(number: int) -> None:
    text = f"A refund takes 5 days, as shown in [{number}] of the rules."
    sources = {1: make_passage(text), 2: SOURCES[2]}
    claim = read_markers(f'It "takes 5 days, as shown in [{number}] of the rules" [1].', sources)
    sentence, _ = await verify(claim, sources, None)
    assert sentence.support == "supported"


async def test_a_citation_points_at_the_sentence_that_says_it() -> None:
    _, citations = await checked("Door KH-402 opens at 18:30 [2].")
    assert (citations[0].start, citations[0].end) == (500, 527)
    assert citations[0].quote == "Door KH-402 opens at 18:30."


@pytest.mark.parametrize("fault", [Fault(nan_rows=(0,)), Fault(nan_rows=(1,)), Fault(drop_rows=1)])
async def test_broken_vectors_decide_nothing(fault: Fault) -> None:
    with pytest.raises(EmbeddingInvalid):
        await checked("The box office takes letters [1].", HashEmbedder(faults={1: fault}))
