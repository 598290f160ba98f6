"""Which hard facts does a text state, and which of a claim's facts does its evidence lack?"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from vademecum.text.analyse import codes
from vademecum.text.content import is_light
from vademecum.text.dates import Day, days, seasons
from vademecum.text.late import late
from vademecum.text.normalise import fold, plain
from vademecum.text.number_words import with_digits
from vademecum.text.quantities import Amount, amounts
from vademecum.text.stated.bounds import Bound, bounds
from vademecum.text.stated.clocks import Clock, clocks
from vademecum.text.stated.fractions import with_amounts
from vademecum.text.stated.frequency import frequencies
from vademecum.text.weekdays import weekdays

# "1" may be an article in the source, and "once" or "uma vez" as well.
_ONE = late(r"\b(?:one|an?|once|single|um|uma|unico|unica|un|una|sola?|primeir[oa]|first)\b")
# 158 349, but not 1 2 3 or 10 20.
_SPACED = late(r"(?<![\d.,])[1-9]\d{0,2}(?: \d{3})+(?![\d.,]?\d)")
# "A week's notice", "in un mese"; not "twice a week" or "5 euros la hora".
_ARTICLE = late(
    r"(?<!\d\s?|times\s|vezes\s|veces\s|vez\s|once\s|[%€$£]\s?|\d\s\p{L}+\s)"
    r"(?<![\p{L}\d])(?:an?|one|uma?|una?)\s+(?:full\s+|whole\s+|single\s+|únic[oa]\s+)?"
    r"(?P<unit>per\s?cent|por\s+ciento|por\s+cento|hour|day|week|month|year|hora|dia|día|semana|m[eê]s|ano|año)(?=['’]s|(?!\p{L}))",
    regex.IGNORECASE,
)
_EVERY_SECOND = late(r"\b1 (?:day|dia|día)(?=\s+(?:before|antes|earlier|ahead))")
_ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            "", "third terceiro terceira tercero tercera tercer", "fourth", "fifth quinto",
            "sixth sexto", "seventh setimo setima septimo septima", "eighth oitavo oitava octavo",
            "ninth nono noveno novena", "tenth decimo decima",
        ),
        start=2,
    )
    for word in words.split()
}  # fmt: skip
# "On the third floor", not "a third of it".
_ORDINAL_NOUN = late(
    rf"(?<!\p{{L}}|\b(?:an?|uma?|una?)\s)({'|'.join(_ORDINALS)}|sétim[oa]|séptim[oa]|décim[oa])"
    r"(?=\s+(?!part)(?P<noun>\p{Ll}{3,}))"
)
_LETTERS = late(r"\p{L}+")
_HYPHENS = late(r"[-_\u2010-\u2015\u2212]")
# Languages whose number words are read. In others a small number may be spelled unseen.
SPELLED = frozenset(["en", "es", "hi", "ne", "pt"])
_SPELLED_UNTIL = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a text states in numbers, times, days, days of the week and codes.

    `spans` are the lengths of time between two times of day. `numbers` also holds those that stand
    in a day or in groups apart; `tight` is the folded text without hyphens; `spelled`: number words
    of its language were read as well.
    """

    amounts: tuple[Amount, ...]
    spans: tuple[Amount, ...]
    bounds: tuple[Bound, ...]
    clocks: tuple[Clock, ...]
    frequencies: frozenset[tuple[str, float]]
    days: tuple[Day, ...]
    seasons: tuple[tuple[int, int], ...]
    weekdays: frozenset[int]
    codes: frozenset[str]
    numbers: frozenset[str]
    tight: str
    spelled: bool

    @property
    def several(self) -> bool:
        """Whether the text states more than one fact, so that one may be the other's condition."""
        told = len(self.amounts) + len(self.clocks) + len(self.days) + len(self.codes)
        return told + bool(self.weekdays) > 1

    @property
    def any(self) -> bool:
        return bool(self.amounts or self.clocks or self.days or self.weekdays or self.codes)


