"""Which amount is "half an hour", "a third of it", "two in five", or "a dozen"?"""

from collections.abc import Callable

import regex

from vademecum.text.late import late

_TIMES = (
    r"(?P<unit>hours?|days?|weeks?|months?|years?|horas?|dias?|días?|semanas?|m[eê]s(?:es)?|anos?"
    r"|años?)"
)
_ANY_UNIT = (
    rf"(?:{_TIMES}|(?P<unit>euros?|reais|real|dollars?|dólares|pounds?|libras?|pesos?|met(?:re|er)s?"
    r"|metros?|kilos?|quilos?|kg|km|kilomet(?:re|er)s?|quilômetros?|kilómetros?|litros?|lit(?:re|er)s?"
    r"|times|vezes|veces|inches|feet|miles))"
)
_ONE = r"(?:an?|one|1|uma?|una?|uno)"
_PARTS = {
    "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10,
    "terço": 3, "quarto": 4, "quinto": 5, "sexto": 6, "oitavo": 8, "décimo": 10,
    "tercio": 3, "cuarto": 4, "octavo": 8,
    "terça": 3, "tercera": 3, "quarta": 4, "cuarta": 4, "quinta": 5, "sexta": 6, "décima": 10,
}  # fmt: skip
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
# A fourth by name is also a room, or a term of a year: what it is of must follow.
_OF = (
    r"(?=\s+(?:of|off|d[oa]s?|del[ae]?s?)\b"
    r"|(?<!quartos?|cuartos?|quarters?)(?:\s+de\b|\s*(?:$|[.,;:)])))"
)


def _share(match: regex.Match[str]) -> str:
    count = match["count"] or "1"
    parts = match["parts"].lower()
    of = int(parts) if parts.isdecimal() else _PARTS[parts.rstrip("s")]
    number = int(count) if count.isdecimal() else 1
    return f"{100 * number / of:.6g} %" if of else match.group()


def _halved(match: regex.Match[str]) -> str:
    return f"{match['count'] or 1}.5 {match['unit'] or ''}"


# In the order in which they are tried: what one has written is read by the next.
_RULES: tuple[tuple[str, str | Callable[[regex.Match[str]], str]], ...] = (
    (r"half\s+an\s+hour|half-hour|meia\s+hora|media\s+hora", "30 min"),
    (r"(?:3|three|três|tres)\s+(?:quarters\s+of\s+an|quartos\s+de|cuartos\s+de)\s+h\w+", "45 min"),
    (r"(?:an?\s+)?quarter\s+of\s+an\s+hour|(?:um\s+)?quarto\s+de\s+hora|(?:un\s+)?cuarto\s+de\s+hora",
     "15 min"),
    (r"(?:an?\s+)?quarter\s+of\s+a\s+year|(?:um|un)\s+trimestre", "3 months"),
    (r"half\s+a\s+year|meio\s+ano|medio\s+año|(?:um|un)\s+semestre", "6 months"),
    (r"half\s+a\s+dozen|meia\s+dúzia|media\s+docena", "6"),
    (r"(?P<count>\d+)\s+(?:dozen|dúzias|docenas)", lambda m: str(12 * int(m["count"]))),
    (r"(?:a\s+|one\s+)?dozen|(?:uma\s+)?dúzia|(?:una\s+)?docena", "12"),
    (r"(?P<count>\d+)\s+fortnights", lambda m: f"{2 * int(m['count'])} weeks"),
    (r"(?:an?\s+|one\s+)?fortnight(?=['’]s|\b)", "2 weeks"),
    (rf"(?P<count>\d+)(?:\s+and\s+a\s+half|\s+e\s+mei[oa]|\s+y\s+medi[oa])\s+{_ANY_UNIT}", _halved),
    (rf"(?P<count>\d+)\s+{_ANY_UNIT}(?:\s+and\s+a\s+half|\s+e\s+mei[oa]|\s+y\s+medi[oa])", _halved),
    (rf"{_ONE}\s+(?P<count>)(?:and\s+a\s+half|e\s+mei[oa]|y\s+medi[oa])\s+{_ANY_UNIT}", _halved),
    (rf"(?:{_ONE}\s+)?(?P<count>){_TIMES}(?:\s+and\s+a\s+half|\s+e\s+mei[oa]|\s+y\s+medi[oa])",
     _halved),
    (rf"(?:half\s+an?|mei[oa]|medi[oa])\s+{_ANY_UNIT}", lambda m: f"0.5 {m['unit']}"),
    ((r"(?<!\d)(?P<count>\d+|one|um|uma|uno|una)\s+(?:in|out\s+of|em|de)\s+(?:every|cada)?\s*"
     r"(?P<parts>\d+)(?!\s*[-–:/%.,]?\d)(?=\s+\p{L}|\s*(?:$|[.,;]))"
     r"(?<=(?:in|of|every|cada)\s+\d+)"), _share),
    ((rf"(?P<count>\d+|{_ONE}|la|a|el|o)\s+(?P<parts>(?:terça|tercera|quarta|cuarta|quinta|sexta|décima))"
     r"s?\s+partes?"), _share),
    (rf"(?P<count>\d+|{_ONE})\s+(?P<parts>{_PART})s?{_OF}", _share),
    ((r"(?<!(?:first|second|other|and\s+a)\s)half(?!\s+(?:past|\d|day|board|term)|-)"
     r"|(?<!(?:primeira|segunda|outra|primera|otra)\s)(?:metade|mitad)"), "50 %"),
    ((r"(?:el|al)\s+doble|(?:o|em|ao)\s+dobro|double(?=\s+(?:the|on|pay|rates?|time|that|what))"
     r"|twice(?=\s+(?:the|that|what|as))"), "2 times"),
    (r"twice", "2 times"),
)  # fmt: skip
_COMPILED = tuple(
    (late(rf"(?<![\p{{L}}\d])(?:{form})(?![\p{{L}}\d])", regex.IGNORECASE), written)
    for form, written in _RULES
)

# A word of one of the rules, so that most texts are looked at once.
_ANY = late(
    r"hal[fv]|mei[oa]|medi[oa]|metade|mitad|quart|cuart|dozen|d[uúo][zc]+[ie]|docena|fortnight|third"
    r"|ter[cç]|fifth|quint|sext|sixth|eighth|tenth|oitav|octav|d[eé]cim|doble|dobro|double|twice|trimes"
    r"|semest|\b(?:in|of|em|de)\b\s+(?:every|cada)?\s*\d",
    regex.IGNORECASE,
)


def with_amounts(text: str) -> str:
    """Return the text with its fractions, shares and dozens in digits: `half an hour` as `30 min`,
    `a third of it` as `33.3333 % of it`. Number words must be digits already."""
    if not _ANY.search(text):
        return text
    for form, written in _COMPILED:
        text = form.sub(written, text)
    return text
