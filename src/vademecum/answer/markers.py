"""Where in a sentence does a model cite its sources?"""

from collections.abc import Container
from dataclasses import dataclass

import regex

from vademecum.text.late import late

# One bracket: `[1]`, `[1, 2]`, `[2-3]`, `[[4]]`, `[1，2]`.
_NUMBERS = r"\d{1,3}(?:\s*[,，、;；–-]\s*\d{1,3})*"
MARKER = rf"(?:\[\[\s*{_NUMBERS}\s*\]\]|\[\s*{_NUMBERS}\s*\])"
# What may still become one when more text comes.
MARKER_BEGUN = r"\[{1,2}[\d\s,，、;；–-]*\]?"

_MARKER = late(rf"\s*({MARKER})")
_RANGE = late(r"(\d+)\s*[–-]\s*(\d+)")
_CODE = late(r"`[^`]*`")
_QUOTED = late(r"[\"“«„「『]([^\"“”«»„「」『』]*)[\"”»“」』]")
_IN_WORD = late(r"[A-Za-z0-9_]")
_LONGEST_RANGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of an answer as it was written: its words without markers, and its markers."""

    text: str
    markers: tuple[int, ...]


def read_markers(sentence: str, sources: Container[int]) -> Claim:
    """Take the citation markers out of a sentence; `sources` holds this request's numbers.

    A number that is no source's is kept as a marker, so that the check can drop it. Brackets in
    code, and in quoted words or directly after a word where they name no source, are plain text.
    """
    code = [match.span() for match in _CODE.finditer(sentence)]
    quoted = [match.span(1) for match in _QUOTED.finditer(sentence)]
    found: list[int] = []
    kept: list[str] = []
    after = 0
    for match in _MARKER.finditer(sentence):
        at, end = match.span(1)
        numbers = _numbers(match.group(1))
        known = all(number in sources for number in numbers)
        doubtful = _inside(at, quoted) or (at > 0 and _IN_WORD.match(sentence[at - 1]))
        if 0 in numbers or _inside(at, code) or (doubtful and not known):
            continue
        kept.append(sentence[after : match.start()])
        found += numbers
        after = end
    text = "".join([*kept, sentence[after:]])
    return Claim(text=text.strip(), markers=tuple(dict.fromkeys(found)))


def without_markers(text: str) -> str:
    """Return the text without anything that looks like a marker, for comparing quotations."""
    return _MARKER.sub("", text)


def _numbers(marker: str) -> list[int]:
    numbers: list[int] = []
    for first, last in _RANGE.findall(marker):
        numbers += range(int(first), min(int(last), int(first) + _LONGEST_RANGE) + 1)
    return numbers + [int(number) for number in regex.findall(r"\d+", _RANGE.sub("", marker))]


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)
