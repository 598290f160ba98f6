"""How many tokens did the work of one caller take, of whatever model calls it was made?"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass

from vademecum.errors import ServiceAway
from vademecum.model.answer import Usage
from vademecum.ports.language_model import LanguageModel, Prompt, TokenCounter


@dataclass(slots=True)
class Meter:
    """What was used so far."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, usage: Usage) -> None:
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens

    @property
    def usage(self) -> Usage:
        return Usage(prompt_tokens=self.prompt_tokens, completion_tokens=self.completion_tokens)


METER: ContextVar[Meter | None] = ContextVar("meter", default=None)
"""Whoever wants to know sets one in the task that works; tasks begun from it count into it too."""


class MeteredModel:
    """A LanguageModel that tells the meter what its provider counted. A reply that was broken off
    brings no count: what was sent and had come is counted by our own tokenizer then."""

    def __init__(self, model: LanguageModel, counter: TokenCounter) -> None:
        self._model = model
        self._counter = counter

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        meter = METER.get()
        told = away = False
        came: list[str] = []
        try:
            async with aclosing(self._model.stream(prompt)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        came.append(piece)
                    elif meter is not None:
                        told = True
                        meter.add(piece)
                    yield piece
        except ServiceAway:
            away = not came  # nothing was taken in, nothing is owed
            raise
        finally:
            if meter is not None and not (told or away):
                meter.add(self._estimate(prompt, "".join(came)))

    def _estimate(self, prompt: Prompt, reply: str) -> Usage:
        count = self._counter.count
        return Usage(
            prompt_tokens=count(prompt.system) + count(prompt.user),
            completion_tokens=count(reply),
        )
