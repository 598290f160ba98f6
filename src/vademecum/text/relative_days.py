"""Which day is "yesterday"? Words that tell a day from the day on which they were said."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.weekdays import weekdays

_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one um uma un una", "two dois duas dos", "three tres", "four quatro cuatro",
            "five cinco", "six seis", "seven sete siete", "eight oito ocho", "nine nove nueve",
            "ten dez diez",
        ),
        start=1,
    )
    for word in words.split()
}  # fmt: skip
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNITS = {
    "day": "day days dia dias", "week": "week weeks semana semanas",
    "month": "month months mes meses", "year": "year years ano anos",
}  # fmt: skip
_UNIT = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_ANY_UNIT = "|".join(sorted(_UNIT, key=len, reverse=True))
_WEEKDAY = (
    r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|segunda-feira|terca-feira"
    r"|quarta-feira|quinta-feira|sexta-feira|sabado|domingo|lunes|martes|miercoles|jueves|viernes)"
)
_ON = {"en": "on ", "pt": "em ", "es": "el "}
_IN = {"en": "in ", "pt": "em ", "es": "en "}


@dataclass(frozen=True, slots=True)
class Told:
    """What a text tells of the time: the text with days in place of such words, and the first day
    and the last one that it may mean; None where it names none."""

    text: str
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class _Span:
    first: date
    last: date

    def written(self, language: str) -> str:
        if self.first == self.last:
            return f"{_ON.get(language, '')}{self.first.isoformat()}"
        whole_year = (self.first.month, self.last.month) == (1, 12)
        shown = f"{self.first:%Y}" if whole_year else f"{self.first:%Y-%m}"
        if (self.last - self.first).days < 7:
            shown = f"{self.first.isoformat()}/{self.last.isoformat()}"
        return f"{_IN.get(language, '')}{shown}"


_Rule = Callable[[regex.Match[str], date], _Span]


def _day(offset: int) -> _Rule:
    def rule(_match: regex.Match[str], said_on: date) -> _Span:
        day = said_on + timedelta(days=offset)
        return _Span(day, day)

    return rule


def _ago(match: regex.Match[str], said_on: date) -> _Span:
    count = match["count"]
    number = int(count) if count.isdecimal() else _NUMBERS[count]
    return _moved(said_on, _UNIT[match["unit"]], -number)


def _neighbour(step: int) -> _Rule:
    def rule(match: regex.Match[str], said_on: date) -> _Span:
        unit = _UNIT[match["unit"]]
        if unit == "week":
            monday = said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=step)
            return _Span(monday, monday + timedelta(days=6))
        return _moved(said_on, unit, step)

    return rule


def _last_weekday(match: regex.Match[str], said_on: date) -> _Span:
    (wanted,) = weekdays(match["weekday"])
    back = (said_on.weekday() - wanted - 1) % 7 + 1
    day = said_on - timedelta(days=back)
    return _Span(day, day)


def _next_weekday(match: regex.Match[str], said_on: date) -> _Span:
    (wanted,) = weekdays(match["weekday"])
    day = said_on + timedelta(days=(wanted - said_on.weekday() - 1) % 7 + 1)
    return _Span(day, day)


def _moved(said_on: date, unit: str, count: int) -> _Span:
    """Return the day, or the whole month or year, that lies so many units away."""
    if unit == "day":
        day = said_on + timedelta(days=count)
        return _Span(day, day)
    if unit == "week":
        day = said_on + timedelta(weeks=count)
        return _Span(day, day)
    if unit == "year":
        return _Span(date(said_on.year + count, 1, 1), date(said_on.year + count, 12, 31))
    months = said_on.year * 12 + said_on.month - 1 + count
    first = date(months // 12, months % 12 + 1, 1)
    following = date((months + 1) // 12, (months + 1) % 12 + 1, 1)
    return _Span(first, following - timedelta(days=1))


# The first that fits at a place counts, so that "the day before yesterday" is no "yesterday".
_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"the day before yesterday|anteontem|antes de ontem|anteayer|antes de ayer", _day(-2)),
    (r"the day after tomorrow|depois de amanha|pasado manana", _day(2)),
    (r"last night|ontem a noite|anoche", _day(-1)),
    (r"yesterday|ontem|ayer|हिजो|कल रात", _day(-1)),
    (r"today|tonight|this (?:morning|afternoon|evening)", _day(0)),
    (r"hoje|hoy|esta (?:manha|noite|tarde|noche)", _day(0)),
    (r"tomorrow|amanha(?! de| da)|(?<!la |por la |a la )manana(?! de| por)|भोलि", _day(1)),
    (rf"(?P<count>{_NUMBER}) (?P<unit>{_ANY_UNIT}) (?:ago|atras)", _ago),
    (rf"(?:ha|faz|hace) (?P<count>{_NUMBER}) (?P<unit>{_ANY_UNIT})", _ago),
    (r"(?:last|(?:n)?[ao] ultim[ao]|el ultimo|la ultima) (?P<unit>week|month|year|semana|mes|ano)",
     _neighbour(-1)),
    (r"(?:(?:n?[ao]|la|el) )?(?P<unit>semana|mes|ano) pasad[ao]", _neighbour(-1)),
    (r"(?:(?:n?[ao]) )?(?P<unit>semana|mes|ano) passad[ao]", _neighbour(-1)),
    (r"next (?P<unit>week|month|year)", _neighbour(1)),
    (r"(?:(?:n?[ao]|la|el) )?(?:proxim[ao] )(?P<unit>semana|mes|ano)", _neighbour(1)),
    (r"(?:(?:n?[ao]|la|el) )?(?P<unit>semana|mes|ano) que vem", _neighbour(1)),
    (rf"last (?P<weekday>{_WEEKDAY})", _last_weekday),
    (rf"(?:(?:n[ao]|el) )?(?P<weekday>{_WEEKDAY}) (?:passad[ao]|pasado)", _last_weekday),
    (rf"next (?P<weekday>{_WEEKDAY})", _next_weekday),
    (rf"(?:(?:n[ao]|el) )?(?:proxim[ao] )(?P<weekday>{_WEEKDAY})", _next_weekday),
)  # fmt: skip
_COMPILED = tuple((late(rf"(?<![\p{{L}}-])(?:{p})(?![\p{{L}}-])"), r) for p, r in _RULES)


def told_days(text: str, said_on: date, language: str) -> Told:
    """Return what a text that was said on a day, in the speaker's own time zone, tells of the time.

    "Yesterday" said on 2023-05-24 is 2023-05-23; "last month" is all of April.
    """
    folded = fold(text)
    if len(folded) != len(text):
        # Where folding changes lengths, places in one are none in the other.
        folded = text.lower()
    pieces: list[str] = []
    spans: list[_Span] = []
    at = 0
    while match_and_rule := _first(folded, at):
        match, rule = match_and_rule
        span = rule(match, said_on)
        spans.append(span)
        pieces += [text[at : match.start()], span.written(language)]
        at = match.end()
    pieces.append(text[at:])
    return Told(
        text="".join(pieces),
        first=min((span.first for span in spans), default=None),
        last=max((span.last for span in spans), default=None),
    )


def _first(text: str, at: int) -> tuple[regex.Match[str], _Rule] | None:
    found = [(match, rule) for pattern, rule in _COMPILED if (match := pattern.search(text, at))]
    return min(found, key=lambda pair: pair[0].start()) if found else None
