"""Are the quoted sentences those that answer, in any language, and none where none does?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from vademecum.answer.extract import Extract, _score, extract
from vademecum.errors import ProviderAway
from vademecum.model.embedding import Role, TokenStates
from vademecum.model.passage import Passage
from vademecum.testing.embedders import Fault, HashEmbedder
from vademecum.testing.passages import make_passage
from vademecum.text.sentences import sentence_spans


def texts(found: Sequence[Extract]) -> list[str]:
    return [unit.passage.source.chunk.text[unit.start : unit.end] for unit in found]


async def quoted(
    question: str, *passages: Passage | str, confidence: float = 0.9, search: str = ""
) -> list[str]:
    made = [
        p if isinstance(p, Passage) else make_passage(p, rank=n, uri=f"{n}.md", title="Guide")
        for n, p in enumerate(passages, start=1)
    ]
    return texts(await extract(question, search or question, made, confidence, HashEmbedder()))


ERRORS = (
    "Error BX-217 means that the printer of the box office lacks paper. "
    "Error BX-218 means that its lid stands open."
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does BX-217 mean?", ERRORS[:66]),
        ("What does BX-218 mean?", ERRORS[67:]),
        ("What does bx217 mean?", ERRORS[:66]),
    ],
)
async def test_the_sentence_with_the_very_code_is_quoted(question: str, expected: str) -> None:
    assert await quoted(question, ERRORS) == [expected]


async def test_a_code_that_no_passage_holds_is_not_answered_by_its_neighbour() -> None:
    assert await quoted("What does BX-219 mean?", ERRORS, confidence=0.999) == []
    only = "Error BX-218 means that the lid of the printer stands open."
    assert await quoted("What does error BX-217 of the printer mean?", only, confidence=0.999) == []


async def test_a_code_in_the_heading_counts_but_the_sentence_that_holds_it_comes_first() -> None:
    beside = make_passage(
        "The lid of the printer stands open. Close it and print once more.", title="Error BX-218"
    )
    found = await quoted("What does BX-218 mean for the printer?", beside, confidence=0.999)
    assert found[0] == "The lid of the printer stands open."
    named = "To clear BX-218 you close the lid and print once more."
    assert (await quoted("What does BX-218 mean for the printer?", beside, named))[0] == named


async def test_headings_and_short_pieces_are_never_quoted() -> None:
    text = (
        "# When do the doors open?\n\nWhen do the doors open today\n\nYes, at 9.\n\n"
        "The doors open two hours before the concert begins."
    )
    passage = make_passage(text, title="Guide")
    chunk = replace(passage.source.chunk, heading_path=("Guide", "When do the doors open today"))
    passage = replace(passage, source=replace(passage.source, chunk=chunk))
    found = await quoted("When do the doors open today?", passage)
    assert found == ["The doors open two hours before the concert begins."]


async def test_a_unit_that_only_repeats_the_question_s_names_is_no_answer() -> None:
    question = "When does the Casa Mangue Alto open?"
    assert await quoted(question, "Casa Mangue Alto, Casa Mangue.", confidence=0.999) == []
    longer = "Casa Mangue Alto opens every day at noon."
    assert await quoted(question, "Casa Mangue Alto, Casa Mangue.", longer) == [longer]


async def test_what_a_colon_announces_comes_with_it() -> None:
    text = "Bring these things with you:\n- the printed ticket and your passport"
    assert await quoted("Which things must I bring with me?", text) == [text]
    assert await quoted("Which things must I bring?", "Bring these things with you:") == []


async def test_a_short_sentence_of_chinese_is_quoted() -> None:
    text = "退款需要五天。"
    passage = make_passage(text, title="规则")
    chunk = replace(passage.source.chunk, language="zh")
    passage = replace(passage, source=replace(passage.source, chunk=chunk))
    assert await quoted("退款需要几天？", passage, confidence=0.999) == [text]


async def test_offsets_are_those_of_the_passage_s_own_text() -> None:
    [unit] = await extract(
        "What does BX-218 mean?", "BX-218", [make_passage(ERRORS, at=500)], 0.9, HashEmbedder()
    )
    assert (unit.start, unit.end) == (67, len(ERRORS))


async def test_nothing_gives_nothing() -> None:
    assert await quoted("When do the doors open?") == []
    assert await quoted("When do the doors open?", "Doors.", "\n\n") == []


@pytest.mark.parametrize(("confidence", "answered"), [(0.0, False), (0.01, False), (1.0, True)])
async def test_retrieval_s_confidence_decides_with_the_sentence(
    confidence: float, answered: bool
) -> None:
    found = await quoted(
        "When do the doors open?", "The doors open two hours before.", confidence=confidence
    )
    assert bool(found) == answered


async def test_the_encoder_s_error_passes() -> None:
    encoder = HashEmbedder(faults={1: Fault(error=ProviderAway("away"))})
    with pytest.raises(ProviderAway):
        await extract("Who?", "Who?", [make_passage(ERRORS)], 0.9, encoder)


class Drawn:
    """TokenEncoder of one token a text, whose state is the vector drawn for its first words."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors

    async def encode(self, texts: Sequence[str], role: Role) -> list[TokenStates]:
        return [self._state(text.removeprefix("Guide: ")) for text in texts]

    def _state(self, text: str) -> TokenStates:
        vector = np.array(self._vectors[text], np.float32)
        vector /= np.linalg.norm(vector)
        return TokenStates(
            vector=vector,
            token_ids=np.array([1]),
            states=vector[None],
            weights=np.ones(1, np.float32),
        )


