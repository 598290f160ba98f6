"""How is a language model's answer shown only after it was checked?"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import regex

from vademecum.answer.cite import Claim, read_markers
from vademecum.model.answer import Usage
from vademecum.ports.language_model import LanguageModel, Prompt

# A sentence is whole when its mark, any citation markers and a blank have come.
_WHOLE = regex.compile(r"[.!?…。！？।]+[\"'”’»)]*(?:\s*\[[\d\s,，;–\[\]-]+\])*(?=\s|$)|\n+")
_ONLY_MARKERS = regex.compile(r"^\s*(?:\[[\d\s,，;–\[\]-]+\]\s*)+")
_UNKNOWN = regex.compile(
    r"^\W*(?:i (?:don['’]t|do not) know|não sei|no (?:lo )?sé|sorry, i (?:don['’]t|do not) know)\W*$",
    regex.IGNORECASE,
)
# How long the text after a sentence's mark may still turn out to be its citation markers.
_LOOK_AHEAD = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The stream's end: what the provider counted, and whether the text stopped mid-sentence."""

    usage: Usage
    cut: bool


async def sentences(model: LanguageModel, prompt: Prompt) -> AsyncIterator[Claim | Written]:
    """Yield each sentence as soon as it is whole, then one Written."""
    held = ""
    usage = Usage(prompt_tokens=0, completion_tokens=0)
    async for piece in model.stream(prompt):
        if isinstance(piece, Usage):
            usage = piece
            continue
        held += piece
        while (cut := _cut_at(held, ended=False)) is not None:
            sentence, held = held[:cut], held[cut:]
            if sentence.strip():
                yield read_markers(sentence)
    while (cut := _cut_at(held, ended=True)) is not None:
        sentence, held = held[:cut], held[cut:]
        if sentence.strip():
            yield read_markers(sentence)
    if held.strip():
        yield read_markers(held)
    yield Written(usage=usage, cut=bool(held.strip()))


def _cut_at(held: str, *, ended: bool) -> int | None:
    match = _WHOLE.search(held)
    while match is not None:
        end = match.end()
        if markers := _ONLY_MARKERS.match(held, end):
            end = markers.end()
        if (
            ended
            or len(held) - end >= _LOOK_AHEAD
            or (held[end:].strip() and "[" not in held[end:])
        ):
            return end
        match = None
    return None


def says_unknown(text: str) -> bool:
    """Return whether a sentence only says that the answer is not known."""
    return _UNKNOWN.match(text) is not None
