"""What does one text say that another does not? Lines first, then the words in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal

import regex

# Twice the text takes more than twice as long to compare, so each part has its end.
MOST_LETTERS = 400_000
_MOST_LINES = 3_000
_MOST_WORDS = 800
_MOST_SHOWN = 200_000
# Lines that both have which are shown before and after a change.
_AROUND = 2
# Less in common than this share of the letters: crumbs of it would tell nobody anything.
_LEAST_COMMON = 0.3
_WORD = regex.compile(r"\s+|[\p{L}\p{M}\p{N}]+|.", regex.DOTALL)

Step = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some letters of one side; `changed` where the other side has not got them."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A stretch of two texts: the `same` in both, a `change`, or a `gap` of `lines` that are the
    same and not shown. A side with nothing is ()."""

    kind: Literal["same", "change", "gap"]
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()
    lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """The rows from the first line to the last, how many words were taken out and put in, and
    whether there is more than was compared or is shown (`cut`)."""

    rows: tuple[Row, ...]
    taken_out: int
    put_in: int
    cut: bool


def differences(before: str, after: str) -> Differences:
    """Return what was taken out of a text and what was put in.

    What is over the limits is not compared line by line, or word by word, but told as a whole that
    was replaced: nothing that differs is left out but what `cut` tells of.
    """
    cut = max(len(before), len(after)) > MOST_LETTERS
    old, new = before[:MOST_LETTERS].splitlines(), after[:MOST_LETTERS].splitlines()
    rows: list[Row] = []
    letters = 0
    for row in _rows(old, new):
        letters += sum(len(piece.text) for piece in (*row.before, *row.after))
        if letters > _MOST_SHOWN and rows:
            cut = True
            break
        rows.append(row)
    return Differences(
        rows=tuple(rows),
        taken_out=sum(_changed_words(row.before) for row in rows),
        put_in=sum(_changed_words(row.after) for row in rows),
        cut=cut,
    )


def _rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    steps = _steps(old, new, _MOST_LINES)
    rows: list[Row] = []
    for place, (kind, i, j, k, m) in enumerate(steps):
        if kind == "equal":
            rows += _same(old[i:j], first=place == 0, last=place == len(steps) - 1)
        else:
            left, right = compared("\n".join(old[i:j]), "\n".join(new[k:m]))
            if left or right:  # else some empty lines, which say nothing
                rows.append(Row(kind="change", before=left, after=right))
    return rows


def _same(lines: Sequence[str], *, first: bool, last: bool) -> list[Row]:
    """Return equal lines next to a change, and a gap for those that are not."""
    head = 0 if first else _AROUND
    tail = 0 if last else _AROUND
    if len(lines) <= head + tail + 1:
        return [_told(lines)]
    middle = Row(kind="gap", lines=len(lines) - head - tail)
    ends = [_told(lines[:head])] if head else []
    return [*ends, middle, *([_told(lines[len(lines) - tail :])] if tail else [])]


def _told(lines: Sequence[str]) -> Row:
    same = (Piece(text="\n".join(lines), changed=False),)
    return Row(kind="same", before=same, after=same)


def compared(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both sides of a change in pieces, word by word where they are not too long."""
    if not before.strip() or not after.strip():
        return _whole(before), _whole(after)
    old, new = _WORD.findall(before), _WORD.findall(after)
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, i, j, k, m in _steps(old, new, _MOST_WORDS):
        if i < j:
            left.append(Piece(text="".join(old[i:j]), changed=kind != "equal"))
        if k < m:
            right.append(Piece(text="".join(new[k:m]), changed=kind != "equal"))
    common = sum(len(piece.text.strip()) for piece in left if not piece.changed)
    if common < _LEAST_COMMON * min(len(before), len(after)):
        return _whole(before), _whole(after)
    return tuple(left), tuple(right)


def _whole(text: str) -> tuple[Piece, ...]:
    shown = text.strip("\n")
    return (Piece(text=shown, changed=True),) if shown else ()


def _steps(old: Sequence[str], new: Sequence[str], most: int) -> list[Step]:
    """Return how one sequence becomes another. What both begin and end with is set aside first;
    more than `most` items between is one replacement."""
    least = min(len(old), len(new))
    begun = sum(1 for _ in takewhile(lambda at: old[at] == new[at], range(least)))
    left = least - begun
    ended = sum(1 for _ in takewhile(lambda at: old[-1 - at] == new[-1 - at], range(left)))
    mine, theirs = old[begun : len(old) - ended], new[begun : len(new) - ended]
    steps: list[Step] = [("equal", 0, begun, 0, begun)] if begun else []
    if max(len(mine), len(theirs)) > most:
        between: list[Step] = [("replace", 0, len(mine), 0, len(theirs))]
    else:
        between = [(*step,) for step in SequenceMatcher(None, mine, theirs).get_opcodes()]
    steps += [(kind, i + begun, j + begun, k + begun, m + begun) for kind, i, j, k, m in between]
    if ended:
        steps.append(("equal", len(old) - ended, len(old), len(new) - ended, len(new)))
    return steps


def _changed_words(pieces: Sequence[Piece]) -> int:
    words = (word for piece in pieces if piece.changed for word in _WORD.findall(piece.text))
    return sum(1 for word in words if word[0].isalnum())
