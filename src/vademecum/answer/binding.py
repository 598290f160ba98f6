"""Does a value of a claim stand, in its source, in the statement that the claim is about?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vademecum.answer.denial import denied
from vademecum.answer.evidence import Page, Reading, Statement, read_statements
from vademecum.answer.nearness import Nearness
from vademecum.answer.values import values
from vademecum.text.content import alike, content_words
from vademecum.text.facts import Facts, has_clock
from vademecum.text.stated.stances import SPAN, without_stance

_WHY = {
    "amount": "number", "clock": "number", "day": "date", "weekday": "date", "name": "name",
    "modifier": "name",
}  # fmt: skip
# What one of the claim's words is worth that only one statement holds, in cosine.
_WORD = 0.02
# ... and a limit that an amount of the claim keeps or passes.
_LIMIT = 0.04
# A statement with another value must fit so much better than the one that holds the value.
_BETTER = 0.004
# ... and more for a common word, which may be said in another way.
_BETTER_OF_COMMON = 0.02
# Where only the giver or only the taker is named in both, the statement fits less.
_ONE_SIDE = 0.02
# What a statement takes over from the earlier ones of its sentence counts so much.
_TAKEN_OVER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What the statements that a claim is about say against it.

    `denied` is None where they say nothing for or against it, `turned` the same of who gives to
    whom; `negative`: the claim denies something; `misplaced` is the kind of a value that stands
    elsewhere, or ""; `placed`: a value stands where the claim says.
    """

    denied: bool | None
    negative: bool
    turned: bool | None
    misplaced: str
    placed: bool

    @property
    def agrees(self) -> bool:
        """Whether a statement denies the same, or says the same of who gives to whom, or holds a
        value of the claim of which the source states several."""
        same = self.placed or self.turned is False or (self.denied is False and self.negative)
        return same and not self.misplaced


async def against_place(claim: Reading, page: Page, nearness: Nearness) -> Against:
    """Return what speaks against a claim where its source speaks of the same.

    Raises: as TokenEncoder does.
    """
    parts = read_statements(claim.text, claim.language, claim.names, coarse=True)
    told: list[bool | None] = []
    moved: list[tuple[float, bool]] = []
    placed: list[tuple[str, bool]] = []
    for part in parts:
        scores = await _scores(part, part.own, part.words, "", claim.facts, page, nearness)
        moved += _moved(part, page, scores)
        if part.stance.signs or part.stance.denied:
            about = without_stance(part.own, claim.language)
            words = content_words(about)
            scores = await _scores(part, about, words, "", claim.facts, page, nearness)
        told.append(denied(part.stance, claim, page, scores))
        placed += await _placed(part, claim, page, nearness)
    said = [one for one in told if one is not None]
    negative = any(-1 in part.stance.signs.values() for part in parts)
    if negative and said and not any(said):
        # What is denied of one thing may well be said of another: "only in the small pool".
        placed = [one for one in placed if one[0] != "modifier"]
    return Against(
        denied=any(said) if said else None,
        negative=negative,
        turned=_turned(parts, page, moved),
        misplaced=next((_WHY[sort] for sort, right in placed if not right), ""),
        placed=any(right for _, right in placed),
    )


def _turned(
    parts: Sequence[Statement], page: Page, moved: Sequence[tuple[float, bool]]
) -> bool | None:
    """Return whether what goes from one to another in the claim goes another way in its source:
    the other way round, or only from this one to others and from others to that one."""
    if moved and not max(moved)[1]:
        return True
    theirs = [part.transfer for part in page.statements if part.transfer]
    for mine in (part.transfer for part in parts if part.transfer):
        straight = [mine.straight(other) for other in theirs if mine.like(other)]
        sides = [any(side) for side in zip(*straight, strict=True)]
        if sides and all(sides) and not any(all(two) for two in straight):
            return True
    return False if moved else None


