"""How do the letters that a PDF names become the words that its reader sees?"""

import unicodedata
from collections.abc import Iterable

import regex

from vademecum.text.normalise import clean

# What the library puts for a hyphen at a line's end.
LINE_HYPHENS = regex.compile(r"[\ufffe\x02]")
_END_HYPHEN = regex.compile(r"(?<=\p{Ll})[-\u2010\u00ad\ufffe\x02]$")
_LOST_HYPHEN = regex.compile(r"[\ufffe\x02]")
_CONTROL = regex.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_BLANKS = regex.compile(r"[^\S\n]+")
_LIGATURES = {
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
    "\ufb05": "st", "\ufb06": "st",
}  # fmt: skip
_LIGATURE = regex.compile(r"[\ufb00-\ufb06]")
# A ligature of its own, or one with a blank behind it, is the beginning of the word that follows:
# the library writes ligatures as letters. `12 fl oz` and `sci-fi` stay.
_TORN = regex.compile(r"(?<![\p{L}\p{N}-])(?<!\d )(fi|fl|ff|ffi|ffl) (?=\p{Ll}{2})", regex.I)
_TORN_ENDS = ("fi ", "fl ", "ff ")
_BROKEN = regex.compile(r"([\ufb00-\ufb04]) (?=\p{Ll}{2})")
_UNMAPPED = regex.compile(r"[\p{Co}\ufffd\x01-\x08\x0e-\x1f]")
_HYPHENATED = regex.compile(r"\p{L}+-\p{L}+")
_LAST_WORD = regex.compile(r"\p{L}+-$")
_FIRST_WORD = regex.compile(r"\p{L}+")
# Stands behind a hyphen that belongs to its word until lines are joined.
REAL_HYPHEN = "\u2060"
# Fonts of signs have no letters: what begins a line in one is a bullet.
_BULLET_SIGN = regex.compile(r"^[\uf000-\uf0ff\x80-\x9f](?=\s)")
# A hyphen inside a word or number, and an address that goes on in the next line.
_HELD_TOGETHER = regex.compile(r"(?:(?<=[\p{L}\p{N}])-|://(?:\S*/)?)$")
_RANGE_BEGUN = regex.compile(r"(?<=[\p{L}\p{N}])–$")
_LETTERS = regex.compile(r"\p{L}")
_LONG_WORD = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]{30,}")
_SPACED_OUT = regex.compile(r"(?:(?<=^|\s)[\p{Latin}\p{Cyrillic}\p{Greek}]\s){4,}")
_SPACED_SCRIPTS = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]")
_FEWEST_LETTERS = 40
_UNMAPPED_SHARE = 0.5
_BAD_SHARE = 0.3
_SHORTEST_MEAN, _LONGEST_MEAN = 2.5, 9.0  # letters a word


def tidy(line: str) -> str:
    """Return a line's text: ligatures as letters, one blank between words, no control codes.
    A hyphen at its end stays."""
    if _is_tidy(line):
        return line.strip()
    text = _CONTROL.sub("", _LOST_HYPHEN.sub("-", _BULLET_SIGN.sub("•", line.lstrip())))
    if _LIGATURE.search(text):
        text = _mend_ligatures(text)
    return _TORN.sub(r"\1", _BLANKS.sub(" ", clean(text)).strip())


def _is_tidy(line: str) -> bool:
    """Tell quickly of most lines that nothing is to be mended in them."""
    if not line.isprintable() or "  " in line:
        return False
    small = line.lower()
    if any(torn in small for torn in _TORN_ENDS) and _TORN.search(line):
        return False
    return line.isascii() or (unicodedata.is_normalized("NFC", line) and not _LIGATURE.search(line))


def _mend_ligatures(text: str) -> str:
    text = _BROKEN.sub(r"\1", text)
    return _LIGATURE.sub(lambda match: _LIGATURES[match.group()], text)


def joined(text: str, line: str) -> str:
    """Return the text with the next line; a word parted by a hyphen is one word again."""
    if text.endswith(REAL_HYPHEN):
        return f"{text.removesuffix(REAL_HYPHEN)}{line}"
    mended = _END_HYPHEN.sub("", text)
    if mended != text and line[:1].islower():
        return mended + line
    if _HELD_TOGETHER.search(text) and line[:1].isalnum():
        return text + line
    if _RANGE_BEGUN.search(text) and line[:1].isdigit():
        return text + line
    return f"{text} {line}"


def hyphenated(texts: Iterable[str]) -> frozenset[str]:
    """Return the words with a hyphen that stand inside lines, in small letters."""
    return frozenset(
        word.lower() for text in texts if "-" in text for word in _HYPHENATED.findall(text)
    )


def with_real_hyphen(text: str, line: str, known: frozenset[str]) -> str:
    """Return a line that ends in a hyphen so that `joined` keeps it where the word is known to
    have it, with the next line's beginning."""
    begun, ended = _LAST_WORD.search(text), _FIRST_WORD.match(line)
    if begun and ended and f"{begun.group()}{ended.group()}".lower() in known:
        return text + REAL_HYPHEN
    return text


def is_unmapped(text: str) -> bool:
    """Tell whether most letters of a page have no known meaning, as where a font says none."""
    if "\ufffd" not in text and text.replace("\n", "").isprintable():
        return False
    unmapped = len(_UNMAPPED.findall(text))
    return unmapped > _UNMAPPED_SHARE * (unmapped + len(_LETTERS.findall(text)))


def has_bad_blanks(text: str) -> bool:
    """Tell whether words run together or are spaced out, in scripts that part their words."""
    words = text.split()
    letters = sum(map(len, words))
    usual = _SHORTEST_MEAN * len(words) <= letters <= _LONGEST_MEAN * len(words)
    if letters < _FEWEST_LETTERS or usual:
        return False
    if len(_SPACED_SCRIPTS.findall(text)) < letters / 2:
        return False
    run_together = sum(len(word) for word in _LONG_WORD.findall(text))
    spaced_out = sum(len(stretch) // 2 for stretch in _SPACED_OUT.findall(text))
    return max(run_together, spaced_out) > _BAD_SHARE * letters
