"""Between which limits does a text let an amount lie: at least 4, under 16, from 4 to 12?"""

from dataclasses import dataclass
from math import inf

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.quantities import Amount, amounts

_NUMBER = r"(?:(?:r\$|us\$|[€£$])\s*)?\d+(?:[.,]\d+)*(?:\s*(?:%|[\p{L}°]+))?"
_LEAST = (
    r"at\s+least|(?:a\s+)?minimum\s+of|no\s+less\s+than|not\s+less\s+than|no\s+fewer\s+than"
    r"|(?:pelo|ao)\s+menos|no\s+minimo(?:\s+de)?|(?:um\s+)?minimo\s+de|(?:al|por\s+lo)\s+menos"
    r"|como\s+minimo|a\s+partir\s+d[eoa]s?|from\s+(?=\d+\s+(?:up|on))"
)
_MOST = (
    r"up\s+to|at\s+most|no\s+more\s+than|not\s+more\s+than|(?:a\s+)?maximum\s+of|within|capped\s+at"
    r"|ate|no\s+maximo(?:\s+de)?|(?:um\s+)?maximo\s+de|hasta|como\s+maximo|a\s+lo\s+sumo|dentro\s+de"
)
_OVER = (
    r"more\s+than|over|above|exceeding|longer\s+than|older\s+than|larger\s+than|mais\s+de|acima\s+de"
    r"|mas\s+de|superior(?:es)?\s+a|maiores\s+(?:de|que)|mayores\s+(?:de|que)|passar?\s+de"
)
_UNDER = (
    r"less\s+than|under|below|fewer\s+than|shorter\s+than|younger\s+than|menos\s+de|abaixo\s+de"
    r"|menores\s+(?:de|que)|inferior(?:es)?\s+a|a\s+menos\s+de"
)
_OR_MORE = r"\s+(?:or\s+more|ou\s+mais|o\s+mas|or\s+over|e\s+acima|en\s+adelante|em\s+diante)"
_OR_LESS = r"\s+(?:or\s+less|or\s+fewer|ou\s+menos|o\s+menos|or\s+under|at\s+most)"
_TO = r"\s*(?:to|and|a|e|y|al|ate|hasta|-|–|or)\s*"
_RANGE = late(rf"(?<![\p{{L}}\d.,])(?P<low>\d+){_TO}(?P<high>{_NUMBER})(?![\d/])")
_FORMS = tuple(
    (name, late(rf"(?<!\p{{L}}){form}"))
    for name, form in (
        ("least", rf"(?:{_LEAST})[\s-]+(?P<amount>{_NUMBER})"),
        ("most", rf"(?:{_MOST})[\s-]+(?P<amount>{_NUMBER})"),
        ("over", rf"(?:{_OVER})[\s-]+(?P<amount>{_NUMBER})"),
        ("under", rf"(?:{_UNDER})[\s-]+(?P<amount>{_NUMBER})"),
        ("least", rf"(?P<amount>{_NUMBER}){_OR_MORE}"),
        ("most", rf"(?P<amount>{_NUMBER}){_OR_LESS}"),
    )
)
_UP = frozenset(["least", "over"])


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit that a text sets: `side` is least, most, over, under, or between; values are in the
    first unit of their kind (see `quantities`), or as written where no unit stands."""

    side: str
    kind: str | None
    low: float
    high: float

    def holds(self, amount: Amount) -> bool:
        """Return whether an amount of the same kind lies within; one without a unit may be of
        any kind."""
        value = _value(amount, bare=self.kind is None)
        if value is None or (self.kind and amount.kind and self.kind != amount.kind):
            return False
        if self.side == "under":
            return value < self.high
        if self.side == "over":
            return value > self.low
        return self.low <= value <= self.high

    def speaks_of(self, amount: Amount) -> bool:
        """Return whether the limit is one of such amounts."""
        return self.kind == amount.kind


def bounds(text: str) -> tuple[Bound, ...]:
    """Return the limits that a text sets. Number words must be digits already."""
    folded = fold(text)
    found = [
        _bound(side, amount)
        for side, form in _FORMS
        for match in form.finditer(folded)
        for amount in amounts(match["amount"])[:1]
    ]
    found += [
        _between(match["low"], amount)
        for match in _RANGE.finditer(folded)
        for amount in amounts(match["high"])[:1]
    ]
    return tuple(bound for bound in found if bound.low <= bound.high)


def _bound(side: str, amount: Amount) -> Bound:
    value = _value(amount, bare=False) or 0.0
    if side in _UP:
        return Bound(side, amount.kind, value, inf)
    return Bound(side, amount.kind, 0.0, value)


def _between(first: str, amount: Amount) -> Bound:
    last = _value(amount, bare=False) or 0.0
    written = _value(amount, bare=True) or 0.0
    start = float(first) * (last / written if written else 1.0)
    return Bound("between", amount.kind, min(start, last), max(start, last))


def _value(amount: Amount, *, bare: bool) -> float | None:
    if amount.value is not None and not bare:
        return amount.value
    return float(amount.number) if regex.fullmatch(r"\d+(?:\.\d+)?", amount.number) else None
