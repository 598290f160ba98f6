"""Which amounts does a text state, and of what: 80 cm, R$ 15, 48 hours, 12 %?"""

from dataclasses import dataclass

import regex

from vademecum.text.content import is_light
from vademecum.text.late import late
from vademecum.text.normalise import fold, western_digits
from vademecum.text.numbers import numbers

# Kind of a unit and how much it is of its kind's first unit. Months are no number of days.
_UNITS: dict[str, tuple[str, float]] = {}
for _kind, _factor, _names in (
    ("length", 1, "m metre metres meter meters metro metros"),
    ("length", 0.01, "cm centimetre centimetres centimeter centimeters centimetro centimetros"),
    ("length", 0.001, "mm millimetre millimetres millimeter millimeters milimetro milimetros"),
    ("length", 1000, "km kilometre kilometres kilometer kilometers quilometro quilometros"),
    ("length", 1000, "kilometro kilometros"),
    ("length", 1609.344, "mi mile miles milha milhas milla millas"),
    ("length", 0.3048, "ft foot feet"),
    ("length", 0.0254, "inch inches polegada polegadas pulgada pulgadas"),
    ("time", 1, "min mins minute minutes minuto minutos"),
    ("time", 1 / 60, "s sec secs second seconds segundos"),
    ("time", 60, "h hr hrs hour hours hora horas"),
    ("time", 1440, "day days dia dias"),
    ("time", 10080, "week weeks semana semanas"),
    ("months", 1, "month months mes meses"),
    ("months", 12, "year years ano anos año años"),
    ("weight", 1, "kg kilo kilos quilo quilos kilogram kilograms quilogramas kilogramos"),
    ("weight", 0.001, "g gram grams grama gramas gramo gramos"),
    ("weight", 1000, "tonne tonnes ton tons tonelada toneladas"),
    ("volume", 1, "l litre litres liter liters litro litros"),
    ("volume", 0.001, "ml millilitre millilitres milliliter milliliters mililitro mililitros"),
    ("degrees", 1, "°c"),
    ("degrees f", 1, "°f"),
    ("sound", 1, "db decibel decibels decibeis decibelios decibeles"),
    ("%", 1, "% percent"),
    ("brl", 1, "r$ brl reais real"),
    ("usd", 1, "us$ usd dollar dollars dolar dolares"),
    ("eur", 1, "€ eur euro euros"),
    ("gbp", 1, "£ gbp pound pounds libra libras"),
    ("peso", 1, "peso pesos"),
    ("times", 1, "times vezes veces"),
    ("time", 1, "मिनेट मिनट"),
    ("time", 60, "घण्टा घंटे घंटा घन्टा"),
    ("time", 1440, "दिन"),
    ("time", 10080, "हप्ता सप्ताह हफ्ते"),
    ("months", 1, "महिना महीने महीना"),
    ("months", 12, "वर्ष साल"),
    ("weight", 1, "किलो किलोग्राम"),
    ("weight", 0.001, "ग्राम"),
    ("length", 1, "मिटर मीटर"),
    ("length", 1000, "किलोमिटर किलोमीटर"),
    ("rupee", 1, "रुपैयाँ रुपये रुपया"),
    ("franc", 1, "franc francs franco francos"),
    ("speed", 1, "km/h kph"),
    ("energy", 1, "kwh"),
    ("bytes", 1, "mb"),
    ("bytes", 1000, "gb"),
    ("bytes", 0.001, "kb"),
):
    _UNITS |= {fold(_name): (_kind, _factor) for _name in _names.split()}
_INDIC_ENDING = late(r"(?:सम्म|भित्र|अघि|पछि|देखि|बाट|मा|को|का|की|लाई|लागि)+$")
# What kind of days are counted, and per what a price or a share is.
_QUALITY = {
    "working": "working business uteis util habiles habil laborables",
    "calendar": "calendar consecutive naturales corridos seguidos consecutivos",
    "per hour": "hour hora hourly",
    "per day": "day night dia noite noche daily diario diarios diaria diarias",
    "per week": "week semana weekly semanal semanais semanales",
    "per month": "month mes monthly mensal mensais mensual mensuales",
    "per year": "year ano yearly annual anual anuais anuales",
}
_QUALITIES = {word: name for name, words in _QUALITY.items() for word in words.split()}
# Adjectives: "5 euros hora" is no rate that is written so.
_RATE_ENDINGS = ("ly", "al", "ais", "ales", "ario", "arios", "aria", "arias")
_KIND_FIRST = late(r"(?<=\d\s)(working|business|calendar|consecutive)\s+(days?)", regex.IGNORECASE)
_AGAIN = late(r"\bde\s+(\d+)\s+em\s+\1\b")  # "de 6 em 6 horas" tells 6 hours once
_NOUN = late(r"\p{Latin}{4,}s")  # in the plural
_PER_EACH = late(r"\s(?:per|por|each|every|cada)\s", regex.IGNORECASE)
_PER = r"per|an?|por|al|ao|à|each|every|cada|la|el|o"
_NUMBER = r"\d+(?:[.,:]\d+|[\u00a0\u2009\u202f'’]\d{3}(?!\d))*"
_CURRENCY = r"R\$|US\$|[€£$]|(?:BRL|USD|EUR|GBP)(?!\p{L})"
_AMOUNT = late(
    rf"(?P<before>{_CURRENCY})?\s*(?<![\d.,])(?P<number>{_NUMBER})"
    rf"(?P<between>\s*-?\s*)(?P<unit>%|°\s?[CF]|{_CURRENCY}|por\s+ci?ento|per\s+cent"
    rf"|(?!(?:{_PER})\s)[\p{{L}}\p{{M}}]+)?"
    rf"(?P<clock>\d{{2}}(?!\d))?"
    rf"(?:\s*(?:/|(?<!\p{{L}})(?:{_PER})\s+(?:cada\s+|la\s+)?)(?P<per>\p{{L}}+)"
    r"|\s+(?P<what>\p{L}+))?",
    regex.IGNORECASE,
)
_PER_CENT = late(r"p[eo]r\s+ci?ent\p{L}*", regex.IGNORECASE)
_HALVES = late(r"\b(?:half\s+an\s+hour|meia\s+hora|media\s+hora)\b", regex.IGNORECASE)
_AFTERNOON = late(r"\b(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\.?(?![\p{L}])", regex.IGNORECASE)


