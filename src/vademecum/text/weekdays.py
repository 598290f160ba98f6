"""Which days of the week does a text name?"""

import regex

from vademecum.text.normalise import fold

_NAMES = (
    "monday mondays segunda-feira segundas-feiras lunes lundi montag",
    "tuesday tuesdays terca terca-feira tercas tercas-feiras martes mardi dienstag",
    "wednesday wednesdays quarta-feira quartas-feiras miercoles mercredi mittwoch",
    "thursday thursdays quinta-feira quintas-feiras jueves jeudi donnerstag",
    "friday fridays sexta-feira sextas-feiras viernes vendredi freitag",
    "saturday saturdays sabado sabados samedi samstag",
    "sunday sundays domingo domingos dimanche sonntag",
)
_DAYS = {name: number for number, names in enumerate(_NAMES) for name in names.split()}
# "Segunda", "quarta", "quinta" and "sexta" are also ordinals: only beside another day.
_ORDINALS = {"segunda": 0, "quarta": 2, "quinta": 3, "sexta": 4, "segundas": 0, "quartas": 2}
_ORDINALS |= {"quintas": 3, "sextas": 4}
_NAME = "|".join(sorted([*_DAYS, *_ORDINALS], key=len, reverse=True))
_RANGE = regex.compile(
    rf"\b({_NAME})\s*(?:-|–|to|through|until|a|ao|al|ate|hasta)\s*(?:el\s+|o\s+)?({_NAME})\b"
)
_LIST = regex.compile(
    rf"\b(?:{_NAME})(?:,?\s*(?:,|and|or|e|y|ou|o)\s+(?:aos\s+|los\s+)?(?:{_NAME}))+\b"
)
_ONE = regex.compile(rf"\b({'|'.join(sorted(_DAYS, key=len, reverse=True))})\b")
_ANY = regex.compile(rf"\b({_NAME})\b")


def weekdays(text: str) -> frozenset[int]:
    """Return the named days, Monday as 0; `terça a sábado` names five."""
    folded = fold(text)
    found = {_DAYS[name] for name in _ONE.findall(folded)}
    for first, last in _RANGE.findall(folded):
        begin, end = _number(first), _number(last)
        found.update((begin + step) % 7 for step in range((end - begin) % 7 + 1))
    for listed in _LIST.findall(folded):
        found.update(_number(name) for name in _ANY.findall(listed))
    return frozenset(found)


def _number(name: str) -> int:
    return _DAYS[name] if name in _DAYS else _ORDINALS[name]
