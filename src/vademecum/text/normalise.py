"""Which form of a text is kept, and which form is compared?"""

import unicodedata

import regex

_REMOVED = regex.compile(r"[\x00\p{Cs}]")
_MARKS = regex.compile(r"\p{Mn}+")
_LINE_ENDS = regex.compile(r"\r\n?|[\u2028\u2029\x85]")
# Scripts whose combining marks carry the vowels: taking them off would change the word.
_KEEPS_MARKS = regex.compile(
    r"[\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Gujarati}\p{Gurmukhi}\p{Kannada}"
    r"\p{Malayalam}\p{Sinhala}\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Hiragana}\p{Katakana}]"
)


def clean(text: str) -> str:
    """Return the text that is stored and that offsets point into: NFC, without NUL and lone
    surrogates, with `\\n` as the only line end."""
    return unicodedata.normalize("NFC", _REMOVED.sub("", _LINE_ENDS.sub("\n", text)))


def fold(word: str) -> str:
    """Return the form under which case, accents and compatibility variants are equal."""
    lowered = unicodedata.normalize("NFKC", word).casefold()
    if lowered.isascii() or _KEEPS_MARKS.search(lowered):
        return lowered
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", lowered)))
