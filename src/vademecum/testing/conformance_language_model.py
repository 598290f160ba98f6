"""What must every language model do that stands behind the port?

Inherit from `LanguageModelConformance` in a class named `Test…`, and give it `replying`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, aclosing

from vademecum.errors import ProviderAway
from vademecum.model.answer import Usage
from vademecum.ports.language_model import LanguageModel, Prompt

AWKWARD = 'Braces {a} {{b}} {0} %s $HOME, <|endoftext|>, "quotes", नमस्ते, 退款 and \U0001f3ab.'


def prompt(user: str = "What does a ticket cost?") -> Prompt:
    """Return a small prompt."""
    return Prompt(system="Answer briefly.", user=user, temperature=0.7, max_tokens=800)


async def read(model: LanguageModel, asked: Prompt) -> tuple[str, list[Usage]]:
    """Return the text and every Usage of one reply."""
    text, usages = "", []
    async with aclosing(model.stream(asked)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Usage):
                usages.append(piece)
            else:
                assert not usages, "text came after Usage"
                text += piece
    return text, usages


class LanguageModelConformance:
    """One test a promise of the port."""

    def replying(
        self, pieces: Sequence[str], *, breaks_off: bool = False
    ) -> AbstractAsyncContextManager[LanguageModel]:
        """Return a model that writes these pieces each time it is asked, then breaks off or not."""
        raise NotImplementedError

    async def test_text_comes_whole_and_in_order_then_one_usage(self) -> None:
        async with self.replying(["A ticket ", "costs R$ 12", ".50 [1]", "."]) as model:
            text, usages = await read(model, prompt())
        assert text == "A ticket costs R$ 12.50 [1]."
        assert len(usages) == 1
        assert usages[0].prompt_tokens > 0
        assert usages[0].completion_tokens > 0

    async def test_awkward_text_passes_unchanged_in_both_directions(self) -> None:
        async with self.replying([AWKWARD]) as model:
            text, _ = await read(model, prompt(user=AWKWARD))
        assert text == AWKWARD

    async def test_blanks_and_line_ends_between_pieces_are_kept(self) -> None:
        async with self.replying(["One", " ", "\n", "\n", "- two", "  "]) as model:
            text, _ = await read(model, prompt())
        assert text == "One \n\n- two  "

    async def test_a_model_can_be_asked_again_and_at_once(self) -> None:
        async with self.replying(["Same ", "text."]) as model:
            replies = [await read(model, prompt())]
            replies += await asyncio.gather(*(read(model, prompt()) for _ in range(5)))
        assert {text for text, _ in replies} == {"Same text."}

    async def test_a_reply_may_be_left_after_its_first_piece(self) -> None:
        async with self.replying(["First. ", *["More. "] * 1000]) as model:
            pieces = model.stream(prompt())
            assert await anext(pieces) == "First. "
            await asyncio.wait_for(pieces.aclose(), timeout=5)
            text, _ = await read(model, prompt())
        assert text.startswith("First. More. ")

    async def test_a_reply_that_breaks_off_ends_in_one_clear_error(self) -> None:
        async with self.replying(["First. ", "Sec"], breaks_off=True) as model:
            text, error = "", None
            try:
                async with aclosing(model.stream(prompt())) as pieces:
                    async for piece in pieces:
                        assert isinstance(piece, str), "a broken reply has no Usage"
                        text += piece
            except ProviderAway as raised:
                error = raised
        assert text == "First. Sec"
        assert error is not None
        assert "\n" not in str(error)
        assert error.hint

    async def test_the_name_is_stable_and_names_the_provider(self) -> None:
        async with self.replying(["Text."]) as model:
            before = model.name
            await read(model, prompt())
            assert model.name == before
        assert ":" in before
