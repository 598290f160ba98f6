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
_ONE = regex.compile(
    r"\b(?:one|an?|once|single|um|uma|unico|unica|un|una|sola?|primeir[oa]|first)\b"
)
# 158 349, but not 1 2 3 or 10 20.
_SPACED = regex.compile(r"(?<![\d.,])[1-9]\d{0,2}(?: \d{3})+(?![\d.,]?\d)")
_LETTERS = regex.compile(r"\p{L}+")
_HYPHENS = regex.compile(r"[-_\u2010-\u2015\u2212]")
# Languages whose number words are read. In others a small number may be spelled unseen.
SPELLED = frozenset(["en", "es", "pt"])
_SPELLED_UNTIL = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a text states in numbers, days, days of the week and codes.

    `numbers` also holds those that stand in a day or in groups apart; `tight` is the folded text
    without hyphens; `spelled`: number words of its language were read as well.
    """

    amounts: tuple[Amount, ...]
    days: tuple[Day, ...]
    weekdays: frozenset[int]
    codes: frozenset[str]
    numbers: frozenset[str]
    tight: str
    spelled: bool

    @property
    def any(self) -> bool:
        return bool(self.amounts or self.days or self.weekdays or self.codes)


def facts(text: str, language: str) -> Facts:
    """Return the hard facts of a text; `language` (ISO 639-1) reads words such as "once"."""
    named, rest = days(text)
    spaced = with_digits(rest, language)
    stated = amounts(_SPACED.sub(lambda match: match.group().replace(" ", ""), spaced))
    numbers = {amount.number for amount in (*stated, *amounts(spaced))}
    for day in named:
        numbers.update(str(part) for part in (day.year, day.day) if part is not None)
    if _ONE.search(fold(text)):
        numbers.add("1")
    return Facts(
        amounts=tuple(stated),
        days=tuple(named),
        weekdays=weekdays(plain(text)),
        codes=frozenset(codes(text)),
        tight=_HYPHENS.sub("", fold(text)),
        spelled=language in SPELLED,
        numbers=frozenset(numbers),
    )


def lacking(claim: Facts, evidence: Facts, around: Facts) -> str:
    """Return the kind of the first fact of the claim that the evidence does not state, or "".

    `around` holds the facts of all that the evidence stands in: it may give a day its year.
    """
    if any(_lacks_code(code, claim, evidence) for code in claim.codes):
        return "code"
    if not claim.weekdays <= evidence.weekdays:
        return "date"
    if not all(_has_day(day, evidence, around) for day in claim.days):
        return "date"
    kinds = (_missing_of(amount, evidence) for amount in claim.amounts)
    return next((kind for kind in kinds if kind), "")


def _has_day(day: Day, evidence: Facts, around: Facts) -> bool:
    same = [other for other in evidence.days if day.agrees(other)]
    years = {other.year for other in same} | {_year(n) for n in around.numbers}
    return bool(same) and (day.year is None or day.year in years)


def _missing_of(amount: Amount, evidence: Facts) -> str:
    if any(amount.same(other) for other in evidence.amounts):
        return ""
    if amount.number not in evidence.numbers:
        unseen = not evidence.spelled and _often_spelled(amount.number)
        return "" if unseen else "number"
    of_other_kind = any(amount.number == o.number and o.kind for o in evidence.amounts)
    return "unit" if of_other_kind and amount.kind else ""


def _lacks_code(code: str, claim: Facts, evidence: Facts) -> bool:
    """Two words that only look like a code ("NBC 60") may stand apart in the evidence."""
    if code in evidence.codes or code in evidence.tight:
        return False
    return code in claim.tight or _LETTERS.sub("", code) not in evidence.numbers


def _often_spelled(number: str) -> bool:
    return number.isdecimal() and int(number) <= _SPELLED_UNTIL


def _year(number: str) -> int | None:
    return int(number) if number.isdecimal() and len(number) == 4 else None
