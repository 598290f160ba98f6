"""Does the statement that a claim is about say the contrary of it?"""

from collections.abc import Sequence

from vademecum.answer.evidence import Page, Reading, Statement
from vademecum.text.content import alike
from vademecum.text.stated.pieces import pieces
from vademecum.text.stated.stances import Stance, stance

# Statements that fit a claim nearly as well as the best one are looked at as well, best first.
_AS_GOOD = 0.015
# A claim is within what a statement is restricted to where it holds so much of its words.
_WITHIN = 0.6


def denied(claim: Reading, page: Page, scores: Sequence[float]) -> bool | None:
    """Return whether the statements that fit the claim best, by `scores`, say its contrary; None
    where they say nothing for or against it."""
    own = [
        stance(claim.text[piece.start : piece.end], claim.language) for piece in pieces(claim.text)
    ]
    best = max(scores)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    for place in order:
        if scores[place] < best - _AS_GOOD:
            return None
        told = [_against(mine, page.statements[place], claim) for mine in own]
        if any(told):
            return True
        if any(said is False for said in told):
            return False
    return None


def _against(mine: Stance, part: Statement, claim: Reading) -> bool | None:
    """Return whether a statement says the contrary of a stance; None where it is about another
    thing."""
    theirs = part.stance
    if theirs.only and not _within(theirs.only, claim.words):
        signs = {axis: -sign for axis, sign in theirs.signs.items()}
        if not theirs.signs and not theirs.denied:
            return not mine.denied
    else:
        signs = dict(theirs.signs)
    shared = [axis for axis in mine.signs if axis in signs]
    if shared:
        return any(mine.signs[axis] != signs[axis] for axis in shared)
    return None


def _within(restricted: Sequence[str], words: Sequence[str]) -> bool:
    held = sum(any(alike(word, other) for other in words) for word in restricted)
    return held >= _WITHIN * len(restricted)
