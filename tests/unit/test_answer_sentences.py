"""Is a stream cut into the same sentences however it is divided, and at the right places?"""

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.answer.generate import Written, first_end, says_unknown, sentences
from vademecum.errors import ProviderAway
from vademecum.model.answer import Usage
from vademecum.ports.language_model import Prompt
from vademecum.testing.language_models import ModelFault, ScriptedModel, provider_away


class Words:
    """Counts a word as a token."""

    def count(self, text: str) -> int:
        return len(text.split())


PROMPT = Prompt(system="", user="", temperature=None, max_tokens=800)


async def cut(pieces: Sequence[str], prompt: Prompt = PROMPT) -> tuple[list[str], Written]:
    found: list[str] = []
    model = ScriptedModel([pieces])
    async for item in sentences(model, prompt, Words()):
        if isinstance(item, Written):
            return found, item
        found.append(item.strip())
    raise AssertionError("no Written came")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One [1]. Two [2].", ["One [1].", "Two [2]."]),
        ("One. [1] Two. [2][3]", ["One. [1]", "Two. [2][3]"]),
        ("One.[1] Two.[2]", ["One.[1]", "Two.[2]"]),
        ("One. [1, 2] [[4]] Two. [1，2]", ["One. [1, 2] [[4]]", "Two. [1，2]"]),
        ("One.\n[1]\n[2]\nTwo.\n[2]", ["One.\n[1]\n[2]", "Two.\n[2]"]),
        ("One.\n[2] says two.", ["One.", "[2] says two."]),
        ("It costs R$ 12.50 today [1]. Fine.", ["It costs R$ 12.50 today [1].", "Fine."]),
        ("See p. 3 and art. 5 of 2.1 [1]. Yes.", ["See p. 3 and art. 5 of 2.1 [1].", "Yes."]),
        ("Bags, coats etc. are kept [1]. Yes.", ["Bags, coats etc. are kept [1].", "Yes."]),
        ("Ask Dr. J. P. Silva [1]. Yes.", ["Ask Dr. J. P. Silva [1].", "Yes."]),
        ("Wait… it goes on... and ends. Next.", ["Wait… it goes on... and ends.", "Next."]),
        ("Really?! Yes! No.", ["Really?!", "Yes!", "No."]),
        ('It says "stop." [1] Then go.', ['It says "stop." [1]', "Then go."]),
        ("It is **R$ 5.** Next.", ["It is **R$ 5.**", "Next."]),
        ("退款需要5天[1]。门票可转让。[2]是。", ["退款需要5天[1]。", "门票可转让。[2]", "是。"]),
        ("टिकट मिलेगा [1]। हो। [2]", ["टिकट मिलेगा [1]।", "हो। [2]"]),
        (
            "Steps:\n1. Open it [1].\n2. Close it [2]\n\n- and go [1]",
            ["Steps:", "1. Open it [1].", "2. Close it [2]", "- and go [1]"],
        ),
        ("A [note] stays. So does a.[note] here.", ["A [note] stays.", "So does a.[note] here."]),
        ("Use arr[0]. Then `x.[1] y`. End.", ["Use arr[0].", "Then `x.[1] y`.", "End."]),
        ("No end at all", ["No end at all"]),
        ("", []),
        (" \n \n", []),
    ],
)
async def test_sentences_and_every_division_of_them(text: str, expected: list[str]) -> None:
    assert (await cut([text]))[0] == expected
    assert (await cut(list(text)))[0] == expected
    for at in range(len(text)):
        assert (await cut([text[:at], text[at:]]))[0] == expected
    chance = random.Random(7)
    for _ in range(20):
        places = sorted(chance.sample(range(len(text) + 1), min(len(text), 5)))
        pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
        assert (await cut(pieces))[0] == expected


@settings(max_examples=400, deadline=None)
@given(text=st.text(alphabet='aB1 .[],-\n。।"`!…*2', max_size=40), data=st.data())
def test_no_division_of_any_text_changes_its_sentences(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    whole = asyncio.run(cut([text]))[0]
    assert asyncio.run(cut(pieces))[0] == whole
    assert asyncio.run(cut(list(text)))[0] == whole
    assert "".join("".join(whole).split()) == "".join(text.split())


def test_a_sentence_is_out_as_soon_as_what_follows_is_no_marker() -> None:
    assert first_end("One. ") is None
    assert first_end("One. [") is None
    assert first_end("One. [n") == 4
    assert first_end("One. t") is None
    assert first_end("One. Tw") == 4
    assert first_end("One. [1]") is None
    assert first_end("One. [1] Tw") == 8


async def test_a_model_that_ignores_its_limit_is_stopped_there() -> None:
    model = ScriptedModel([[]], faults={1: ModelFault(endless="Four words are here. ")})
    prompt = Prompt(system="", user="", temperature=None, max_tokens=10)
    found = [item async for item in sentences(model, prompt, Words())]
    assert [item for item in found if isinstance(item, str)] == [
        "Four words are here.",
        " Four words are here.",
    ]
    assert isinstance(found[-1], Written)
    assert found[-1].cut
    assert model.closed == 1


async def test_endless_text_without_a_sentence_is_stopped() -> None:
    model = ScriptedModel([[]], faults={1: ModelFault(endless="x" * 100)})
    found = [item async for item in sentences(model, PROMPT, Words())]
    assert found == [Written(usage=Usage(prompt_tokens=0, completion_tokens=0), cut=True)]
    assert model.closed == 1


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        (["One. [1] Two is ", "half"], ["One. [1]"]),
        (["One. [1]"], ["One. [1]"]),
        (["One [1]. It costs R$ 12."], ["One [1]."]),
        (["Half a sent"], []),
    ],
)
async def test_whole_sentences_come_out_before_the_provider_error(
    pieces: list[str], kept: list[str]
) -> None:
    found: list[str] = []
    model = ScriptedModel([pieces], faults={1: provider_away(len(pieces))})

    async def take() -> None:
        async for item in sentences(model, PROMPT, Words()):
            assert isinstance(item, str)
            found.append(item.strip())

    with pytest.raises(ProviderAway):
        await take()
    assert found == kept


@pytest.mark.parametrize(
    ("text", "limit", "is_cut"),
    [
        ("One [1]. Two is hal", 5, True),
        ("One [1]. Two [2]", 4, False),
        ("- no full stop", 800, False),
    ],
)
async def test_a_reply_that_used_up_its_tokens_in_a_sentence_was_cut(
    text: str, limit: int, is_cut: bool
) -> None:
    prompt = Prompt(system="", user="", temperature=None, max_tokens=limit)
    _, written = await cut([text], prompt)
    assert written.cut == is_cut


async def test_leaving_early_ends_the_model() -> None:
    model = ScriptedModel([["One. ", "Two. ", "Three. "]])
    stream = sentences(model, PROMPT, Words())
    assert await anext(stream) == "One."
    await stream.aclose()
    assert model.closed == 1


@pytest.mark.parametrize(
    "text", ["I don't know.", "I do not know", "Não sei.", "No lo sé.", "Sorry, I don’t know!"]
)
def test_an_honest_refusal_is_known(text: str) -> None:
    assert says_unknown(text)


def test_a_refusal_with_more_to_say_is_none() -> None:
    assert not says_unknown("I don't know the price, but it opens at 9 [1].")
