"""Does the statement that a claim is about say the contrary of it?"""

from collections.abc import Sequence

from vademecum.answer.evidence import Page, Reading, Statement
from vademecum.text.content import alike
from vademecum.text.dates import in_season
from vademecum.text.stated.stances import SPAN, Stance

# Statements that fit a claim nearly as well as the best one are looked at as well, best first.
_AS_GOOD = 0.03
# A claim is within what a statement is restricted to where it holds so much of its words.
_WITHIN = 0.5
_NAME_WEIGHT = 3
# So many words of a statement that says nothing on any axis must be the claim's own.
_SAME_WORDS = 2


def denied(mine: Stance, claim: Reading, page: Page, scores: Sequence[float]) -> bool | None:
    """Return whether the statements that fit a part of a claim best, by `scores`, say its
    contrary; None where they say nothing for or against it."""
    best = max(scores)
    told: dict[str, bool] = {}
    for place in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if scores[place] < best - _AS_GOOD:
            break
        for axis, contrary in _against(mine, page.statements[place], claim, page).items():
            told.setdefault(axis, contrary)
    return any(told.values()) if told else None


def _against(mine: Stance, part: Statement, claim: Reading, page: Page) -> dict[str, bool]:
    """Return for each axis on which both say something whether the statement says the contrary."""
    theirs = part.stance
    signs = dict(theirs.signs)
    beyond = theirs.only and not _within(theirs.only, claim.words, page)
    if beyond or _is_out_of_season(claim, part):
        signs = {axis: -sign for axis, sign in signs.items()}
        same = sum(_holds(claim.words, word) for word in part.words)
        if not signs and not theirs.denied and same >= _SAME_WORDS:
            return {"only": not mine.denied}
    shared = [axis for axis in mine.signs if axis in signs and axis != SPAN]
    return {axis: mine.signs[axis] != signs[axis] for axis in shared}


def _is_out_of_season(claim: Reading, part: Statement) -> bool:
    """Return whether the claim is about a month that the statement's span of months leaves out."""
    spans = part.facts.seasons or part.lead_facts.seasons
    months = [day.month for day in claim.facts.days if day.day is None]
    if not spans or not months or claim.facts.seasons:
        return False
    return not any(in_season(month, span) for span in spans for month in months)


def _within(restricted: Sequence[str], words: Sequence[str], page: Page) -> bool:
    weights = {word: _weight(word, page) for word in restricted}
    held = sum(weight for word, weight in weights.items() if _holds(words, word))
    return held >= _WITHIN * sum(weights.values())


def _weight(word: str, page: Page) -> float:
    return (_NAME_WEIGHT if word in page.names else 1) / max(1, page.spread(word))


def _holds(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
