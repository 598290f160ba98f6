"""Which hard facts does a text state, and which of a claim's facts does its evidence lack?"""

from dataclasses import dataclass

import regex

from vademecum.text.analyse import codes
from vademecum.text.dates import Day, days
from vademecum.text.normalise import fold, plain
from vademecum.text.number_words import with_digits
from vademecum.text.quantities import Amount, amounts
from vademecum.text.weekdays import weekdays

# "1" may be an article in the source, and "once" or "uma vez" as well.
_ONE = regex.compile(r"\b(?:one|an?|once|single|um|uma|unico|unica|un|una|sola?|primeir[oa]|first)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a text states in numbers, days, days of the week and codes."""

    amounts: tuple[Amount, ...]
    days: tuple[Day, ...]
    weekdays: frozenset[int]
    codes: frozenset[str]
    numbers: frozenset[str]

    @property
    def any(self) -> bool:
        return bool(self.amounts or self.days or self.weekdays or self.codes)


def facts(text: str, language: str) -> Facts:
    """Return the hard facts of a text; `language` (ISO 639-1) reads words such as "once"."""
    named, rest = days(text)
    stated = amounts(with_digits(rest, language))
    numbers = {amount.number for amount in stated}
    for day in named:
        numbers.update(str(part) for part in (day.year, day.day) if part is not None)
    if _ONE.search(fold(text)):
        numbers.add("1")
    return Facts(
        amounts=tuple(stated),
        days=tuple(named),
        weekdays=weekdays(plain(text)),
        codes=frozenset(codes(text)),
        numbers=frozenset(numbers),
    )


def lacking(claim: Facts, evidence: Facts, around: Facts) -> str:
    """Return the kind of the first fact of the claim that the evidence does not state, or "".

    `around` holds the facts of all that the evidence stands in: it may give a day its year.
    """
    if not claim.codes <= evidence.codes:
        return "code"
    if not claim.weekdays <= evidence.weekdays:
        return "date"
    for day in claim.days:
        same = [other for other in evidence.days if day.agrees(other)]
        if not same:
            return "date"
        years = {other.year for other in same} | {_year(n) for n in around.numbers}
        if day.year is not None and day.year not in years:
            return "date"
    for amount in claim.amounts:
        if any(amount.same(other) for other in evidence.amounts):
            continue
        if amount.number not in evidence.numbers:
            return "number"
        if any(amount.number == o.number and o.kind for o in evidence.amounts) and amount.kind:
            return "unit"
    return ""


def _year(number: str) -> int | None:
    return int(number) if number.isdecimal() and len(number) == 4 else None
