"""How is a short text tokenised without the large tokenizer, which takes a second to load?

The same best split into Unigram pieces, found with one small table that needs no building: a
command that asks one question never loads the other. Both give equal tokens.
"""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

UNKNOWN: Final = 3

_ROW: Final = np.dtype([("hash", "<u8"), ("id", "<i4"), ("score", "<f4")])
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
# Not zero, so that a piece with a NUL before it has not the hash of the piece.
_SEED: Final = np.uint64(1)
# An unknown character costs this much more than the rarest piece.
_UNKNOWN_PENALTY: Final = 10.0


class PieceTable:
    """Pieces by the hash of their letters, sorted; read only, safe to share between threads."""

    def __init__(self, rows: NDArray[np.void], longest: int) -> None:
        self._hashes: NDArray[np.uint64] = np.ascontiguousarray(rows["hash"])
        self._ids: NDArray[np.int32] = np.ascontiguousarray(rows["id"])
        self._scores: NDArray[np.float32] = np.ascontiguousarray(rows["score"])
        self._longest = longest
        self._information = np.zeros(int(self._ids.max()) + 1, np.float32)
        self._information[self._ids] = -self._scores
        self._unknown = float(self._scores.min()) - _UNKNOWN_PENALTY

    @classmethod
    def load(cls, path: Path) -> "PieceTable":
        """Read a table; raises ValueError or OSError when it is not one."""
        rows = np.load(path, allow_pickle=False)
        if rows.dtype != _ROW or rows[0]["score"] < 1:
            raise ValueError(f"{path.name} is not a table of pieces")
        return cls(rows[1:], int(rows[0]["score"]))

    def information(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how much each piece says: minus the natural logarithm of its probability."""
        said: NDArray[np.float32] = self._information[ids]
        return said

    def split(self, text: str) -> tuple[list[int], list[int]]:
        """Return the ids and the ends of the best split; spaces are already U+2581.

        Time grows with the text's length, about 2 ms for 1,000 characters.
        """
        if not text:
            return [], []
        starts = self._matches(text)
        # For each place: the best score of a split that ends there, its last piece and its start.
        best = [float("-inf")] * (len(text) + 1)
        best[0] = 0.0
        piece, origin = [UNKNOWN] * len(best), [0] * len(best)
        for start, matches in enumerate(starts):
            here = best[start]
            if not matches or matches[0][0] != 1:
                matches.append((1, UNKNOWN, self._unknown))
            for length, number, score in matches:
                if here + score > best[start + length]:
                    best[start + length] = here + score
                    piece[start + length], origin[start + length] = number, start
        return _path_back(piece, origin)

    def _matches(self, text: str) -> list[list[tuple[int, int, float]]]:
        """Return for each start the pieces found there: (length, id, score), shortest first."""
        found: list[list[tuple[int, int, float]]] = [[] for _ in text]
        codes = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint64)
        hashes = np.full(len(codes) + 1, _SEED)
        for length in range(1, min(self._longest, len(codes)) + 1):
            hashes = hashes[:-1] * _BASE + codes[length - 1 :]
            rows = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
            places = np.flatnonzero(self._hashes[rows] == hashes)
            rows = rows[places]
            numbers, scores = self._ids[rows].tolist(), self._scores[rows].tolist()
            for place, number, score in zip(places.tolist(), numbers, scores, strict=True):
                found[place].append((length, number, score))
        return found


def write_pieces(pieces: list[str], scores: list[float], path: Path) -> None:
    """Write the table of `pieces`; the first row holds the length of the longest."""
    rows = np.empty(len(pieces), _ROW)
    rows["hash"] = [_hash(piece) for piece in pieces]
    rows["id"] = np.arange(len(pieces))
    rows["score"] = scores
    if len(np.unique(rows["hash"])) != len(rows):
        raise ValueError("two pieces have one hash: another base is needed")
    head = np.zeros(1, _ROW)
    head["score"] = max(map(len, pieces))
    np.save(path, np.concatenate([head, np.sort(rows, order="hash")]), allow_pickle=False)


def _hash(piece: str) -> int:
    value = int(_SEED)
    for letter in piece:
        value = (value * int(_BASE) + ord(letter)) % 2**64
    return value


def _path_back(piece: list[int], origin: list[int]) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    ends: list[int] = []
    place = len(piece) - 1
    while place > 0:
        # Unknown characters side by side are one token.
        if not (piece[place] == UNKNOWN and ids and ids[-1] == UNKNOWN):
            ids.append(piece[place])
            ends.append(place)
        place = origin[place]
    return ids[::-1], ends[::-1]