def _moved(mine: Statement, page: Page, scores: Sequence[float]) -> Iterator[tuple[float, bool]]:
    """Yield for each statement that moves something between the same as a part of a claim how well
    it fits, and whether it goes the same way."""
    for score, part in zip(scores, page.statements, strict=True):
        one = mine.transfer or mine.moved_by(part.passive)
        other = part.transfer or part.moved_by(mine.passive)
        if one and other and (one.like(other) or one.against(other)):
            both = all(one.straight(other)) or all(one.crossed(other))
            yield score - (0 if both else _ONE_SIDE), one.like(other)


async def _placed(
    part: Statement, claim: Reading, page: Page, nearness: Nearness
) -> list[tuple[str, bool]]:
    """Return the sort of each value of a part of a claim of which the source states several, and
    whether it stands where the claim says.

    A value is bound to the statement that fits the rest of its part of the claim best. It is
    misplaced where a statement with another value of the sort, which the claim does not state,
    fits better than every one that holds it.
    """
    placed: list[tuple[str, bool]] = []
    for value in values(part, claim, page):
        held = [i for i, there in enumerate(page.statements) if value.held(there)]
        others = [
            i for i, there in enumerate(page.statements) if i not in held and value.other(there)
        ]
        if not held or not others or not value.words:
            continue
        scores = await _scores(
            part, value.rest, value.words, value.sort, claim.facts, page, nearness
        )
        better = _BETTER_OF_COMMON if value.sort == "modifier" else _BETTER
        most = max(scores[i] for i in held)
        placed.append((value.sort, max(scores[i] for i in others) <= most + better))
    return placed


async def _scores(
    mine: Statement,
    text: str,
    words: Sequence[str],
    sort: str,
    said: Facts,
    page: Page,
    nearness: Nearness,
) -> list[float]:
    """Return how well each statement fits a text and words of `mine`, a part of a claim that
    states the facts `said`; `sort` is the sort of value that is asked, or ""."""
    own, leads = [p.own for p in page.statements], [p.lead for p in page.statements]
    fits = await nearness.fits(text, own, leads)
    end = mine.stance.signs.get(SPAN, 0)
    return [
        near
        + _WORD * (_shared(words, page, part) + end * part.stance.signs.get(SPAN, 0))
        + _LIMIT * _conditions(sort, said, part)
        for near, part in zip(fits, page.statements, strict=True)
    ]


def _shared(words: Sequence[str], page: Page, part: Statement) -> float:
    """Return how many of the words a statement holds, rare ones more."""
    total = 0.0
    for word in words:
        if _holds(part.words, word):
            total += 1 / page.spread(word)
        elif _holds(part.lead_words, word):
            total += _TAKEN_OVER / max(1, page.spread(word))
    return total


def _conditions(sort: str, said: Facts, part: Statement) -> float:
    """Return what the facts and limits of a statement say to the facts of a claim: 1 for each that
    is the same or lies within, -1 for each that lies beyond, -0.5 where another is told."""
    total = 0.0
    for facts, weight in ((part.lead_facts, _TAKEN_OVER), (part.facts, 1.0)):
        own = _limits(sort, said, facts) + _others(sort, said, facts)
        total = weight * own if own else total
    return total


def _limits(sort: str, said: Facts, facts: Facts) -> float:
    total = 0.0
    for amount in said.amounts:
        if told := [b for b in facts.bounds if b.speaks_of(amount)]:
            total += 1 if any(b.holds(amount) for b in told) else -1
    spans = [clock for clock in facts.clocks if clock.until]
    if spans and said.clocks and sort != "clock":
        total += 1 if any(span.holds(clock) for span in spans for clock in said.clocks) else -1
    if said.weekdays and facts.weekdays and sort != "weekday":
        total += 1 if said.weekdays <= facts.weekdays else -1
    return total


def _others(sort: str, said: Facts, facts: Facts) -> float:
    total = 0.0
    if sort not in ("clock", "") and facts.clocks:
        total += sum(1 if has_clock(c, facts) else -0.5 for c in said.clocks)
    if sort not in ("day", "") and facts.days:
        total += sum(1 if any(d.agrees(o) for o in facts.days) else -0.5 for d in said.days)
    if sort not in ("amount", ""):
        for amount in said.amounts:
            total += any(amount.same(o) for o in facts.amounts)
    return total


def _holds(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
