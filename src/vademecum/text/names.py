"""Which words of a text are names?"""

from collections.abc import Collection

import regex

from vademecum.text.content import is_light
from vademecum.text.dates import is_month
from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.weekdays import weekdays

_WORD = late(r"\p{L}[\p{L}\p{M}\p{N}]*(?:['’-][\p{L}\p{M}\p{N}]+)*")
_CAPITAL = late(r"\p{Lu}")
# What stands before the first word of a sentence, list item, title or quotation.
_BEGINS = late(r"(?:^|[.!?:;¿¡\n•*_#|>\"“«„(\[-])[\s*_#>¿¡\"“«„(\[]*$")
_MOST_LETTERS_MORE = 2
# In German every noun has a capital, and in titles nearly every word: these tell no names.
_CAPITAL_NOUNS = frozenset(["de", "lb"])
_SHARE_OF_NAMES = 0.6
_FEWEST_TO_TELL = 6


def name_words(text: str, language: str, known: Collection[str] = ()) -> list[str]:
    """Return the folded words of a text that are names: with a capital, where not every word has
    one. A word that begins a sentence counts if another capital follows or `known` holds it."""
    if language in _CAPITAL_NOUNS:
        return []
    matches = list(_WORD.finditer(text))
    inner = [m for m in matches if not _begins(text, m.start()) and len(m.group()) > 1]
    capitals = sum(_is_capital(m.group()) for m in inner)
    if len(inner) >= _FEWEST_TO_TELL and capitals > _SHARE_OF_NAMES * len(inner):
        return []
    found: list[str] = []
    for place, match in enumerate(matches):
        word = match.group()
        if not _is_capital(word) or _is_no_name(word) or is_light(fold(word)):
            continue
        if _begins(text, match.start()):
            following = matches[place + 1] if place + 1 < len(matches) else None
            joined = (
                following is not None
                and text[match.end() : following.start()] == " "
                and _is_capital(following.group())
                and not _is_no_name(following.group())
                and len(following.group()) > 1
            )
            if not (joined or fold(word) in known or _is_acronym(word)):
                continue
        found += [
            piece for piece in regex.split(r"['’-]", fold(word)) if len(piece) > 1 or len(word) == 1
        ]
    return list(dict.fromkeys(found))


def is_named(name: str, words: Collection[str]) -> bool:
    """Return whether folded words hold a name, a plural or genitive of it included."""
    return name in words or any(
        len(name) > 3
        and len(word) > 3
        and abs(len(word) - len(name)) <= _MOST_LETTERS_MORE
        and (word.startswith(name) or name.startswith(word))
        for word in words
    )


def initials(text: str) -> str:
    """Return the first letters, folded, of the words with a capital, in order."""
    return "".join(fold(m.group()[0]) for m in _WORD.finditer(text) if _is_capital(m.group()))


def _begins(text: str, at: int) -> bool:
    return _BEGINS.search(text, max(0, at - 8), at) is not None


def _is_capital(word: str) -> bool:
    return _CAPITAL.match(word) is not None


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _is_no_name(word: str) -> bool:
    has_digit = any(letter.isdigit() for letter in word)
    return word == "I" or has_digit or is_month(word) or bool(weekdays(word))
