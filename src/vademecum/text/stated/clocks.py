"""Which times of day does a text tell, in digits or in words?"""

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from vademecum.text.late import late

_HOURS = {
    word: hour
    for hour, words in enumerate(
        (
            "one uma una", "two duas dos", "three três tres", "four quatro cuatro", "five cinco",
            "six seis", "seven sete siete", "eight oito ocho", "nine nove nueve",
            "ten dez diez", "eleven onze once", "twelve doze doce",
        ),
        start=1,
    )
    for word in words.split()
}  # fmt: skip
_MINUTES = {
    "quarter": 15, "quarto": 15, "cuarto": 15, "half": 30, "meia": 30, "media": 30,
    "five": 5, "cinco": 5, "ten": 10, "dez": 10, "diez": 10, "twenty": 20, "vinte": 20,
    "veinte": 20, "twenty-five": 25, "vinte e cinco": 25, "veinticinco": 25, "fifteen": 15,
    "quinze": 15, "quince": 15, "thirty": 30, "trinta": 30, "treinta": 30,
}  # fmt: skip
_NOON, _MIDNIGHT = "noon midday meio-dia mediodía mediodia", "midnight meia-noite medianoche"
_NAMED = dict.fromkeys(_NOON.split(), 720) | dict.fromkeys(_MIDNIGHT.split(), 0)


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_HOUR = rf"(?P<hour>\d{{1,2}}(?![\d,])|(?:{_any(_HOURS)})(?!\p{{L}}))"
_WORD_HOUR = rf"(?P<hour>\d{{1,2}}|{_any([*_HOURS, *_NAMED])})"
_PAST = rf"(?P<past>\d{{1,2}}|{_any(_MINUTES)})"
_PART = (
    r"(?:\s*(?P<part>[ap]\.?\s?m\b\.?|in\s+the\s+(?:morning|afternoon|evening)|at\s+night"
    r"|(?:da|de\s+la)\s+(?:manhã|mañana|tarde|noite|noche|madrugada)))"
)
# A bare hour counts where what follows is no thing that is counted.
_ENDS = (
    r"(?=\s*(?:$|[.,;:)!?–]|(?:on|and|or|in|every|each|daily|during|until|to|from|by|the|when|e|y|o|ou"
    r"|a|à|às|de|da|do|em|en|no|na|nos|nas|los|las|el|ao|aos|até|hasta|quando|cuando|para|se|si)\s))"
)
_AT = (
    r"(?:(?:at|by|until|till|before|after|from|since|between|to|and)\s+"
    r"|(?:às|as|das|pelas|até|ate)\s+(?:as\s+)?|(?:a|de|desde|hasta|sobre|y|entre)\s+las?\s+|las?\s+)"
)
_FORMS = tuple(
    late(rf"(?<![\p{{L}}\d.,:])(?:{form})", regex.IGNORECASE)
    for form in (
        # 19:30, 19h30, 7.30 p.m., 8h
        rf"(?P<hour>\d{{1,2}})(?:[:h]|\.(?=\d\d\s?[ap]\.?\s?m))(?P<past>\d{{2}})(?![\d:]){_PART}?",
        (
            rf"(?<!(?:por|for|em|en|in|within|cada|every|each|of|durante|dentro de)\s)"
            rf"(?P<hour>\d{{1,2}})h"
            rf"(?![\p{{L}}\d]){_PART}?"
        ),
        rf"(?<={_AT})(?P<hour>\d{{1,2}})\s+h(?![\p{{L}}\d]){_PART}?",
        # half past six, twenty to four
        (
            rf"(?<!(?:from|between)\s)(?:a\s+)?(?:(?P<past>\d{{1,2}})\s+minutes\s+"
            rf"|(?P<past>{_any(_MINUTES)})\s+(?:minutes\s+)?)(?P<side>past|to)\s+{_WORD_HOUR}(?![\p{{L}}\d]){_PART}?"
        ),
        # quinze para as seis, um quarto para a meia-noite
        rf"(?:um\s+)?{_PAST}\s+(?P<side>para)\s+(?:as?|o)\s+{_WORD_HOUR}(?![\p{{L}}\d]){_PART}?",
        # seis e meia, siete y cuarto, seis menos diez
        rf"{_HOUR}\s+(?P<side>e|y|menos)\s+(?:um\s+|un\s+)?{_PAST}(?![\p{{L}}\d]){_PART}",
        (
            rf"(?<=\b(?:as|às|das|las|la)\s){_HOUR}\s+(?P<side>e|y|menos)\s+(?:um\s+|un\s+)?{_PAST}"
            r"(?![\p{L}\d])"
        ),
        # 7 p.m., doce de la noche, eleven o'clock
        rf"{_HOUR}{_PART}",
        rf"{_HOUR}\s*o['’]clock{_PART}?",
        rf"(?:às|das|pelas|a\s+las)\s+{_HOUR}\s+horas(?!\p{{L}}){_PART}?",
        rf"(?P<hour>{_any(_NAMED)})(?![\p{{L}}\d])",
        r"(?P<before>बिहान|सुबह|साँझ|शाम|बेलुका|दिउँसो|रात|दोपहर)?\s*(?P<hour>\d{1,2})\s+बजे",
        rf"(?<={_AT}){_HOUR}(?![:h.\d-]\d|\s*(?:[%€£$h]|-)){_ENDS}",
    )
)
# From one to the other: "10:00 to 14:00", "das 6h30 às 9h".
_TO = late(
    r"\s*(?:to|until|till|through|and|-|–|a|à|às|as|e|y|até|hasta)\s*(?:as?\s+|às\s+|las?\s+)?",
    regex.IGNORECASE,
)
_LATE = late(r"p|afternoon|evening|tarde|noite|noche|night|साँझ|शाम|बेलुका|दिउँसो|रात")
_DAY = 1440


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day: the minutes after midnight that it may mean, two where a text leaves open
    which half of the day. `until` is set where a span of time begins with it."""

    readings: frozenset[int]
    until: frozenset[int] = frozenset()

    def same(self, other: "Clock") -> bool:
        """Return whether both may be one time."""
        return not self.readings.isdisjoint(other.readings)

    def holds(self, other: "Clock") -> bool:
        """Return whether the other lies in the span that begins here."""
        return any(
            (first <= time <= last) if first <= last else (time >= first or time <= last)
            for first in self.readings
            for last in self.until
            for time in other.readings
            if (last - first) % _DAY <= _DAY * 0.7
        )


def clocks(text: str) -> tuple[list[Clock], str]:
    """Return the times of day of a text in order, and the text with blanks in their places."""
    found: list[tuple[int, int, frozenset[int]]] = []
    for form in _FORMS:
        masked = text
        for match in form.finditer(text):
            if readings := _readings(match.groupdict()):
                found.append((*match.span(), readings))
                start, end = match.span()
                masked = masked[:start] + "\x1f" * (end - start) + masked[end:]
        text = masked
    found.sort()
    read = [Clock(readings, _until(text, found, i)) for i, (_, _, readings) in enumerate(found)]
    return read, text.replace("\x1f", " ")


def _until(text: str, found: list[tuple[int, int, frozenset[int]]], place: int) -> frozenset[int]:
    if place + 1 < len(found) and _TO.fullmatch(text, found[place][1], found[place + 1][0]):
        return found[place + 1][2]
    return frozenset()


def _readings(parts: dict[str, str | None]) -> frozenset[int]:
    hour = (parts["hour"] or "").lower()
    past, side = (parts.get("past") or "0").lower(), (parts.get("side") or "").lower()
    minutes = _MINUTES.get(past, int(past) if past.isdecimal() else 0)
    if hour in _NAMED:
        return frozenset([(_NAMED[hour] + (minutes if side == "past" else -minutes)) % _DAY])
    number = _HOURS.get(hour, int(hour) if hour.isdecimal() else 99)
    if number > 24 or minutes > 59:
        return frozenset()
    time = number * 60 + (-minutes if side in ("to", "para", "menos") else minutes)
    part = (parts.get("part") or parts.get("before") or "").lower()
    return _of_day(time, number, part)


def _of_day(time: int, hour: int, part: str) -> frozenset[int]:
    if hour > 12 or (hour == 0 and not part):
        return frozenset([time % _DAY])
    early, late = time % 720, time % 720 + 720
    if not part:
        return frozenset([early, late])
    if hour == 12 and ("night" in part or "noite" in part or "noche" in part or part[0] == "a"):
        return frozenset([early])
    return frozenset([late if _LATE.search(part) else early])
