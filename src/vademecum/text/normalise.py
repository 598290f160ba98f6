"""Which form of a text is kept, and which form is compared?"""

import unicodedata

from vademecum.text.late import late

_REMOVED = late(r"[\x00\p{Cs}]")
_LINE_ENDS = late(r"\r\n?|[\u2028\u2029\x85]")
# Characters that are not seen: soft hyphen, joiners, byte order mark.
_UNSEEN = late(r"[\u00ad\u200c\u200d\u2060\ufeff]")
_DIGIT = late(r"(?![0-9])\p{Nd}")
# Only in these scripts do marks leave the word as it is; in Devanagari they are its vowels, and
# in Cyrillic they make another letter.
_MARKED = late(r"([\p{Latin}\p{Greek}\p{Hebrew}\p{Arabic}])\p{Mn}+")
# Letters that Unicode does not take apart, but people type without their stroke.
_STROKES = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | {"ё": "е", "ـ": ""}
)


def clean(text: str) -> str:
    """Return the text that is stored and that offsets point into: NFC, without NUL and lone
    surrogates, with `\\n` as the only line end."""
    if text.isascii() and "\r" not in text and "\x00" not in text:
        return text
    return unicodedata.normalize("NFC", _REMOVED.sub("", _LINE_ENDS.sub("\n", text)))


def fold(text: str) -> str:
    """Return the form under which case, accents, digits and compatibility variants are equal."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFD", plain(text).casefold())
    return unicodedata.normalize("NFC", _MARKED.sub(r"\1", apart)).translate(_STROKES)


def plain(text: str) -> str:
    """Return the text in NFKC with 0-9 as its only digits and no unseen characters."""
    if text.isascii():
        return text
    return western_digits(unicodedata.normalize("NFKC", _UNSEEN.sub("", text)))


def western_digits(text: str) -> str:
    """Return the text with the decimal digits of every script as 0-9, each in its place."""
    return _DIGIT.sub(lambda match: str(unicodedata.digit(match.group())), text)
