"""How much of a question's spelling does a text share? BM25 over groups of four letters.

Words of one language that another has too (names, words of Latin or Greek) share most of their
letters where they share no stem.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vademecum.rank.bm25 import K1, B, idf
from vademecum.text.normalise import fold

_LENGTH = 4
_EDGE = ord("_")
# Makes one number of four letters: odd, and large enough that no two groups of letters meet by
# chance among some thousands.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
Groups = NDArray[np.uint64]


class _Letters(dict[int, str]):
    """What each letter folds to, an edge for what is none: looked up once a letter, since to fold
    fifty whole passages takes longer than to rank them."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = fold(letter) if unicodedata.category(letter)[0] in "LNM" else chr(_EDGE)
        return self[code]


_LETTERS = _Letters()


def groups(text: str) -> Groups:
    """Return a number for each group of four letters inside a word, its edges counted as letters:
    `_the`, `the_`. A word of one letter has none."""
    joined = f"_{text.translate(_LETTERS)}_"
    letters = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.uint64)
    count = len(letters) - _LENGTH + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    found = np.zeros(count, np.uint64)
    for place in range(_LENGTH):
        found = found * _FACTOR + letters[place : place + count]
    inside = (letters[1 : 1 + count] != _EDGE) & (letters[2 : 2 + count] != _EDGE)
    whole: Groups = found[inside]
    return whole


def ngram_shares(query: str, texts: Sequence[str]) -> list[float]:
    """Return U4 of each text, in 0..1: the share that it carries of the idf mass of the query's
    groups. The texts themselves are the collection that frequencies are counted in."""
    asked = np.unique(groups(query))
    if not len(asked) or not texts:
        return [0.0] * len(texts)
    own = [groups(text) for text in texts]
    lengths = np.array([len(each) for each in own], np.float64)
    counts = np.stack([_counted(asked, each) for each in own])
    weights = np.array([idf(len(texts), int(n)) for n in (counts > 0).sum(axis=0)])
    norms = 1 - B + B * lengths / max(1.0, lengths.mean())
    saturations = counts / (counts + K1 * norms[:, None])
    shares: list[float] = (saturations @ weights / weights.sum()).tolist()
    return shares


def _counted(asked: Groups, own: Groups) -> NDArray[np.float64]:
    """Return how often each group asked for, sorted, stands among a text's own."""
    places = np.searchsorted(asked, own)
    places[places == len(asked)] = 0
    found = places[asked[places] == own]
    return np.bincount(found, minlength=len(asked)).astype(np.float64)
