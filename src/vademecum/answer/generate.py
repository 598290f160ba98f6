"""How does a model's stream of pieces become whole sentences?"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import regex

from vademecum.answer.markers import MARKER, MARKER_BEGUN
from vademecum.errors import ServiceAway
from vademecum.model.answer import Usage
from vademecum.ports.language_model import LanguageModel, Prompt, TokenCounter
from vademecum.text.late import late
from vademecum.text.sentences import sentence_spans

_MARK = late(
    r"(?P<latin>[.!?…]+)[\"'”’»)*_`]*"  # a blank or a marker must follow
    r"|[。！？｡।॥۔؟]+[\"'”’」』）)*_`]*"
    r"|[^\S\n]*\n\s*"
)
# Markers belong to the sentence before them on their line, or alone on the line below it.
_MARKERS = late(
    rf"(?:[^\S\n]*{MARKER})*(?:\s*\n\s*{MARKER}(?:[^\S\n]*{MARKER})*(?=[^\S\n]*(?:\n|$)))*"
)
# Blanks, markers, and the beginning of a marker or of initials, which tell more when they go on.
_UNDECIDED = late(rf"\s*(?:{MARKER}\s*)*(?:{MARKER_BEGUN}|\p{{Lu}}\.?)?")
_WHOLE = late(rf"(?:[.!?…。！？｡।॥۔؟][\"'”’»)」』）*_`]*|{MARKER})\s*$")
_UNKNOWN = late(
    r"^\W*(?:(?:sorry\W+)?i (?:don['’]t|do not) know|(?:eu )?não sei|(?:yo )?no (?:lo )?sé)\W*$",
    regex.IGNORECASE,
)
# Not even text without a sentence's end may grow past this many letters a token allowed.
_LETTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The stream's end: what the provider counted, and whether the text stopped mid-sentence."""

    usage: Usage
    cut: bool


async def sentences(
    model: LanguageModel, prompt: Prompt, counter: TokenCounter
) -> AsyncGenerator[str | Written, None]:
    """Yield each sentence as soon as it is whole, markers included, then one Written.

    How the stream is divided into pieces changes nothing. A model that ignores the prompt's
    `max_tokens` is stopped there. Where the provider fails, the whole sentences that came are
    yielded before its error is raised: ServiceAway.
    """
    held = ""
    left = prompt.max_tokens
    usage = Usage(prompt_tokens=0, completion_tokens=0)
    away: ServiceAway | None = None
    try:
        async with aclosing(model.stream(prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Usage):
                    usage = piece
                    continue
                whole, held = _split(held + piece)
                kept, left = _afford(whole, left, counter)
                for sentence in kept:
                    yield sentence
                if left < 0 or len(held) > _LETTERS_PER_TOKEN * left:
                    yield Written(usage=usage, cut=True)
                    return
    except ServiceAway as error:
        away = error
        # The last word, and whatever number it ends in, may be half of one.
        held = held[: max(held.rfind(mark) for mark in " \n]") + 1]
    whole, held = _split(held, ended=True)
    kept, left = _afford([*whole, held] if held.strip() and away is None else whole, left, counter)
    for sentence in kept:
        yield sentence
    if away is not None:
        raise away
    used_up = not usage.completion_tokens or usage.completion_tokens >= prompt.max_tokens
    unfinished = bool(kept) and not _WHOLE.search(kept[-1])
    yield Written(usage=usage, cut=left < 0 or (unfinished and used_up))


def _split(text: str, *, ended: bool = False) -> tuple[list[str], str]:
    """Return the whole sentences of a text that are not blank, and the rest of it."""
    whole: list[str] = []
    while (end := first_end(text, ended=ended)) is not None:
        sentence, text = text[:end], text[end:]
        if sentence.strip():
            whole.append(sentence)
    return whole, text


def _afford(
    sentences: Sequence[str], left: int, counter: TokenCounter
) -> tuple[Sequence[str], int]:
    """Return the sentences that `left` tokens allow, and what is left: below 0 if not all fit."""
    for number, sentence in enumerate(sentences):
        left -= counter.count(sentence)
        if left < 0:
            return sentences[:number], left
    return sentences, left


def first_end(held: str, *, ended: bool = False) -> int | None:
    """Return where the first sentence of a text ends, its markers included.

    None = it has no end, or, unless the text has `ended`, what comes next may still change it.
    """
    for mark in _MARK.finditer(held):
        if mark.end() == len(held):
            return len(held) if ended else None
        behind = mark.start() if mark.group().isspace() else mark.end()
        markers = _MARKERS.match(held, behind)
        after = markers.end() if markers else behind
        if not ended and _UNDECIDED.fullmatch(held, after):
            return None
        end = max(after, mark.end())
        if mark.group("latin") is None or _ends(held, mark.end(), end):
            return end
    return None


def _ends(held: str, mark: int, after: int) -> bool:
    """Return whether a sentence ends at a mark before `mark`, whose markers end at `after`."""
    if not held[mark].isspace() and after == mark:
        return False
    without_markers = f"{held[:mark]} {held[after:].lstrip(' ')}"
    return any(end == mark for _, end in sentence_spans(without_markers))


def says_unknown(text: str) -> bool:
    """Return whether a sentence only says that the answer is not known."""
    return _UNKNOWN.match(text) is not None
