"""How does a foreign text stay data, wherever it stands in a prompt?"""

import regex

from vademecum.text.late import late

# What chat templates read as the end of a turn or the beginning of another, and our own tags.
_TEMPLATE = late(
    r"<(?=\||/?s>|<\s*/?\s*SYS|/?(?:start|end)_of_turn|/?(?:bos|eos|pad|unk)>|begin▁|end▁|｜"
    r"|\s*/?\s*(?:source|question|summary|turn|past|profile|memories)-)|(?<=\|)>"
    r"|\[(?=/?INST\]|/?(?:SYSTEM_PROMPT|TOOL_CALLS)\])",
    regex.IGNORECASE,
)
# Characters that nobody sees: tags, direction marks, zero-width ones but the joiners that Indic
# scripts are written with.
_UNSEEN = late(r"[\U000E0000-\U000E007F\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def inert(text: str, mark: str) -> str:
    """Return the text as data: without what ends a section or a turn, and without the unseen.

    `mark` is the random word of the prompt's own tags, which no text may hold.
    """
    text = _TEMPLATE.sub(_apart, _UNSEEN.sub("", text))
    while mark in text:
        text = text.replace(mark, "")
    return text


def _apart(match: regex.Match[str]) -> str:
    return " >" if match.group() == ">" else f"{match.group()} "