def axes(language: int, meaning: int) -> list[float]:
    """A vector that says three times as loud in which language it is as what it means."""
    vector = [0.0] * 14
    vector[language], vector[2 + meaning] = 3.0, 1.0
    return vector


async def test_the_mean_of_each_language_is_taken_away() -> None:
    question = "¿cuánto tiempo antes del concierto se abren las puertas de la sala?"
    right = "the doors of the hall open two hours before the concert."
    english = {right: axes(0, 11)} | {
        f"the {thing} of the hall stands beside the gate.": axes(0, n)
        for n, thing in enumerate(["lift", "desk", "shop", "bar", "sign"])
    }
    spanish = {
        f"el {thing} de la sala está junto a la entrada.": axes(1, 5 + n)
        for n, thing in enumerate(["bar", "cartel", "puesto", "salón", "baño", "banco"])
    }
    encoder = Drawn({**english, **spanish, question: axes(1, 11)})

    async def best(spanish_is: str) -> str:
        passages = []
        for language, sentences in (("en", english), (spanish_is, spanish)):
            made = make_passage("\n\n".join(sentences), uri=f"{language}.md", title="Guide")
            chunk = replace(made.source.chunk, language=language)
            passages.append(replace(made, source=replace(made.source, chunk=chunk)))
        units = [
            Extract(passage=passage, start=start, end=end)
            for passage in passages
            for start, end in sentence_spans(passage.source.chunk.text)
        ]
        scores = await _score(question, question, units, encoder)
        first = texts(await extract(question, question, passages, 0.9, encoder))[0]
        # Late interaction, which decides whether to answer, is centred like the order.
        assert texts([units[int(np.argmax(scores.late))]]) == [first]
        assert texts([units[int(np.argmax(scores.order))]]) == [first]
        return first

    assert await best("es") == right
    # As one language, whatever is in the question's own comes first.
    assert (await best("en")).startswith("el ")


async def test_a_remark_before_a_question_takes_nothing_from_what_answers_it() -> None:
    question = "Is smoking allowed in the garden of the hall?"
    remark = "My grandmother lives in a small village behind the mountains."
    answering = "Smoking is allowed in the garden of the hall."
    alone = await quoted(question, answering, confidence=0.5)
    assert alone == [answering]
    assert await quoted(f"{remark} {question}", answering, confidence=0.5) == alone


async def test_the_mark_of_a_list_is_no_part_of_a_quote() -> None:
    listed = "Rules of the hall.\n\n- Smoking is allowed in the garden.\n- Dogs stay outside."
    assert await quoted("Is smoking allowed in the garden?", listed) == [
        "Smoking is allowed in the garden."
    ]
