"""Which statements does a sentence join, and what does each take over from those before it?"""

from dataclasses import dataclass

import regex

from vademecum.text.content import content_words
from vademecum.text.dates import is_month
from vademecum.text.late import late
from vademecum.text.number_words import is_number_word
from vademecum.text.sentences import sentence_spans
from vademecum.text.weekdays import weekdays

_HALF = r"(?!\s+(?:a\s+half|mei[ao]|medi[ao]|um\s+quarto|cuarto)\b)"
_MARKS = r"\s*[;()–—।]\s*|\s*:\s+"
_ANDS = rf"(?<!\w)(?P<and>and|e|y|र|और)(?!\w){_HALF}"
_BUTS = r"(?<!\w)(?:but|while|whereas|mas|enquanto|pero|mientras|तर|लेकिन)(?!\w)"
_EXCEPTS = r"\s(?=(?:except|exceto|excepto|salvo|unless)(?!\w))"
_JOINS = late(rf"{_MARKS}|,(?=\s)\s*|{_EXCEPTS}|{_ANDS}|{_BUTS}", regex.IGNORECASE)
_COARSE = late(rf"{_MARKS}|{_EXCEPTS}|{_ANDS}|{_BUTS}", regex.IGNORECASE)
_WORD = late(r"[\p{L}\p{M}\p{N}-]+")
_LAST_WORD = late(r"([\p{L}\p{M}\p{N}-]+)\W*$")
_FEWEST_WORDS = 2  # on either side of an "and" that joins statements
# A number, name or denial, by which few words make a statement.
_TELLS = late(r"\d|\p{Lu}|\b(?:not|no|não|nunca|never)\b")
# "Cats, no": what stands alone behind a comma answers for what is before it.
_ANSWERS = frozenset(
    ["no", "não", "not", "nunca", "never", "sí", "sim", "yes", "também", "también"]
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement of a text, `start` to `end` in code points; its sentence begins at `first`."""

    start: int
    end: int
    first: int
    sentence: int


def pieces(text: str, *, coarse: bool = False) -> list[Piece]:
    """Return the statements of a text in order: its sentences, cut at marks and conjunctions.

    A range is not cut ("between 29 and 10 days"), nor is a list of days or of single words.
    `coarse` does not cut at commas, which in a short text part a condition from what follows.
    """
    found: list[Piece] = []
    joins = _COARSE if coarse else _JOINS
    for number, (start, end) in enumerate(sentence_spans(text) or [(0, len(text))]):
        cuts = [m for m in joins.finditer(text, start, end) if not (m["and"] and _lists(text, m))]
        kept = [m for i, m in enumerate(cuts) if not _is_short(text, start, end, cuts, i)]
        at = start
        for match in kept:
            _add(found, text, Piece(at, match.start(), start, number))
            at = match.end()
        _add(found, text, Piece(at, end, start, number))
    return found


def _lists(text: str, match: regex.Match[str]) -> bool:
    """Return whether an "and" stands between two numbers, or two days or months."""
    before = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())
    after = _WORD.search(text, match.end())
    if not before or not after:
        return False
    words = (before[1], after.group())
    return (
        all(word[0].isdigit() or is_number_word(word) for word in words)
        or all(weekdays(f"{word}, {word}") for word in words)
        or all(is_month(word) for word in words)
    )


def _is_short(text: str, start: int, end: int, cuts: list[regex.Match[str]], place: int) -> bool:
    """Return whether an "and" has too few words on one side to join statements, or a comma only
    one word behind it: "with the large one, free"."""
    first = cuts[place - 1].end() if place else start
    last = cuts[place + 1].start() if place + 1 < len(cuts) else end
    sides = (text[first : cuts[place].start()], text[cuts[place].end() : last])
    if not cuts[place]["and"]:
        return cuts[place].group().strip() == "," and len(_WORD.findall(sides[1])) == 1
    # "... 4 kg and the large one, 7 kg": what is left out stands behind the comma.
    gap = place + 1 < len(cuts) and cuts[place + 1].group().strip() == ","
    words = [len(content_words(side)) for side in sides]
    told = _TELLS.search(sides[1]) is not None or bool(weekdays(sides[1]))
    short = words[1] < (_FEWEST_WORDS if told else _FEWEST_WORDS + 1)
    return words[0] < _FEWEST_WORDS or (short and not gap)


def _add(found: list[Piece], text: str, piece: Piece) -> None:
    own = text[piece.start : piece.end].strip(" \n.!")
    if found and found[-1].sentence == piece.sentence and own.casefold() in _ANSWERS:
        found[-1] = Piece(found[-1].start, piece.end, piece.first, piece.sentence)
    elif any(letter.isalnum() for letter in own):
        found.append(piece)
