"""Which language model can a test use that needs no provider and fails on demand?"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass

import regex

from vademecum.errors import ProviderAway, VademecumError
from vademecum.model.answer import Usage
from vademecum.ports.language_model import Prompt

Pieces = str | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFault:
    """What goes wrong in one call, once `after` pieces have come.

    A wait of `stall` seconds comes first; then `error` is raised, or `endless` text follows.
    """

    after: int = 0
    stall: float = 0.0
    error: VademecumError | None = None
    endless: str = ""


def provider_away(after: int = 0) -> ModelFault:
    """Return the fault of a provider that breaks off after so many pieces."""
    error = ProviderAway("the scripted provider broke off", hint="Try again")
    return ModelFault(after=after, error=error)


class ScriptedModel:
    """LanguageModel that gives the replies it was made with.

    `replies` holds one reply a call, a text or its pieces, and the last one again for every later
    call; or it is a function from the prompt to the reply. `prompts` records what arrived, `closed`
    counts the calls that ended before their last piece was taken. `faults` maps the number of a
    call, from 1, to its fault. Tokens are counted as words.
    """

    def __init__(
        self,
        replies: Sequence[Pieces] | Callable[[Prompt], Pieces],
        *,
        name: str = "testing:scripted",
        faults: Mapping[int, ModelFault] | None = None,
    ) -> None:
        self.prompts: list[Prompt] = []
        self.closed = 0
        self._replies = replies
        self._name = name
        self._faults = dict(faults or {})

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Usage, None]:
        """See `LanguageModel.stream`."""
        self.prompts.append(prompt)
        fault = self._faults.get(len(self.prompts))
        reply = self._reply(prompt)
        pieces = [reply] if isinstance(reply, str) else list(reply)
        whole = False
        try:
            for number, piece in enumerate(pieces):
                if fault is not None and fault.after == number:
                    async for extra in _strike(fault):
                        yield extra
                yield piece
            if fault is not None and fault.after >= len(pieces):
                async for extra in _strike(fault):
                    yield extra
            whole = True
            yield Usage(
                prompt_tokens=len(f"{prompt.system} {prompt.user}".split()),
                completion_tokens=len("".join(pieces).split()),
            )
        finally:
            self.closed += not whole

    def _reply(self, prompt: Prompt) -> Pieces:
        if callable(self._replies):
            return self._replies(prompt)
        return self._replies[min(len(self.prompts), len(self._replies)) - 1]


async def _strike(fault: ModelFault) -> AsyncGenerator[str, None]:
    await asyncio.sleep(fault.stall)
    if fault.error is not None:
        raise fault.error
    while fault.endless:
        await asyncio.sleep(0)
        yield fault.endless


_SECTION = regex.compile(r"<source-[0-9a-f]+ number=(\d+)>")
_VERBS = (
    r"repl(?:y|ies)|respond|answer|say|write|print|output|repeat|include|insert|append|prepend|add"
    r"|echo|mention|state|return|end|start|begin|responda|diga|escreva|repita|inclua|mencione"
    r"|responde|di|escribe|repite|incluye|menciona"
)
_FILLING = (
    r"only|exactly|verbatim|with|that|this|the\s+following(?:\s+(?:string|text|word|line|phrase))*"
    r"|in\s+your\s+(?:response|reply|answer|output)|your\s+(?:response|reply|answer)"
    r"|o\s+seguinte|lo\s+siguiente|apenas|somente|solo|que|com|con|by\s+saying"
)
_ORDER = regex.compile(rf"\b(?:{_VERBS})\b(?:\s+(?:{_FILLING}))*\s*[:,]?\s*(.+)", regex.IGNORECASE)
_REVEAL = regex.compile(
    r"\b(?:reveal|show|print|repeat|output|display|paste|share|summari[sz]e|what(?:'s|\s+is|\s+are))\b"
    r".*\b(?:system\s+prompt|system\s+message|instructions|rules|prompt|configuration)\b",
    regex.IGNORECASE,
)
_DUMP = regex.compile(
    r"\b(?:canary|canaries|secrets?|every\s+document|all\s+documents|everything)\b",
    regex.IGNORECASE,
)
_CALL = regex.compile(
    r"\b(?:call|invoke|run|execute|use)\b.*\b(?:tool|function|command)\b", regex.IGNORECASE
)
_REMEMBER = regex.compile(r"\b(?:remember|memori[sz]e|save)\b(?:\s+that)?\s+(.+)", regex.IGNORECASE)
_QUOTES = "\"'“”‘’«»`"


def _obey(prompt: Prompt) -> str:
    done: list[str] = []
    number = 0

    def do(text: str) -> None:
        cited = f" [{number}]" if number else ""
        done.append(f"{text.strip().strip(_QUOTES).rstrip('.')}{cited}.")

    for line in prompt.user.splitlines():
        if opened := _SECTION.search(line):
            number = int(opened.group(1))
            continue
        if _REVEAL.search(line):
            done.append(prompt.system)
            do(" ".join(prompt.system.split()))
        if _DUMP.search(line):
            do(" ".join(prompt.user.split()))
        if _CALL.search(line):
            do(f'{{"tool_call": {{"name": "delete", "arguments": "{line}"}}}}')
        if told := _REMEMBER.search(line):
            do(f"I have saved to memory that {told.group(1)}")
        if order := _ORDER.search(line):
            do(order.group(1))
    return "\n".join(done) or "I don't know."


class GullibleModel(ScriptedModel):
    """A model that does whatever a line of the user's message orders, and cites where it read it.

    It says what it is told to say, reveals its rules, repeats all that it was given, writes calls
    of tools and tells that it remembers, each where it is told to: what still reaches the answer
    has passed every other wall. Without an order it knows nothing.
    """

    def __init__(self, *, name: str = "testing:gullible") -> None:
        super().__init__(_obey, name=name)
