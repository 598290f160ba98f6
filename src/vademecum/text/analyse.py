"""Which terms does a text hold? The same answer for documents and for queries."""

import hashlib
from functools import cache, lru_cache

import regex
import Stemmer

from vademecum.text.normalise import fold

# Part of the index generation: raise it with every change that may give other terms.
VERSION = "1"

# A word keeps its combining marks (vowel signs in Indic scripts) and its inner joiners.
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200c\u200d]*")
_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]+")
# Letters and digits that a hyphen, space-less or not, makes one code: KH-402, BX 217.
_CODE = regex.compile(
    r"\b(\p{L}{1,6})[-\u2010-\u2015\u2212\uff0d_. ]?(\d{1,8})\b(?!\s*[%\u20ac$\u00a3])", regex.I
)
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded; CJK runs give overlapping pairs."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = fold(match.group())
        if _CJK.fullmatch(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            found.append(word)
    return found


def codes(text: str) -> list[str]:
    """Return each code of a text in one spelling: `KH-402`, `kh402` and `KH 402` are `kh402`."""
    return [
        fold(letters) + digits
        for letters, digits in _CODE.findall(text)
        if letters.isupper() or len(letters) <= 3
    ]


@cache
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    name = _STEMMERS.get(language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """Return the stem of a raw word, folded after stemming, since stemmers know accents."""
    stemmer = _stemmer(language)
    return fold(stemmer.stemWord(word.casefold()) if stemmer else word)


def terms(text: str, language: str) -> list[str]:
    """Return the index terms of a passage: each word's stem in `language`, and its codes."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        raw = match.group()
        folded = fold(raw)
        if _CJK.fullmatch(folded):
            found += [folded[i : i + 2] for i in range(max(1, len(folded) - 1))]
            continue
        found.append(stem(raw, language))
    found += [f"{code}#" for code in codes(text)]
    return found


def query_terms(text: str, languages: frozenset[str]) -> list[frozenset[str]]:
    """Return one set of alternatives for each thing asked: a word's stem in each of `languages`,
    or a code. A passage in one language holds at most one alternative of a word."""
    each = [terms(text, language) for language in sorted(languages) or [""]]
    return list(dict.fromkeys(frozenset(same) for same in zip(*each, strict=True)))


def term_id(term: str, space: int) -> int:
    """Return the number in 1..space - 1 that stands for a term in the index."""
    digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (space - 1) + 1
