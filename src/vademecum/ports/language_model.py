"""Who writes the answer where one is generated?"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from vademecum.model.answer import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a language model is given. Untrusted text stands in `user` only, never in `system`."""

    system: str
    user: str
    temperature: float | None
    max_tokens: int


class LanguageModel(Protocol):
    """A text model behind any provider."""

    @property
    def name(self) -> str: ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        """Yield pieces of text, then one Usage. Closing the generator ends the request.

        Raises: ProviderAway, before the first piece or after any of them.
        """
        ...


async def complete(model: LanguageModel, prompt: Prompt) -> str:
    """Return the whole text that a model writes. Raises: ServiceAway."""
    async with aclosing(model.stream(prompt)) as pieces:
        return "".join([piece async for piece in pieces if isinstance(piece, str)])


class TokenCounter(Protocol):
    """Count tokens of a prompt the way the language model will, or a safe estimate."""

    def count(self, text: str) -> int: ...