def facts(text: str, language: str) -> Facts:
    """Return the hard facts of a text; `language` (ISO 639-1) reads words such as "once"."""
    named, rest = days(text)
    times, rest = clocks(rest)
    article = _ARTICLE.sub(r"1 \g<unit>", with_amounts(with_digits(rest, language)))
    spaced = _EVERY_SECOND.sub(" ", _ORDINAL_NOUN.sub(_counted, article))
    written = _SPACED.sub(lambda match: match.group().replace(" ", ""), spaced)
    stated = amounts(written)
    numbers = {amount.number for amount in (*stated, *amounts(spaced))}
    numbers |= {str(t // 60) for clock in times for t in clock.readings if t % 60 == 0}
    for day in named:
        numbers.update(str(part) for part in (day.year, day.day) if part is not None)
    if _ONE.search(fold(text)):
        numbers.add("1")
    return Facts(
        amounts=tuple(stated),
        spans=tuple(Amount(f"{m / 60:g}", "time", float(m)) for m in _spans(times)),
        bounds=bounds(written),
        clocks=tuple(times),
        frequencies=frequencies(written),
        days=tuple(named),
        seasons=tuple(seasons(text)) if len(named) > 1 else (),
        weekdays=weekdays(plain(text)),
        codes=frozenset(codes(text)),
        tight=_HYPHENS.sub("", fold(text)),
        spelled=language in SPELLED,
        numbers=frozenset(numbers),
    )


def _counted(match: regex.Match[str]) -> str:
    """Return an ordinal in digits, any other word as it is."""
    number = None if is_light(fold(match["noun"])) else _ORDINALS.get(fold(match[1]))
    return str(number or match[1])


def _spans(times: Sequence[Clock]) -> set[int]:
    """Return how many minutes lie between the times that a text joins: from 14 to 16 are 120."""
    return {
        (last - first) % 1440
        for clock in times
        for first in clock.readings
        for last in clock.until
        if (last - first) % 1440
    }


def lacking(claim: Facts, evidence: Facts, around: Facts) -> str:
    """Return the kind of the first fact of the claim that the evidence does not state, or "".

    `around` holds the facts of all that the evidence stands in: it may give a day its year.
    """
    if any(_lacks_code(code, claim, evidence) for code in claim.codes):
        return "code"
    if not claim.weekdays <= (evidence.weekdays or around.weekdays):
        return "date"
    if not all(has_clock(c, evidence) or _in_span(c, claim, evidence) for c in claim.clocks):
        return "number"
    seasoned = [day for day in claim.days if evidence.seasons and _of_month(day, claim)]
    if not all(_has_day(day, evidence, around) for day in claim.days if day not in seasoned):
        return "date"
    kinds = (
        "" if _in_bounds(amount, claim, evidence) else _missing_of(amount, evidence)
        for amount in claim.amounts
    )
    missing = next((kind for kind in kinds if kind), "")
    return missing or ("" if has_frequency(claim, evidence) else "number")


def has_clock(clock: Clock, evidence: Facts) -> bool:
    """Return whether a time of day is told, by itself or as a bare hour."""
    hours = {str(time // 60) for time in clock.readings if time % 60 == 0}
    return any(clock.same(other) for other in evidence.clocks) or any(
        amount.number in hours and amount.kind is None for amount in evidence.amounts
    )


def _in_span(clock: Clock, claim: Facts, evidence: Facts) -> bool:
    """Return whether a time that the claim speaks of lies in a span that the evidence tells."""
    return claim.several and any(span.holds(clock) for span in evidence.clocks)


def _in_bounds(amount: Amount, claim: Facts, evidence: Facts) -> bool:
    """Return whether an amount that the claim supposes ("a child of eight pays 5 euros") lies
    within the limits that the evidence sets. Limits themselves must be told."""
    if any(bound.speaks_of(amount) for bound in claim.bounds) or not claim.several:
        return False
    told = [bound for bound in evidence.bounds if bound.speaks_of(amount)]
    return any(bound.holds(amount) for bound in told)


def has_frequency(claim: Facts, evidence: Facts) -> bool:
    """Return whether nothing that the evidence tells of how often speaks against the claim."""
    if not claim.frequencies or not evidence.frequencies:
        return True
    return not claim.frequencies.isdisjoint(evidence.frequencies)


def _of_month(day: Day, claim: Facts) -> bool:
    """Return whether a claim speaks of a month as a whole, which a season may hold or leave out."""
    return day.day is None and not claim.seasons


def _has_day(day: Day, evidence: Facts, around: Facts) -> bool:
    # A day that frames the whole text need not be told again; another one here speaks against it.
    same = [other for other in evidence.days or around.days if day.agrees(other)]
    years = {other.year for other in same} | {_year(n) for n in around.numbers}
    return bool(same) and (day.year is None or day.year in years)


def _missing_of(amount: Amount, evidence: Facts) -> str:
    if any(amount.same(other) for other in (*evidence.amounts, *evidence.spans)):
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
