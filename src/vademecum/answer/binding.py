"""Does a value of a claim stand, in its source, in the statement that the claim is about?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from vademecum.answer.denial import denied
from vademecum.answer.evidence import Page, Reading, Statement, read_statements
from vademecum.answer.nearness import Nearness
from vademecum.text.content import alike, content_words
from vademecum.text.dates import days
from vademecum.text.facts import Facts, has_clock
from vademecum.text.names import is_named
from vademecum.text.normalise import fold
from vademecum.text.number_words import is_number_word, with_digits
from vademecum.text.quantities import Amount
from vademecum.text.stated.stances import SPAN, without_stance
from vademecum.text.stated.clocks import clocks
from vademecum.text.weekdays import without_weekdays

_WHY = {
    "amount": "number", "clock": "number", "day": "date", "weekday": "date", "name": "name",
    "modifier": "name",
}  # fmt: skip
_DIGITS = regex.compile(r"\d[\d.,:h]*")
_X = "X"
_NUMBER_LAST = regex.compile(r"(?:^|\s)\d+\W*$")
_BETWEEN_NAMES = r"(?:\s+(?:d[aeo]s?|del|of|the|la|el))*[\s-]+"
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
# A part of a claim with fewer words says too little by itself of what its value is about.
_FEWEST_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What the statements that a claim is about say against it: `denied` is None where they say
    nothing for or against it, `turned` the same of who gives to whom, `misplaced` the kind of a
    value that stands elsewhere, or "". `placed`: a value stands where the claim says."""

    denied: bool | None
    turned: bool | None
    misplaced: str
    placed: bool

    @property
    def agrees(self) -> bool:
        """Whether a statement says the same on what may be denied, or of who gives to whom, or
        holds a value of the claim of which the source states several."""
        return not self.misplaced and (self.placed or False in (self.denied, self.turned))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """One value of a claim, of a sort that `_WHY` names: the text and words of the claim without it, which statements hold it,
    and which hold another one of its kind."""

    sort: str
    rest: str
    words: tuple[str, ...]
    held: Callable[[Statement], bool]
    other: Callable[[Statement], bool]


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
    return Against(
        denied=any(said) if said else None,
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
        if straight and not any(all(two) for two in straight):
            if any(s for s, _ in straight) and any(t for _, t in straight):
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
    for value in _values(part, claim, page):
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
        total += sum(
            1 if any(d.agrees(o) for o in facts.days) else -0.5 for d in said.days
        )
    if sort not in ("amount", ""):
        for amount in said.amounts:
            total += any(amount.same(o) for o in facts.amounts)
    return total


def _values(part: Statement, claim: Reading, page: Page) -> Iterator[_Value]:
    whole = len([w for w in part.words if not w[0].isdigit()]) < _FEWEST_WORDS
    text = claim.text if whole else part.own
    told = claim.words if whole else part.words
    words = tuple(w for w in told if not (w[0].isdigit() or is_number_word(w)))
    yield from _amounts(part, claim, page, text, words)
    yield from _times(part, claim, text, words)
    yield from _days(part, text, words)
    yield from _names(part, claim, page, text, words)
    yield from _modified(part, claim, text, words)


def _amounts(
    part: Statement, claim: Reading, page: Page, text: str, words: tuple[str, ...]
) -> Iterator[_Value]:
    rest = _DIGITS.sub(_X, with_digits(text, claim.language))
    said = claim.facts.amounts
    for amount in part.facts.amounts:
        kinds = _kinds(amount, page)
        yield _Value(
            sort="amount",
            rest=rest,
            words=words,
            held=lambda there, a=amount: any(a.same(o) for o in there.facts.amounts),
            other=lambda there, k=kinds: any(
                (o.kind in k or _is_gapped(o, there)) and not any(s.same(o) for s in said)
                for o in there.facts.amounts
            ),
        )


def _is_gapped(amount: Amount, there: Statement) -> bool:
    """Return whether a number stands at the end without its unit: "power tools after 4"."""
    return amount.kind is None and _NUMBER_LAST.search(there.own) is not None


def _kinds(amount: Amount, page: Page) -> frozenset[str | None]:
    """Return the kinds that an amount has where the page states it; a bare one may be of any."""
    if amount.kind:
        return frozenset([amount.kind])
    same = [o for part in page.statements for o in part.facts.amounts if amount.same(o)]
    return frozenset(o.kind for o in same)


def _times(
    part: Statement, claim: Reading, text: str, words: tuple[str, ...]
) -> Iterator[_Value]:
    said = claim.facts.clocks
    for clock in part.facts.clocks:
        yield _Value(
            sort="clock",
            rest=clocks(text)[1],
            words=words,
            held=lambda there, c=clock: has_clock(c, there.facts),
            other=lambda there: any(
                not any(s.same(o) for s in said) for o in there.facts.clocks
            ),
        )


def _days(part: Statement, text: str, words: tuple[str, ...]) -> Iterator[_Value]:
    for day in part.facts.days:
        yield _Value(
            sort="day",
            rest=days(text)[1],
            words=words,
            held=lambda there, d=day: any(
                d.agrees(o) for o in there.facts.days or there.lead_facts.days
            ),
            other=lambda there: bool(there.facts.days),
        )
    if named := part.facts.weekdays:
        yield _Value(
            sort="weekday",
            rest=without_weekdays(text),
            words=words,
            held=lambda there: named <= (there.facts.weekdays or there.lead_facts.weekdays),
            other=lambda there: bool(there.facts.weekdays),
        )


def _names(
    part: Statement, claim: Reading, page: Page, text: str, words: tuple[str, ...]
) -> Iterator[_Value]:
    """Yield the names that stand side by side as one, with the noun before them: "Hall Cedar"."""
    frame, said = set(page.frame.words), set(claim.words)
    for run in _runs(part, frame):
        named = _BETWEEN_NAMES.join(map(regex.escape, run))
        pattern = rf"(?:\p{{Ll}}{{3,}}\s+)?(?i:{named})\p{{L}}*(?:\s+\p{{Lu}}\p{{L}}*)*"
        yield _Value(
            sort="name",
            rest=regex.sub(pattern, _X, text, count=1),
            words=tuple(w for w in words if w not in run),
            held=lambda there, r=run: all(is_named(n, set(there.words)) for n in r),
            other=lambda there: any(
                not is_named(n, said) and not is_named(n, frame) for n in there.names
            ),
        )


def _modified(
    part: Statement, claim: Reading, text: str, words: tuple[str, ...]
) -> Iterator[_Value]:
    """Yield the words that tell one thing from others of its kind: "rowing" of "rowing club"."""
    for first, second in pairwise(part.words):
        for word, kind, after in ((first, second, False), (second, first, True)):
            if word[0].isdigit() or word in part.names or word in claim.names:
                continue
            yield _Value(
                sort="modifier",
                rest=_without(text, word),
                words=tuple(w for w in words if w != word),
                held=lambda there, w=word, k=kind, a=after: _has_pair(there, w, k, a),
                other=lambda there, w=word, k=kind, a=after: _has_other(there, claim, w, k, a),
            )


def _has_pair(there: Statement, word: str, kind: str, after: bool) -> bool:
    """Return whether a statement tells the kind of thing by this word."""
    pairs = [two if after else two[::-1] for two in pairwise(there.words)]
    return any(alike(name, kind) and alike(other, word) for name, other in pairs)


def _has_other(there: Statement, claim: Reading, word: str, kind: str, after: bool) -> bool:
    """Return whether a statement tells the kind of thing by another word, which the claim lacks."""
    pairs = [two if after else two[::-1] for two in pairwise(there.words)]
    return any(
        alike(name, kind) and not alike(other, word) and not _holds(claim.words, other)
        for name, other in pairs
    )


def _without(text: str, word: str) -> str:
    """Return the text with an X for a folded word."""
    return regex.sub(r"\p{L}+", lambda m: _X if fold(m.group()) == word else m.group(), text)


def _runs(part: Statement, frame: set[str]) -> list[list[str]]:
    runs: list[list[str]] = []
    before = ""
    for word in part.words:
        if word in part.names and not is_named(word, frame):
            if before in part.names and runs:
                runs[-1].append(word)
            else:
                runs.append([word])
        before = word
    return runs


def _holds(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
