"""Does a value of a claim stand, in its source, in the statement that the claim is about?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from vademecum.answer.denial import denied
from vademecum.answer.evidence import Page, Reading, Statement
from vademecum.answer.nearness import Nearness
from vademecum.text.content import alike
from vademecum.text.dates import days
from vademecum.text.facts import Facts, has_clock
from vademecum.text.names import is_named
from vademecum.text.number_words import with_digits
from vademecum.text.stated.clocks import clocks
from vademecum.text.stated.frames import transfer
from vademecum.text.stated.pieces import pieces
from vademecum.text.weekdays import without_weekdays

_DIGITS = regex.compile(r"\d[\d.,:h]*")
_X = "X"
# What one of the claim's words is worth that only one statement holds, in cosine.
_WORD = 0.02
# A statement with another value must fit so much better than the one that holds the value.
_BETTER = 0.004
# What a statement takes over from the earlier ones of its sentence counts so much.
_TAKEN_OVER = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """One value of a claim: the claim without it, which statements hold it, and which hold
    another one of its kind."""

    why: str
    rest: str
    soft: tuple[str, ...]
    held: Callable[[Statement], bool]
    other: Callable[[Statement], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What the statements that a claim is about say against it: `denied` is None where they say
    nothing for or against it, `turned` the same of who gives to whom, `misplaced` the kind of a
    value that stands elsewhere, or ""."""

    denied: bool | None
    turned: bool | None
    misplaced: str


async def against_place(claim: Reading, page: Page, nearness: Nearness) -> Against:
    """Return what speaks against a claim where its source speaks of the same.

    Raises: as TokenEncoder does.
    """
    scores = await _scores(claim.text, claim.words, "", claim, page, nearness)
    return Against(
        denied=denied(claim, page, scores),
        turned=_turned(claim, page, scores),
        misplaced=await _misplaced(claim, page, nearness),
    )


def _turned(claim: Reading, page: Page, scores: Sequence[float]) -> bool | None:
    """Return whether what goes from one to another in the claim goes the other way in the
    statement that fits it best of those that move something between the same two."""
    moved = [
        (scores[i], part.transfer.like(mine))
        for mine in (
            transfer(claim.text[p.start : p.end], claim.text[p.first : p.start])
            for p in pieces(claim.text)
        )
        for i, part in enumerate(page.statements)
        if mine and part.transfer and (part.transfer.like(mine) or part.transfer.against(mine))
    ]
    return not max(moved)[1] if moved else None


async def _misplaced(claim: Reading, page: Page, nearness: Nearness) -> str:
    """Return the kind of the first value that stands elsewhere than what is said of it, or "".

    A value is bound to the statement that fits the rest of the claim best. It is misplaced where
    a statement with another value of the kind fits better than every one that holds it.
    """
    for value in _values(claim, page):
        held = [i for i, part in enumerate(page.statements) if value.held(part)]
        others = [
            i for i, part in enumerate(page.statements) if i not in held and value.other(part)
        ]
        if not held or not others:
            continue
        scores = await _scores(value.rest, value.soft, value.why, claim, page, nearness)
        if max(scores[i] for i in others) > max(scores[i] for i in held) + _BETTER:
            return value.why
    return ""


async def _scores(
    text: str, words: Sequence[str], why: str, claim: Reading, page: Page, nearness: Nearness
) -> list[float]:
    """Return how well each statement fits a text and words of a claim; `why` is what is asked."""
    own, leads = [p.own for p in page.statements], [p.lead for p in page.statements]
    fits = await nearness.fits(text, own, leads)
    return [
        near + _WORD * (_shared(words, page, part) + _conditions(why, claim.facts, part))
        for near, part in zip(fits, page.statements, strict=True)
    ]


def _shared(words: Sequence[str], page: Page, part: Statement) -> float:
    """Return how many of the claim's words a statement holds, rare ones more."""
    total = 0.0
    for word in words:
        spread = sum(_holds(other.words, word) for other in page.statements)
        if _holds(part.words, word):
            total += 1 / spread
        elif _holds(part.lead_words, word):
            total += _TAKEN_OVER / max(1, spread)
    return total


def _conditions(why: str, claim: Facts, part: Statement) -> float:
    """Return what the limits of a statement say to the amounts of a claim: 1 for each that lies
    within, -1 for each that lies beyond."""
    total = 0.0
    for amount in claim.amounts:
        for facts, weight in ((part.facts, 1.0), (part.lead_facts, _TAKEN_OVER)):
            told = [b for b in facts.bounds if b.speaks_of(amount)]
            if told:
                total += weight if any(b.holds(amount) for b in told) else -weight
                break
    if claim.weekdays and why != "date":
        for facts, weight in ((part.facts, 1.0), (part.lead_facts, _TAKEN_OVER)):
            if facts.weekdays:
                total += weight if claim.weekdays <= facts.weekdays else -weight
                break
    return total


def _values(claim: Reading, page: Page) -> list[_Value]:
    found = [*_amounts(claim), *_times(claim), *_days(claim), *_names(claim, page)]
    return found


def _amounts(claim: Reading) -> list[_Value]:
    rest = _DIGITS.sub(_X, with_digits(claim.text, claim.language))
    return [
        _Value(
            why="number",
            rest=rest,
            soft=claim.soft,
            held=lambda part, a=amount: any(a.same(o) for o in part.facts.amounts),
            other=lambda part, a=amount: any(
                o.kind == a.kind and not a.same(o) for o in part.facts.amounts
            ),
        )
        for amount in claim.facts.amounts
    ]


def _times(claim: Reading) -> list[_Value]:
    rest = clocks(claim.text)[1] if claim.facts.clocks else ""
    return [
        _Value(
            why="number",
            rest=rest,
            soft=claim.soft,
            held=lambda part, c=clock: has_clock(c, part.facts),
            other=lambda part: bool(part.facts.clocks),
        )
        for clock in claim.facts.clocks
    ]


def _days(claim: Reading) -> list[_Value]:
    found = []
    if claim.facts.days:
        rest = days(claim.text)[1]
        found += [
            _Value(
                why="date",
                rest=rest,
                soft=claim.soft,
                held=lambda part, d=day: any(d.agrees(o) for o in part.facts.days),
                other=lambda part: bool(part.facts.days),
            )
            for day in claim.facts.days
        ]
    if claim.facts.weekdays:
        found.append(
            _Value(
                why="date",
                rest=without_weekdays(claim.text),
                soft=claim.soft,
                held=lambda part: claim.facts.weekdays <= part.facts.weekdays,
                other=lambda part: bool(part.facts.weekdays),
            )
        )
    return found


def _names(claim: Reading, page: Page) -> list[_Value]:
    found = []
    frame = set(page.frame.words)
    for name in claim.names:
        if is_named(name, frame):
            continue
        without = [w for w in claim.words if w != name]
        found.append(
            _Value(
                why="name",
                rest=_without(claim.text, name),
                soft=tuple(w for w in without if not w[0].isdigit()),
                held=lambda part, n=name: is_named(n, set(part.words)),
                other=lambda part, n=name: any(
                    not is_named(o, set(claim.words)) and not is_named(o, frame)
                    for o in part.names
                ),
            )
        )
    return found


def _without(text: str, name: str) -> str:
    return regex.sub(rf"(?i)(?<!\p{{L}}){regex.escape(name)}\p{{L}}*", _X, text)


def _holds(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
