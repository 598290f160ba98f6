"""Does a claim give to one what its source gives to another?"""

from collections.abc import Sequence
from itertools import combinations

import regex

from vademecum.text.clauses import Clause
from vademecum.text.content import alike
from vademecum.text.late import late

_PASSIVE = late(
    r"\b(?:is|are|was|were|be|been|being)\b.{0,60}\bby\b"
    r"|\b(?:é|são|foi|foram|ser|sido|es|son|fue|fueron)\b.{0,60}\b(?:por|pel[oa]s?)\b",
    regex.IGNORECASE,
)


def inverted(claim: str, source: str, pairs: Sequence[tuple[Clause, Clause]]) -> bool:
    """Return whether a clause has the words of its source in mirrored order around a common one:
    "A sends it to B" beside "B sends it to A". Passives turn the order honestly."""
    if bool(_PASSIVE.search(claim)) != bool(_PASSIVE.search(source)):
        return False
    return any(_mirrored(mine.words, theirs.words) for mine, theirs in pairs)


def matching(clause: Clause, source: Sequence[Clause]) -> Clause | None:
    """Return the clause of the source with which this one shares the most words."""
    best, most = None, 0
    for candidate in source:
        shared = sum(_holds(candidate, word) for word in set(clause.words))
        if shared > most:
            best, most = candidate, shared
    return best


def swapped(claim: Sequence[Clause], source: Sequence[Clause]) -> bool:
    """Return whether two clauses of the claim are each put together from the same two clauses of
    the source, one from the one's beginning and the other's end, one the other way round."""
    for one, other in combinations(claim, 2):
        for first, second in combinations(source, 2):
            mine = [w for w in one.words if not _holds(other, w)]
            theirs = [w for w in other.words if not _holds(one, w)]
            if (
                _only(mine, first, second)
                and _only(mine, second, first)
                and _only(theirs, first, second)
                and _only(theirs, second, first)
            ):
                return True
    return False


def _only(words: Sequence[str], clause: Clause, other: Clause) -> bool:
    return any(_holds(clause, word) and not _holds(other, word) for word in words)


def _mirrored(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    shared: list[int] = []
    for word in mine:
        found = [i for i, other in enumerate(theirs) if alike(word, other)]
        if len(found) == 1 and sum(alike(word, other) for other in mine) == 1:
            shared.append(found[0])
        elif not found:
            return False  # another verb may say the same from the other side
    return any(
        shared[first] > shared[middle] > shared[last]
        for first in range(len(shared))
        for middle in range(first + 1, len(shared))
        for last in range(middle + 1, len(shared))
    )


def _holds(clause: Clause, word: str) -> bool:
    return any(alike(word, other) for other in clause.words)
