"""Which statements does a sentence join, and what does each take over from those before it?"""

from dataclasses import dataclass

import regex

from vademecum.text.sentences import sentence_spans

_COUNT = r"\d[\d.,]*\s*(?:%|h)?"
_JOINS = regex.compile(
    r"\s*[;:()–—।]\s*|,(?=\s)\s*"
    rf"|(?<!\w)(?<!{_COUNT}\s)(?:and|e|y|र|और)(?!\w)(?!\s+(?:a\s+half|mei[ao]\b|medi[ao]\b|cuarto))"
    rf"|(?<=\d\s)(?:and|e|y)(?=\s+\p{{L}})(?!\s+(?:a\s+half|mei[ao]\b|medi[ao]\b))"
    r"|\s(?=(?:except|exceto|excepto|salvo|unless)(?!\w))"
    r"|(?<!\w)(?:but|while|whereas|mas|enquanto|pero|mientras|तर|लेकिन)(?!\w)",
    regex.IGNORECASE,
)
# "Cats, no": what stands alone behind a comma answers for what is before it.
_ANSWERS = frozenset(["no", "não", "not", "nunca", "never", "sí", "sim", "yes", "também", "también"])


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement of a text, `start` to `end` in code points; its sentence begins at `first`."""

    start: int
    end: int
    first: int
    sentence: int


def pieces(text: str) -> list[Piece]:
    """Return the statements of a text in order: its sentences, cut at marks and conjunctions.

    A range is not cut: "between 29 and 10 days" is one.
    """
    found: list[Piece] = []
    for number, (start, end) in enumerate(sentence_spans(text) or [(0, len(text))]):
        at = start
        for match in _JOINS.finditer(text, start, end):
            _add(found, text, Piece(at, match.start(), start, number))
            at = match.end()
        _add(found, text, Piece(at, end, start, number))
    return found


def _add(found: list[Piece], text: str, piece: Piece) -> None:
    own = text[piece.start : piece.end].strip(" \n.!")
    if found and found[-1].sentence == piece.sentence and own.casefold() in _ANSWERS:
        found[-1] = Piece(found[-1].start, piece.end, piece.first, piece.sentence)
    elif any(letter.isalnum() for letter in own):
        found.append(piece)
