"""Which values does a claim state, and where does its source state these or others?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import regex

from vademecum.answer.evidence import Page, Reading, Statement
from vademecum.text.analyse import words
from vademecum.text.content import alike, is_light
from vademecum.text.dates import Day, days
from vademecum.text.facts import has_clock
from vademecum.text.late import late
from vademecum.text.names import is_named
from vademecum.text.normalise import fold
from vademecum.text.number_words import is_number_word, with_digits
from vademecum.text.quantities import Amount
from vademecum.text.stated.clocks import Clock, clocks
from vademecum.text.weekdays import without_weekdays

_DIGITS = late(r"\d[\d.,:h]*")
_NUMBER_LAST = late(r"(?:^|\s)\d+\W*$")
_WORD = late(r"\p{L}+")
_BETWEEN_NAMES = r"(?:\s+(?:d[aeo]s?|del|of|the|la|el))*[\s-]+"
_BEHIND = frozenset(["es", "pt"])
_X = "X"
# A part of a claim with fewer words says too little by itself of what its value is about.
_FEWEST_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value of a claim: the text and words of the claim without it, which statements hold it,
    and which hold another one of its kind. `sort`: amount, clock, day, weekday, name, modifier."""

    sort: str
    rest: str
    words: tuple[str, ...]
    held: Callable[[Statement], bool]
    other: Callable[[Statement], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a claim, with the text and words in which its values are masked."""

    own: Statement
    claim: Reading
    page: Page
    text: str
    words: tuple[str, ...]


def values(own: Statement, claim: Reading, page: Page) -> Iterator[Value]:
    """Yield the values of a part of a claim, as they are looked for in a page."""
    whole = len([w for w in own.words if not w[0].isdigit()]) < _FEWEST_WORDS
    told = claim.words if whole else own.words
    part = _Part(
        own=own,
        claim=claim,
        page=page,
        text=claim.text if whole else own.own,
        words=tuple(w for w in told if not (w[0].isdigit() or is_number_word(w))),
    )
    yield from _amounts(part)
    yield from _clocks(part)
    yield from _days(part)
    yield from _names(part)
    yield from _modifiers(part)


def _amounts(part: _Part) -> Iterator[Value]:
    rest = _DIGITS.sub(_X, with_digits(part.text, part.claim.language))
    for amount in part.own.facts.amounts:
        kinds = _kinds(amount, part.page)
        yield Value(
            sort="amount",
            rest=rest,
            words=part.words,
            held=partial(_holds_amount, amount),
            other=partial(_holds_other_amount, part.claim.facts.amounts, kinds, part.words),
        )


def _holds_amount(amount: Amount, there: Statement) -> bool:
    return any(amount.same(other) for other in there.facts.amounts)


def _holds_other_amount(
    said: Sequence[Amount],
    kinds: frozenset[str | None],
    words: Sequence[str],
    there: Statement,
) -> bool:
    """Return whether a statement holds an amount of these kinds that is not among those said. Of
    bare numbers only those count that stand beside one of the words; a number at the end has left
    out its unit: "power tools after 4"."""
    spoken = any(_holds(there.words, word) for word in words)
    gapped = _NUMBER_LAST.search(there.own) is not None
    return any(
        (other.kind in kinds if other.kind else (spoken and None in kinds) or gapped)
        and not any(one.same(other) for one in said)
        for other in there.facts.amounts
    )


def _kinds(amount: Amount, page: Page) -> frozenset[str | None]:
    """Return the kinds that an amount has where the page states it; a bare one may be of any."""
    if amount.kind:
        return frozenset([amount.kind])
    same = [o for part in page.statements for o in part.facts.amounts if amount.same(o)]
    return frozenset(o.kind for o in same)


def _clocks(part: _Part) -> Iterator[Value]:
    for clock in part.own.facts.clocks:
        yield Value(
            sort="clock",
            rest=clocks(part.text)[1],
            words=part.words,
            held=partial(_holds_clock, clock),
            other=partial(_holds_other_clock, part.claim.facts.clocks),
        )


def _holds_clock(clock: Clock, there: Statement) -> bool:
    return has_clock(clock, there.facts)


def _holds_other_clock(said: Sequence[Clock], there: Statement) -> bool:
    return any(not any(one.same(other) for one in said) for other in there.facts.clocks)


def _days(part: _Part) -> Iterator[Value]:
    for day in part.own.facts.days:
        yield Value(
            sort="day",
            rest=days(part.text)[1],
            words=part.words,
            held=partial(_holds_day, day),
            other=_holds_days,
        )
    if named := part.own.facts.weekdays:
        yield Value(
            sort="weekday",
            rest=without_weekdays(part.text),
            words=part.words,
            held=partial(_holds_weekdays, named),
            other=_holds_any_weekday,
        )


def _holds_day(day: Day, there: Statement) -> bool:
    return any(day.agrees(other) for other in there.facts.days or there.lead_facts.days)


def _holds_days(there: Statement) -> bool:
    return bool(there.facts.days)


def _holds_weekdays(named: frozenset[int], there: Statement) -> bool:
    return named <= (there.facts.weekdays or there.lead_facts.weekdays)


def _holds_any_weekday(there: Statement) -> bool:
    return bool(there.facts.weekdays)


def _names(part: _Part) -> Iterator[Value]:
    """Yield the names that stand side by side as one, with the noun before them: "Hall Cedar"."""
    frame, said = frozenset(part.page.frame.words), frozenset(part.claim.words)
    for run in _runs(part.own, frame):
        named = _BETWEEN_NAMES.join(map(regex.escape, run))
        pattern = rf"(?:\p{{Ll}}{{3,}}\s+)?(?i:{named})\p{{L}}*(?:\s+\p{{Lu}}\p{{L}}*)*"
        yield Value(
            sort="name",
            rest=regex.sub(pattern, _X, part.text, count=1),
            words=tuple(w for w in part.words if w not in run),
            held=partial(_holds_names, tuple(run)),
            other=partial(_holds_other_name, said | frame),
        )


def _runs(part: Statement, frame: frozenset[str]) -> list[list[str]]:
    """Return the names of a part that its source's title does not hold, neighbours together."""
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


def _holds_names(run: Sequence[str], there: Statement) -> bool:
    return all(is_named(name, there.words) for name in run)


def _holds_other_name(said: frozenset[str], there: Statement) -> bool:
    return any(not is_named(name, said) for name in there.names)


def _modifiers(part: _Part) -> Iterator[Value]:
    """Yield the words that tell one thing from others of its kind: "rowing" of "rowing club"."""
    names = (*part.own.names, *part.claim.names)
    for word, kind in _told_kinds(part.own.own, part.claim.language):
        if word not in names:
            yield Value(
                sort="modifier",
                rest=_without(part.text, word),
                words=tuple(w for w in part.words if w != word),
                held=partial(_tells, word, kind, part.page.language),
                other=partial(_tells_otherwise, word, kind, part.page.language, part.claim.words),
            )


def _tells(word: str, kind: str, language: str, there: Statement) -> bool:
    """Return whether a statement tells the kind of thing by this word."""
    told = _told_kinds(there.own, language)
    return any(alike(name, kind) and alike(other, word) for other, name in told)


def _tells_otherwise(
    word: str, kind: str, language: str, said: Sequence[str], there: Statement
) -> bool:
    """Return whether a statement tells the kind of thing by a word that the claim lacks."""
    return any(
        alike(name, kind) and not alike(other, word) and not _holds(said, other)
        for other, name in _told_kinds(there.own, language)
    )


def _told_kinds(text: str, language: str) -> list[tuple[str, str]]:
    """Return (what tells it, kind of thing) of neighbours in a text: in Portuguese and Spanish what
    tells it stands behind, in other languages before."""
    pairs = [two for two in pairwise(words(text)) if not any(map(_is_no_kind, two))]
    return [two[::-1] for two in pairs] if language in _BEHIND else pairs


def _is_no_kind(word: str) -> bool:
    return is_light(word) or not word.isalpha() or is_number_word(word)


def _without(text: str, word: str) -> str:
    """Return the text with an X for a folded word."""
    return _WORD.sub(lambda m: _X if fold(m.group()) == word else m.group(), text)


def _holds(words: Sequence[str], word: str) -> bool:
    return any(alike(word, other) for other in words)
