"""Who writes the answer where one is generated?"""

from collections.abc import AsyncGenerator
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


class TokenCounter(Protocol):
    """Count tokens of a prompt the way the language model will, or a safe estimate."""

    def count(self, text: str) -> int: ...