# Of a number that a noun follows which is no unit: "6 tablets" are not 6 hours.
THINGS = "things"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in its one spelling, and in how much of which kind of unit it is, if it says so."""

    number: str
    kind: str | None
    value: float | None
    quality: str = ""  # "working" of days, "per month" of a price; "" where it is not told

    def same(self, other: "Amount") -> bool:
        """Return whether both say the same amount; a number without unit may have any."""
        if THINGS in (self.quality, other.quality):
            return self.kind == other.kind and self.number == other.number
        if _differ(self.quality, other.quality):
            return False
        if self.kind is None or other.kind is None:
            return self.number == other.number
        if self.value is None or other.value is None or self.kind != other.kind:
            return False
        return abs(self.value - other.value) <= 1e-6 * max(1.0, abs(self.value))


def _differ(one: str, other: str) -> bool:
    """Return whether two amounts count other days, or are per other times. Of "per person" and
    "per ticket" both may hold."""
    told = bool(one) and bool(other) and one != other
    return told and (one in _QUALITY or other in _QUALITY)


def amounts(text: str) -> list[Amount]:
    """Return each number of a text with its unit, in order. `7 pm` is 19, `half an hour` 30 min."""
    text = _AFTERNOON.sub(_clock, _HALVES.sub("30 min", western_digits(text)))
    text = _AGAIN.sub(r"de \1", text)
    text = _KIND_FIRST.sub(r"\2 \1", text)
    return [amount for match in _AMOUNT.finditer(text) for amount in _read(match)]


def _clock(match: regex.Match[str]) -> str:
    hours = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    return f"{hours}:{match[2]}" if match[2] else str(hours)


def _read(match: regex.Match[str]) -> list[Amount]:
    number = match["number"]
    unit = match["unit"] or ""
    if match["clock"] and fold(unit) == "h":
        return [Amount(next(iter(numbers(f"{number}h{match['clock']}"))), None, None)]
    stated = next(iter(numbers(number)))
    kind, factor = _unit(match["before"] or "") or _unit(unit) or (None, 1.0)
    if kind is None or ":" in stated:
        things = bool(_NOUN.fullmatch(unit)) and not (match["before"] or is_light(fold(unit)))
        return [Amount(stated, None, None, THINGS if things else "")]
    value = float(stated) * factor if _is_number(stated) else None
    return [Amount(stated, kind, value, _quality(kind, match))]


def _quality(kind: str, match: regex.Match[str]) -> str:
    """Return which days are counted, or per what time an amount is."""
    if match["per"]:
        noun = fold(match["per"])
        found = _QUALITIES.get(noun, f"per {noun}" if _PER_EACH.search(match.group()) else "")
        return found if found.startswith("per") else ""
    word = fold(match["what"] or "")
    found = _QUALITIES.get(word, "")
    if found.startswith("per"):
        return found if word.endswith(_RATE_ENDINGS) else ""
    return found if kind == "time" else ""


def _unit(name: str) -> tuple[str | None, float] | None:
    if _PER_CENT.fullmatch(name):
        return "%", 1.0
    if name == "$":
        return None  # of many countries
    return _UNITS.get(fold(name).replace(" ", "")) or _with_ending(name)


def is_unit(word: str) -> bool:
    """Return whether a word names a unit."""
    return _unit(word) is not None


def _with_ending(name: str) -> tuple[str, float] | None:
    """Return the unit to which postpositions are joined: "दिनसम्म" is up to so many days."""
    found = _INDIC_ENDING.sub("", name)
    return _UNITS.get(fold(found)) if found != name else None


def _is_number(text: str) -> bool:
    return bool(regex.fullmatch(r"\d+(?:\.\d+)?", text))
