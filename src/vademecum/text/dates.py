"""Which days does a text name, however they are spelled?"""

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold, plain

_MONTHS = (
    "january janeiro enero janvier januar", "february fevereiro febrero fevrier februar",
    "march marco marzo mars marz", "april abril avril", "may maio mayo mai",
    "june junho junio juin juni", "july julho julio juillet juli",
    "august agosto aout", "september setembro septiembre setiembre septembre",
    "october outubro octubre octobre oktober", "november novembro noviembre novembre",
    "december dezembro diciembre decembre dezember",
)  # fmt: skip
_INDIC_MONTHS = (
    "जनवरी",
    "फरवरी फ़रवरी फेब्रुअरी",
    "मार्च",
    "अप्रैल अप्रिल",
    "मई मे",
    "जून",
    "जुलाई जुलाइ",
    "अगस्त",
    "सितंबर सितम्बर सेप्टेम्बर",
    "अक्टूबर अक्तूबर अक्टोबर",
    "नवंबर नवम्बर नोभेम्बर",
    "दिसंबर दिसम्बर डिसेम्बर",
)
_SHORT_MONTHS = (
    "jan ene", "feb fev", "mar", "apr abr", "may mai", "jun", "jul", "aug ago", "sep sept set",
    "oct out", "nov", "dec dez dic",
)  # fmt: skip
_MONTH = {name: n for n, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH |= {fold(name): n for n, names in enumerate(_INDIC_MONTHS, 1) for name in names.split()}
_SHORT = {name: n for n, names in enumerate(_SHORT_MONTHS, 1) for name in names.split()}
# In capitals only: "may" and "march" are also verbs, "mars" is a planet, in lower case months of
# French as well.
_CAPITAL = frozenset(["may", "march", "mars"])
_LETTERS = r"\p{L}[\p{L}\p{M}]+"
_D = r"(\d{1,2})(?:o(?=\sde\b)|°|st|nd|rd|th|er|\.)?"
_TO = (
    r"(?:\s*[-–—/]\s*"
    r"|\s+(?:a|ao|al|to|e|y|and|et|bis|und|until|through|até|hasta)\s+(?:el\s+|o\s+)?)"
)
_OF = r"(?:\s+(?:de|of|del)\s+|\s*-\s*|\s+)"
_YEAR = r"(?:(?:,?\s+|\s*-\s*)(?:de\s+|of\s+|del\s+)?(\d{4})(?!\d))?"
_WRITTEN = late(rf"(?<!\d)(?:{_D}{_TO})?{_D}{_OF}({_LETTERS})\.?{_YEAR}")
_MONTH_FIRST = late(
    rf"({_LETTERS})\.?\s+{_D}(?:{_TO}(\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?![\d:.]\d){_YEAR}"
)
_MONTH_ALONE = late(rf"(?<!\p{{L}})({_LETTERS})(?:\s+(?:de\s+|of\s+|del\s+)?(\d{{4}}))?(?!\d)")
_YEAR_FIRST = late(
    r"(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)|(?<!\d)(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日"
)
_YEAR_LAST = late(r"(?<![\d.,/-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
_DAY_MONTH = late(r"(?<![\d.,/-])(\d{1,2})/(\d{1,2})(?![\d/])|(\d{1,2})\s*月\s*(\d{1,2})\s*日")
_MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, or a month, as far as a text says which. `swapped`: day and month may be the other
    way round, as in 04/08."""

    year: int | None
    month: int
    day: int | None
    swapped: bool = False

    def agrees(self, other: "Day") -> bool:
        """Return whether `other` may be what this one says: what both give is equal, and this
        one's day is given by `other` as well."""
        if self.year is not None and other.year is not None and self.year != other.year:
            return False
        return any(
            mine[0] == theirs[0] and (mine[1] is None or mine[1] == theirs[1])
            for mine in self.readings()
            for theirs in other.readings()
        )

    def readings(self) -> list[tuple[int, int | None]]:
        """Return (month, day) as it may be read."""
        readings: list[tuple[int, int | None]] = [(self.month, self.day)]
        if self.swapped and self.day is not None and self.day <= 12:
            readings.append((self.day, self.month))
        return readings


_ORDINAL_ALONE = late(r"\b[Tt]he\s+(\d{1,2})(?:st|nd|rd|th)(?=\s*(?:$|[.,;:)]|\p{Ll}{2,4}\s))")
_SEASON = late(rf"({_LETTERS})\s*(?:to|until|till|through|and|a|e|y|até|hasta|-|–)\s*({_LETTERS})")


def seasons(text: str) -> list[tuple[int, int]]:
    """Return the (first, last) month of each span of months in a text: "November to February"."""
    pairs = [
        (_month(m[1], short=False), _month(m[2], short=False))
        for m in _SEASON.finditer(plain(text), overlapped=True)
    ]
    return [(first, last) for first, last in pairs if first and last]


def in_season(month: int, season: tuple[int, int]) -> bool:
    """Return whether a month lies within a span of months, over the end of the year as well."""
    first, last = season
    return first <= month <= last if first <= last else month >= first or month <= last


def days(text: str) -> tuple[list[Day], str]:
    """Return the days that a text names, and the text with blanks in their places."""
    text = plain(text)
    found: list[Day] = []
    for pattern, read in _READERS:
        masked = text
        for match in pattern.finditer(text):
            if read_days := list(read(match)):
                found += read_days
                start, end = match.span()
                masked = masked[:start] + " " * (end - start) + masked[end:]
        text = masked
    if found:  # "3 to 6 March ... the 9th" names no month again
        months = [day.month for day in found]
        for match in _ORDINAL_ALONE.finditer(text):
            found += _valid(None, months[-1], match[1])
    return found, text


def _year_first(match: regex.Match[str]) -> Iterator[Day]:
    year, month, day = (match[1], match[3], match[4]) if match[1] else match.group(5, 6, 7)
    yield from _valid(year, int(month), day)


def _year_last(match: regex.Match[str]) -> Iterator[Day]:
    year = match[4] if len(match[4]) == 4 else f"20{match[4]}"
    yield from _numeric(int(match[1]), int(match[3]), year)


def _day_month(match: regex.Match[str]) -> Iterator[Day]:
    if match[1]:
        yield from _numeric(int(match[1]), int(match[2]), None)
    else:
        yield from _valid(None, int(match[3]), match[4])


def _numeric(first: int, second: int, year: str | None) -> Iterator[Day]:
    day, month = (first, second) if second <= 12 else (second, first)
    if _exists(month, day):
        swapped = first <= 12 and second <= 12
        yield Day(int(year) if year else None, month, day, swapped)


def _written(match: regex.Match[str]) -> Iterator[Day]:
    first, last, name, year = match.groups()
    month = _month(name, short=bool(year) or match[0].rstrip().endswith("."))
    if month:
        for day in (first, last):
            if day:
                yield from _valid(year, month, day)


def _month_first(match: regex.Match[str]) -> Iterator[Day]:
    name, first, last, year = match.groups()
    month = _month(name, short=bool(year))
    if month:
        for day in (first, last):
            if day:
                yield from _valid(year, month, day)


def _month_alone(match: regex.Match[str]) -> Iterator[Day]:
    month = _month(match[1], short=False)
    if month:
        yield Day(int(match[2]) if match[2] else None, month, None)


def _valid(year: str | None, month: int, day: str) -> Iterator[Day]:
    if _exists(month, int(day)):
        yield Day(int(year) if year else None, month, int(day))


def _exists(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _MOST_DAYS[month - 1]


def is_month(word: str) -> bool:
    """Return whether a word is the name of a month in one of the languages."""
    return _month(word, short=False) is not None


def _month(name: str, *, short: bool) -> int | None:
    folded = fold(name)
    if folded in _CAPITAL and not name[0].isupper():
        return None
    return _MONTH.get(folded) or (_SHORT.get(folded) if short else None)


_READERS = (
    (_YEAR_FIRST, _year_first),
    (_YEAR_LAST, _year_last),
    (_WRITTEN, _written),
    (_MONTH_FIRST, _month_first),
    (_DAY_MONTH, _day_month),
    (_MONTH_ALONE, _month_alone),
)
