"""How often does a text say that something is: daily, twice a week, every six hours?"""

from vademecum.text.late import late
from vademecum.text.normalise import fold

# Minutes; months and years apart, since a month is no number of days.
_UNITS = {
    "hour": 60.0, "hora": 60.0, "day": 1440.0, "dia": 1440.0, "night": 1440.0, "noite": 1440.0,
    "noche": 1440.0, "week": 10080.0, "semana": 10080.0, "minute": 1.0, "minuto": 1.0,
    "घण्टा": 60.0, "घंटे": 60.0, "दिन": 1440.0, "हप्ता": 10080.0, "हफ्ते": 10080.0,
}  # fmt: skip
_MONTHS = {"month": 1.0, "mes": 1.0, "mese": 1.0, "year": 12.0, "ano": 12.0}
_UNIT = rf"(?P<unit>(?:{'|'.join([*_UNITS, *_MONTHS])})s?)(?!\p{{L}})"
_EVERY = r"(?:every|each|per|cada|a\s+cada|por|todas?\s+as?|tod[oa]s?\s+(?:os?|los|las))"
_A = rf"(?:an?|{_EVERY}|al|ao|a\s+la|na|no|en\s+el)"
_ADVERBS = {
    "day": r"daily|diari[oa]s?|diariamente",
    "week": r"weekly|semanal(?:mente)?|semana(?:is|les)",
    "month": r"monthly|mensal(?:mente)?|mensais|mensual(?:mente|es)?",
    "year": r"yearly|annual(?:ly)?|anual(?:mente|es)?|anuais",
    "hour": r"hourly",
}
_FORMS = tuple(
    late(rf"(?<![\p{{L}}\d.,]){form}")
    for form in (
        (
            rf"(?:(?P<times>\d+)\s+(?:times|vezes|veces)|(?P<once>once|uma\s+vez|una\s+vez))"
            rf"\s+(?:{_A})\s+(?:(?P<count>\d+)\s+)?{_UNIT}"
        ),
        rf"de\s+(?P<count>\d+)\s+em\s+\d+\s+{_UNIT}",
        rf"de\s+{_UNIT}\s+em\s+\p{{L}}+",
        rf"(?:every|each|cada)\s+(?:(?P<count>\d+)\s+|other\s+)?{_UNIT}",
    )
)
_SAID = {unit: late(rf"(?<!\p{{L}})(?:{form})(?!\p{{L}})") for unit, form in _ADVERBS.items()}


def frequencies(text: str) -> frozenset[tuple[str, float]]:
    """Return how far apart in time the text says that things are, as (kind, length): minutes, or
    months. Number words must be digits already. "3 times a day" is ("time", 480)."""
    folded = fold(text)
    found = {
        _apart(match["unit"], match.groupdict())
        for form in _FORMS
        for match in form.finditer(folded)
    }
    found |= {_apart(unit, {}) for unit, form in _SAID.items() if form.search(folded)}
    return frozenset(found)


def _apart(unit: str, parts: dict[str, str | None]) -> tuple[str, float]:
    share = int(parts.get("count") or 1) / max(1, int(parts.get("times") or 1))
    name = unit if unit in _UNITS or unit in _MONTHS else unit.removesuffix("s")
    if name in _UNITS:
        return "time", _UNITS[name] * share
    return "months", _MONTHS[name] * share
