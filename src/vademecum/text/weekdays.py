"""Which days of the week does a text name?"""

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold

_NAMES = (
    "monday mondays segunda-feira segundas-feiras lunes lundi montag सोमबार सोमवार",
    "tuesday tuesdays terca terca-feira tercas tercas-feiras martes mardi dienstag मंगलबार मंगलवार",
    "wednesday wednesdays quarta-feira quartas-feiras miercoles mercredi mittwoch बुधबार बुधवार",
    "thursday thursdays quinta-feira quintas-feiras jueves jeudi donnerstag बिहीबार गुरुवार",
    "friday fridays sexta-feira sextas-feiras viernes vendredi freitag शुक्रबार शुक्रवार",
    "saturday saturdays sabado sabados samedi samstag शनिबार शनिवार",
    "sunday sundays domingo domingos dimanche sonntag आइतबार रविवार",
)
_DAYS = {name: number for number, names in enumerate(_NAMES) for name in names.split()}
# "Segunda", "quarta", "quinta" and "sexta" are also ordinals: only beside another day.
_ORDINALS = {"segunda": 0, "quarta": 2, "quinta": 3, "sexta": 4, "segundas": 0, "quartas": 2}
_ORDINALS |= {"quintas": 3, "sextas": 4}
# ... or where they stand as a time does: "toda quarta à tarde", "às sextas".
_ALONE = late(
    rf"(?<!\p{{L}})(?:toda|todas\s+as|nas?|as|ate|numa|cada)\s+({'|'.join(_ORDINALS)})"
    r"(?=\s*(?:$|[.,;:)]|(?:a|as|ao|e|ou|no|na|de\s+manha|pela|das|quando)\s))"
)
_SPANS = (
    (late(r"\b(?:week-?ends?|fin(?:es)?\s+de\s+semana|fim\s+de\s+semana|fins\s+de\s+semana)\b"),
     frozenset([5, 6])),
    (late(r"\b(?:weekdays?|entre\s+semana|dias\s+de\s+semana|(?<=(?:nos|los|em|en)\s+)dias\s+(?:uteis|laborables))\b"),
     frozenset(range(5))),
)  # fmt: skip
_NAME = "|".join(sorted([*_DAYS, *_ORDINALS], key=len, reverse=True))
_RANGE = late(
    rf"\b({_NAME})\s*(?:-|–|to|through|until|a|ao|al|ate|hasta|देखि|से)\s*(?:el\s+|o\s+)?({_NAME})\b"
)
_LIST = late(rf"\b(?:{_NAME})(?:,?\s*(?:,|and|or|e|y|ou|o)\s+(?:aos\s+|los\s+)?(?:{_NAME}))+\b")
_ONE = late(
    rf"(?<![\p{{L}}\p{{M}}])({'|'.join(sorted(_DAYS, key=len, reverse=True))})"
    r"(?![\p{L}--\p{Devanagari}])",
    regex.V1,
)
_ANY = late(rf"\b({_NAME})\b")


def weekdays(text: str) -> frozenset[int]:
    """Return the named days, Monday as 0; `terça a sábado` names five."""
    folded = fold(text)
    found = {_DAYS[name] for name in _ONE.findall(folded)}
    found.update(_ORDINALS[name] for name in _ALONE.findall(folded))
    for span, numbers in _SPANS:
        if span.search(folded):
            found |= numbers
    for first, last in _RANGE.findall(folded):
        begin, end = _number(first), _number(last)
        found.update((begin + step) % 7 for step in range((end - begin) % 7 + 1))
    for listed in _LIST.findall(folded):
        found.update(_number(name) for name in _ANY.findall(listed))
    return frozenset(found)


def _number(name: str) -> int:
    return _DAYS[name] if name in _DAYS else _ORDINALS[name]


def without_weekdays(text: str) -> str:
    """Return the text, folded, without the names of days of the week."""
    return _ANY.sub(" ", fold(text))
