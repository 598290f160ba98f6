"""How do the letters that a PDF names become the words that its reader sees?"""

import regex

from vademecum.text.normalise import clean

# What the library puts for a hyphen at a line's end.
LINE_HYPHENS = regex.compile(r"[\ufffe\x02]")
_END_HYPHEN = regex.compile(r"(?<=\p{Ll})[-\u2010\u00ad\ufffe\x02]$")
_LOST_HYPHEN = regex.compile(r"[\ufffe\x02]")
_CONTROL = regex.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_BLANKS = regex.compile(r"[^\S\n]+")
_LIGATURES = {
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
    "\ufb05": "st", "\ufb06": "st",
}  # fmt: skip
_LIGATURE = regex.compile(r"[\ufb00-\ufb06]")
# A blank after a ligature inside a word: no word is one of these alone, and no word of the
# languages that use them ends in one, but for "ff", "ffl" being none either.
_BROKEN = regex.compile(r"(\p{L}*)([\ufb01\ufb02\ufb03\ufb04]) (?=\p{Ll}{2})")
_BROKEN_BEFORE = regex.compile(r"(?<=\p{Ll}) (?=[\ufb00-\ufb04]\p{Ll})")
_UNMAPPED = regex.compile(r"[\p{Co}\ufffd\x01-\x08\x0e-\x1f]")
_LETTERS = regex.compile(r"\p{L}")
_LONG_WORD = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]{30,}")
_SPACED_OUT = regex.compile(r"(?:(?<=^|\s)[\p{Latin}\p{Cyrillic}\p{Greek}]\s){4,}")
_SPACED_SCRIPTS = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]")
_FEWEST_LETTERS = 40
_UNMAPPED_SHARE = 0.5


def tidy(line: str) -> str:
    """Return a line's text: ligatures as letters, one blank between words, no control codes.
    A hyphen at its end stays."""
    text = _CONTROL.sub("", _LOST_HYPHEN.sub("-", line))
    if _LIGATURE.search(text):
        text = _mend_ligatures(text)
    return _BLANKS.sub(" ", clean(text)).strip()


def _mend_ligatures(text: str) -> str:
    text = _BROKEN.sub(r"\1\2", text)
    return _LIGATURE.sub(lambda match: _LIGATURES[match.group()], text)


def joined(text: str, line: str) -> str:
    """Return the text with the next line; a word parted by a hyphen is one word again."""
    mended = _END_HYPHEN.sub("", text)
    if mended != text and line[:1].islower():
        return mended + line
    if text.endswith("-") and line[:1].isalnum() and len(text) > 1 and text[-2].isalnum():
        return text + line
    return f"{text} {line}"


def is_unmapped(text: str) -> bool:
    """Tell whether most letters of a page have no known meaning, as where a font says none."""
    unmapped = len(_UNMAPPED.findall(text))
    return unmapped > _UNMAPPED_SHARE * (unmapped + len(_LETTERS.findall(text)))


def has_bad_blanks(text: str) -> bool:
    """Tell whether words run together or are spaced out, in scripts that part their words."""
    letters = len(_SPACED_SCRIPTS.findall(text))
    if letters < _FEWEST_LETTERS:
        return False
    run_together = sum(len(word) for word in _LONG_WORD.findall(text))
    spaced_out = sum(len(stretch) // 2 for stretch in _SPACED_OUT.findall(text))
    return max(run_together, spaced_out) > 0.3 * letters
