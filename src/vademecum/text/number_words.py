"""Which number does a word spell, in English, Portuguese and Spanish?"""

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold

# "One" and its like are mostly articles, so they count only as the last part of a number
# ("twenty-one", "vinte e um"). A word that is a number in one
# language only, and a common word of another, stands in `_AMBIGUOUS`.
_SMALL = {
    2: "two dois duas", 3: "three tres", 4: "four quatro cuatro", 5: "five cinco",
    6: "six seis", 7: "seven sete siete", 8: "eight oito ocho", 9: "nine nove nueve",
    10: "dez diez", 11: "eleven onze", 12: "twelve doze", 13: "thirteen treze trece",
    14: "fourteen quatorze catorze catorce", 15: "fifteen quinze quince",
    16: "sixteen dezesseis dezasseis dieciseis",
    17: "seventeen dezessete dezassete diecisiete", 18: "eighteen dezoito dieciocho",
    19: "nineteen dezenove dezanove diecinueve", 20: "twenty vinte veinte",
    21: "veintiuno veintiun", 22: "veintidos", 23: "veintitres", 24: "veinticuatro",
    25: "veinticinco", 26: "veintiseis", 27: "veintisiete", 28: "veintiocho",
    29: "veintinueve", 30: "thirty trinta treinta", 40: "forty quarenta cuarenta",
    50: "fifty cinquenta cincuenta", 60: "sixty sessenta sesenta",
    70: "seventy setenta", 80: "eighty oitenta ochenta", 90: "ninety noventa",
    200: "duzentos duzentas doscientos doscientas",
    300: "trezentos trezentas trescientos trescientas",
    400: "quatrocentos quatrocentas cuatrocientos cuatrocientas",
    500: "quinhentos quinhentas quinientos quinientas",
    600: "seiscentos seiscentas seiscientos seiscientas",
    700: "setecentos setecentas setecientos setecientas",
    800: "oitocentos oitocentas ochocientos ochocientas",
    900: "novecentos novecentas novecientos novecientas",
}  # fmt: skip
_VALUES = {word: value for value, words in _SMALL.items() for word in words.split()}
# Of Hindi and Nepali, up to twenty.
_INDIC = (
    "दुई दो", "तीन", "चार", "पाँच पांच पाच", "छह छः", "सात", "आठ", "नौ", "दस दश", "ग्यारह एघार",
    "बारह बाह्र", "तेरह तेह्र", "चौदह चौध", "पंद्रह पन्ध्र", "सोलह सोह्र", "सत्रह सत्र", "अठारह अठार",
    "उन्नीस उन्नाइस", "बीस",
)  # fmt: skip
_VALUES |= {fold(word): n for n, words in enumerate(_INDIC, 2) for word in words.split()}
# In Nepali "छ" is also "is": a number before what is counted by it.
_SIX = late(r"(?<![\p{L}\p{M}])छ(?=\s*(?:वटा|जना|बजे|दिन|महिना|घण्टा|वर्ष))")
_COUNTED = late(r"(?<=\p{L}|\p{M})(वटा|जना)(?![\p{L}\p{M}])")
_HUNDRED = frozenset(["hundred", "cem", "cento", "cien", "ciento"])
_THOUSAND = frozenset(["thousand", "mil"])
_AMBIGUOUS = {("ten", "en"): 10, ("once", "es"): 11, ("dos", "es"): 2, ("doce", "es"): 12}
_ONE = frozenset(["one", "um", "uma", "un", "uno", "una"])
_PER_CENT = late(r"\bpor\s+c[ei]+nto$", regex.IGNORECASE)
_WORD = late(r"\p{L}[\p{L}\p{M}]*")
_CAPITAL_NEXT = late(r"\s+\p{Lu}")
_CAPITAL_BEFORE = late(r"\p{Lu}[\p{L}\p{M}]*\s+$")
_BETWEEN = late(r"(?:\s+|-)(?:(?:e|y|and)\s+)?")
_BEFORE_ONE = late(r"-|\s+(?:e|y)\s+")


def with_digits(text: str, language: str) -> str:
    """Return the text with its spelled numbers from two on in digits: `forty-eight` as `48`,
    `mil e duzentos` as `1200`. `language` decides of words such as "once"."""
    if language in ("ne", "hi"):
        text = _COUNTED.sub(r" \1", _SIX.sub("6", text))
    pieces: list[str] = []
    after = 0
    for start, end, value in _spelled(text, language):
        pieces += [text[after:start], str(value)]
        after = end
    return "".join([*pieces, text[after:]]) if pieces else text


def is_number_word(word: str) -> bool:
    """Return whether a word spells a number in one of the languages."""
    return _value(fold(word), "") is not None


def _spelled(text: str, language: str) -> list[tuple[int, int, int]]:
    """Return (start, end, value) of each spelled number."""
    found: list[tuple[int, int, int]] = []
    run: list[tuple[int, int, int]] = []
    for match in _WORD.finditer(text):
        word = fold(match.group())
        value = _value(word, language)
        if word in _ONE and run and _BEFORE_ONE.fullmatch(text, run[-1][1], match.start()):
            value = 1
        if value is None or _is_in_name(text, match) or _PER_CENT.search(text, 0, match.end()):
            continue
        if run and not _BETWEEN.fullmatch(text, run[-1][1], match.start()):
            _close(found, run)
            run = []
        run.append((match.start(), match.end(), value))
    _close(found, run)
    return found


def _is_in_name(text: str, match: regex.Match[str]) -> bool:
    """Return whether a number word with a capital stands beside another capital: "Hall Two"."""
    return match.group()[0].isupper() and bool(
        _CAPITAL_NEXT.match(text, match.end()) or _CAPITAL_BEFORE.search(text, 0, match.start())
    )


def _value(word: str, language: str) -> int | None:
    if word in _HUNDRED:
        return 100
    if word in _THOUSAND:
        return 1000
    if word.endswith("teens"):
        word = word[:-1]  # "the under-sixteens"
    return _VALUES.get(word) or _AMBIGUOUS.get((word, language))


def _close(found: list[tuple[int, int, int]], run: list[tuple[int, int, int]]) -> None:
    """Add a run of number words as one number, or as several where they are only listed."""
    at = 0
    while at < len(run):
        start, end, total = run[at][0], run[at][1], run[at][2]
        current, whole, last = total, 0, total
        at += 1
        while at < len(run) and (joined := _joined(current, last, run[at][2])) is not None:
            current, last = joined, run[at][2]
            end = run[at][1]
            if last == 1000:
                whole, current = whole + current, 0
            at += 1
        found.append((start, end, whole + current))


def _joined(current: int, last: int, value: int) -> int | None:
    """Return what a number becomes by its next word; None where that begins another number."""
    if value == 1000:
        return max(1, current) * 1000 if current < 1000 and last != 1000 else None
    if value == 100 and last == 100:
        return None
    if value == 100:
        return current * 100 if 0 < current < 10 else (current + 100 if last == 1000 else None)
    if last == 1000 or (last >= 100 and value < 100):
        return current + value
    return current + value if last >= 20 and last % 10 == 0 and value < 10 else None
