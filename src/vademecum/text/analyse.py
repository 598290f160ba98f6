"""Which terms does a text hold? The same answer for documents and for queries."""

import hashlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache

import regex
import Stemmer

from vademecum.text.late import late
from vademecum.text.normalise import fold, plain

# Part of the index generation: raise it with every change that may give other terms.
VERSION = "3"
# Terms are numbers in 1..TERM_SPACE - 1; the size of the sparse vectors that hold them.
TERM_SPACE = 1_000_000_000

# Scripts written without spaces between words, with the marks that stand inside their words.
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u30fc\u3005\u3006"
)
_LETTER = rf"[\p{{L}}--[{_UNSPACED}]]"
_LETTER_OR_NUMBER = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
# A word keeps its combining marks (vowel signs in Indic scripts).
_WORD = late(
    rf"([{_UNSPACED}][{_UNSPACED}\p{{M}}]*)"
    rf"|({_LETTER_OR_NUMBER}[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]*)",
    regex.V1,
)
# The same words where no letter lies beyond the Latin ones: an eighth of the time.
_LATIN_WORD = re.compile(r"()([^\W_]+)")
_BEYOND_LATIN = re.compile(r"[^\x00-\u024f]")
_CLUSTER = late(r"\X")
# Where a name of a program is divided: getUserById, HTTPServer.
_INNER = late(r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_JOINED = late(r"(\p{L}{1,6})(\d{1,8}\p{L}?)")
# Letters and digits that stand together as one code: KH-402, kh402, BX 217.
_DIGIT = late(r"\d")
_CODE = late(
    rf"(?<!{_LETTER_OR_NUMBER}|\p{{M}})({_LETTER}{{1,6}})"
    rf"([-\u2010_]?|[ ./]|[ ]?[-\u2010\u2012-\u2015\u2212][ ]?)"
    rf"(\d{{1,8}}{_LETTER}?)(?!{_LETTER_OR_NUMBER})(?!\.\d)(?!\s*[%\u20ac$\u00a3])",
    regex.V1,
)
_TIGHT = frozenset(["", "-", "\u2010", "_"])
# Short words (folded) that often stand before a number without making a code of it.
_NOT_IN_CODES = frozenset(
    """
    ago all and any ao aos apr are art as at ate aug avg brl but by cap com con da das day de
    dec del des dez do does dos ed el els em en ene era eur eux feb fev fig for gbp get had has
    hay his how in inr is jan jul jun la las les los mai mais mar mas max may min na nas no nos
    not nov npr num oct of on one only or os out over pag par per por que row rs sao se sem sep
    set she sin so sob son sub tel tem the to top uma un una us usd vol was with your
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
# People write these languages with and without accents. Their words are folded before stemming,
# and the accents that the stemmer's rules need are put back, so that both spellings have one stem.
_ACCENTS = {
    "pt": [
        (late(r"c(ao|oes)$"), r"ç\1"),
        (late(r"ao$"), "ão"),
        (late(r"oes$"), "ões"),
        (late(r"aes$"), "ães"),
        (late(r"a(?:vel|veis)$"), "ável"),
        (late(r"i(?:vel|veis)$"), "ível"),
        (late(r"e(ncias?)$"), r"ê\1"),
        (late(r"a(ncias?)$"), r"â\1"),
    ],
    "es": [(late(r"cion$"), "ción")],
}


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded. Scripts without spaces give overlapping pairs
    of characters; a word like `kh402` gives its letters and its digits."""
    return [word if paired else fold(word) for word, paired in _pieces(plain(text))]


def codes(text: str) -> list[str]:
    """Return each code of a text in one spelling: `KH-402`, `kh402` and `KH 402` are `kh402`.

    Letters in lower case need a hyphen or nothing before the digits, since "em 2024" is no code.
    """
    return _codes(plain(text), typed=False)


@cache
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    name = _STEMMERS.get(language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """Return the folded stem of a raw word."""
    stemmer = _stemmer(language)
    if stemmer is None:
        return fold(word)
    if language not in _ACCENTS:
        return fold(stemmer.stemWord(word.casefold()))
    accented = fold(word)
    for ending, with_accent in _ACCENTS[language]:
        accented = ending.sub(with_accent, accented)
    return fold(stemmer.stemWord(accented))


def terms(text: str, language: str) -> list[str]:
    """Return the index terms of a passage: each word's stem in `language`, and its codes; of words
    with accents also the exact form, so that it comes before those that only look like it."""
    return [term for same in _terms(text, language) for term in same]


def _terms(text: str, language: str) -> list[tuple[str, ...]]:
    """Return for each thing that a text holds the terms that stand for it."""
    normal = plain(text)
    found: list[tuple[str, ...]] = []
    for word, paired in _pieces(normal):
        exact = "" if paired else _exact(word)
        own = word if paired else stem(word, language)
        found.append((own, f"{exact}=") if exact else (own,))
    return found + [(f"{code}#",) for code in _codes(normal, typed=True)]


@lru_cache(maxsize=65536)
def _exact(word: str) -> str:
    """Return a raw word as it is written, but for its case, where folding makes another of it."""
    if word.isascii():
        return ""
    written = word.casefold()
    return written if written != fold(word) else ""


def query_terms(text: str, languages: frozenset[str]) -> list[frozenset[str]]:
    """Return one set of alternatives for each thing asked: a word's stem in each of `languages`
    and its exact form, or a code."""
    each = [_terms(text, language) for language in sorted(languages) or [""]]
    asked = (frozenset().union(*same) for same in zip(*each, strict=True))
    return list(dict.fromkeys(asked))


@lru_cache(maxsize=65536)
def term_id(term: str, tenant: str) -> int:
    """Return the number in 1..TERM_SPACE - 1 that stands for a term in a tenant's index. Another
    tenant has another number for it, so that neither reads through the other's rows."""
    digest = hashlib.blake2b(f"{tenant}\0{term}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (TERM_SPACE - 1) + 1


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the raw words of a plain text, and folded pairs (marked True) of unspaced runs."""
    for run, word in _found_words(text):
        if word.islower() and word.isalpha():
            yield word, False  # most words, with none of what follows
        elif run:
            clusters = _CLUSTER.findall(fold(run), concurrent=False)
            for i in range(max(1, len(clusters) - 1)):
                yield "".join(clusters[i : i + 2]), True
        elif word[1:] != word[1:].lower() and (parts := _INNER.split(word, concurrent=False))[1:]:
            yield word, False
            for part in parts:
                yield part, False
        elif not word.isalpha() and (joined := _JOINED.fullmatch(word, concurrent=False)):
            yield joined[1], False
            yield joined[2], False
        else:
            yield word, False


def _found_words(text: str) -> list[tuple[str, str]]:
    """Return each run of an unspaced script or each word, the other one of the two is empty."""
    if not _BEYOND_LATIN.search(text):
        return _LATIN_WORD.findall(text)
    # Not concurrent: to let the interpreter go for each of many short texts costs more than they.
    return _WORD.findall(text, concurrent=False)


def _codes(text: str, *, typed: bool) -> list[str]:
    """`typed` also takes `kh 402`, as people type a code into a search box."""
    if not _DIGIT.search(text, concurrent=False):
        return []  # most passages have no code, and looking for one costs as much as all words
    return [
        fold(letters + digits)
        for letters, between, digits in _CODE.findall(text, concurrent=False)
        if between in _TIGHT
        or (
            fold(letters) not in _NOT_IN_CODES
            and (
                (letters.isupper() and 2 <= len(letters) <= 4)
                or (typed and between == " " and 2 <= len(letters) <= 3 and len(digits) > 1)
            )
        )
    ]
