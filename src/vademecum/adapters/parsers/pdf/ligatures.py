"""Which ligature is meant by a letter that a font does not name?

Some fonts hold `fi` under a code of their own, and give it no meaning or a wrong one. All words
with that code tell together which ligature makes words of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import regex

from vademecum.text.normalise import fold

# A letter without a name is kept in the last plane until all words with it are known.
_PLANE = 0xF0000
MARKED = regex.compile(r"[\U000F0001-\U000F007F]")
_WORD = regex.compile(r"\p{L}*[\U000F0001-\U000F007F]\p{L}*")
_INSIDE = regex.compile(r"(?<=\p{L})[\U000F0001-\U000F007F](?=\p{L})")
# The library's own sign for a hyphen, 02, and line ends are none.
_NAMELESS = regex.compile(
    r"(?<=\p{L})[\x01\x03-\x08\x0b\x0c\x0e-\x1f]|[\x01\x03-\x08\x0b\x0c\x0e-\x1f](?=\p{L})"
)
_MISNAMED = regex.compile(r"(?:(?<=\p{L})[!\"#$%&]|(?<!\S)[!\"#$%&](?= ?\p{Ll}))( ?)(?=\p{L})")
_SIGNS = '!"#$%&'
_MOST_LOOKED_AT = 200  # a page
_FEWEST_OF_VOTES = 0.6
# Parts of frequent English, Portuguese and Spanish words, without accents.
_STEMS = {
    "fi": (
        "ofici defin final financ first field find figur filho fica file fiscal five firm fix fisic"
        " benefi certific classific cientific config confia confid confirm edific efici especific"
        " identific infinit justific modific notific official profis profes qualific retific"
        " scientific signific specific sufici unific verific"
    ),
    "fl": (
        "afluen conflict conflit fleet flex float floor flor flow flux fluid inflac inflat influ"
        " refle"
    ),
    "ff": "affect afford buffer coffee differ effect effort offer offset staff stuff suffer",
    "ffi": "affirm coefficien difficul efficien office official suffici traffic",
    "ffl": "affluen baffle offline shuffle waffle",
}


def marked(text: str, is_nameless: Callable[[int], bool]) -> str:
    """Return a page's text with a mark for each letter without a name, as many characters long.

    `is_nameless` tells whether the font gives the character at a place no meaning.
    """
    controls = not text.replace("\r\n", "").isprintable() and _NAMELESS.search(text)
    signs = any(sign in text for sign in _SIGNS) and _MISNAMED.search(text)
    if not (controls or signs):
        return text
    chars = list(text)
    for match in _NAMELESS.finditer(text):
        chars[match.start()] = chr(_PLANE + ord(match.group()))
    for count, match in enumerate(_MISNAMED.finditer(text)):
        if count < _MOST_LOOKED_AT and is_nameless(match.start()):
            chars[match.start()] = chr(_PLANE + ord(text[match.start()]))
            if match.group(1):  # a blank behind a mark that is none
                chars[match.start() + 1] = "\x00"
    return "".join(chars)


def meanings(texts: Iterable[str]) -> Mapping[str, str]:
    """Return what the marks in a document's texts mean, where its words tell."""
    votes: dict[str, Counter[str]] = {}
    for text in texts:
        for word in _WORD.findall(text):
            found = MARKED.search(word)
            if found is None or not word[found.end() :].islower():
                continue
            counted = votes.setdefault(found.group(), Counter())
            for ligature, stems in _STEMS.items():
                whole = fold(MARKED.sub(ligature, word))
                if any(stem in whole for stem in stems.split()):
                    counted[ligature] += 1
    return {
        mark: counted.most_common(1)[0][0]
        for mark, counted in votes.items()
        if counted and counted.most_common(1)[0][1] >= _FEWEST_OF_VOTES * counted.total()
    }


def named(text: str, known: Mapping[str, str]) -> str:
    """Return a text with its marks as letters; where nothing is known, as the sign for that
    inside a word, and left out elsewhere."""
    for mark, ligature in known.items():
        text = text.replace(mark, ligature)
    return MARKED.sub("", _INSIDE.sub("\ufffd", text))
