"""Which numbers does a text state?"""

import regex

from vademecum.text.late import late
from vademecum.text.normalise import western_digits

# Digits inside a code count as well, so that every spelling of the code states the same ones.
_NUMBER = late(r"\d+(?:[.,:h]\d+|[\u00a0\u2009\u202f'’]\d{3}(?!\d))*")
_SPACES = late(r"[\u00a0\u2009\u202f'’]")
# 1.500, 1,500, and 1,50,000 as it is written in South Asia.
_GROUPED = late(r"[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+)|[1-9]\d?(?:,\d{2})+,\d{3}")
_CLOCK = late(r"\d+(?:[:h]\d+)+")


def numbers(text: str) -> set[str]:
    """Return the numbers of a text in one spelling: `1.500`, `1,500` and `1500` are equal, so
    are `7,50` and `7.5`, and `22h30` and `22:30`. A date gives day, month and year apart."""
    return {_canonical(match.group()) for match in _NUMBER.finditer(western_digits(text))}


def with_one_spelling(text: str) -> str:
    """Return the text with each of its numbers in the spelling that `numbers` gives it."""
    return _NUMBER.sub(lambda match: _canonical(match.group()), western_digits(text))


def _canonical(number: str) -> str:
    number = _SPACES.sub("", number)
    if _CLOCK.fullmatch(number):
        hours, *rest = [_whole(piece) for piece in regex.split("[:h]", number)]
        while rest and rest[-1] == "0":
            rest.pop()
        return ":".join([hours, *rest])
    if _GROUPED.fullmatch(number):
        return regex.sub("[.,]", "", number)
    # Of two kinds of separator the last is the decimal one.
    decimal = max(number.rfind("."), number.rfind(","))
    if decimal < 0:
        return _whole(number)
    before, after = number[:decimal], number[decimal + 1 :]
    if {*regex.findall("[.,]", before)} - {number[decimal]}:
        before = regex.sub("[.,]", "", before)
    if not before.isdecimal():
        return number.replace(",", ".")
    fraction = after.rstrip("0")
    return f"{_whole(before)}.{fraction}" if fraction else _whole(before)


def _whole(digits: str) -> str:
    return digits.lstrip("0") or "0"
