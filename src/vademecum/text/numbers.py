"""Which numbers does a text state?"""

import regex

_NUMBER = regex.compile(r"(?<![\p{L}\p{N}])\d+(?:[.,:/h]\d+)*")
_GROUPS = regex.compile(r"^\d{1,3}(?:[.,]\d{3})+$")


def numbers(text: str) -> set[str]:
    """Return the numbers of a text in one spelling: `1.500`, `1,500` and `1500` are equal, so
    are `7,50` and `7.5`, and `22h30` and `22:30`."""
    return {_canonical(match.group()) for match in _NUMBER.finditer(text)}


def _canonical(number: str) -> str:
    if _GROUPS.match(number):
        return number.replace(".", "").replace(",", "")
    plain = number.replace("h", ":").replace(",", ".")
    if plain.count(".") == 1 and "/" not in plain and ":" not in plain:
        return plain.rstrip("0").rstrip(".")
    return plain
