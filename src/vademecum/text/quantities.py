"""Which amounts does a text state, and of what: 80 cm, R$ 15, 48 hours, 12 %?"""

from dataclasses import dataclass

import regex

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
    ("bytes", 1, "mb"),
    ("bytes", 1000, "gb"),
    ("bytes", 0.001, "kb"),
):
    _UNITS |= {fold(_name): (_kind, _factor) for _name in _names.split()}
_NUMBER = r"\d+(?:[.,:]\d+|[\u00a0\u2009\u202f'’]\d{3}(?!\d))*"
_CURRENCY = r"R\$|US\$|[€£$]|BRL|USD|EUR|GBP"
_AMOUNT = regex.compile(
    rf"(?P<before>{_CURRENCY})?\s*(?<![\d.,])(?P<number>{_NUMBER})"
    rf"(?P<between>\s*-?\s*)(?P<unit>%|°\s?[CF]|{_CURRENCY}|por\s+cent[oi]?o?|per\s+cent"
    rf"|[\p{{L}}\p{{M}}]+)?"
    rf"(?P<clock>\d{{2}}(?!\d))?",
)
_PER_CENT = regex.compile(r"p[eo]r\s+cent\p{L}*", regex.IGNORECASE)
_HALVES = regex.compile(r"\b(?:half\s+an\s+hour|meia\s+hora|media\s+hora)\b", regex.IGNORECASE)
_AFTERNOON = regex.compile(
    r"\b(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\.?(?![\p{L}])", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in its one spelling, and in how much of which kind of unit it is, if it says so."""

    number: str
    kind: str | None
    value: float | None

    def same(self, other: "Amount") -> bool:
        """Return whether both say the same amount; a number without unit may have any."""
        if self.kind is None or other.kind is None:
            return self.number == other.number
        if self.value is None or other.value is None or self.kind != other.kind:
            return False
        return abs(self.value - other.value) <= 1e-6 * max(1.0, abs(self.value))


def amounts(text: str) -> list[Amount]:
    """Return each number of a text with its unit, in order. `7 pm` is 19, `half an hour` 30 min."""
    text = _AFTERNOON.sub(_clock, _HALVES.sub("30 min", western_digits(text)))
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
        return [Amount(stated, None, None)]
    return [Amount(stated, kind, float(stated) * factor if _is_number(stated) else None)]


def _unit(name: str) -> tuple[str | None, float] | None:
    if _PER_CENT.fullmatch(name):
        return "%", 1.0
    if name == "$":
        return None  # of many countries
    return _UNITS.get(fold(name).replace(" ", ""))


def _is_number(text: str) -> bool:
    return bool(regex.fullmatch(r"\d+(?:\.\d+)?", text))
