"""Does an answer state a fact that was expected of it? Without a language model."""

from vademecum.text.content import alike, content_words
from vademecum.text.facts import facts, lacking
from vademecum.text.names import is_named, name_words
from vademecum.text.numbers import numbers

_HALVES = frozenset(["am", "pm"])


def states(answer: str, fact: str, language: str) -> bool:
    """Return whether an answer holds everything hard in a fact (numbers, quantities, times, days,
    codes, names) and a form of each of its words, by the checks that citations go through.

    `language` (ISO 639-1) is the answer's; a fact is to be written in it. What is denied is not
    told apart: a judge reads that.
    """
    wanted, said = facts(fact, language), facts(answer, language)
    # The figures of a time of day are its own: 6:30 pm is 18:30.
    figures = set[str]() if wanted.clocks else numbers(fact)
    if lacking(wanted, said, said) or not figures <= numbers(answer) | said.numbers:
        return False
    held = content_words(answer)
    if not all(is_named(name, held) for name in name_words(fact, language)):
        return False
    # Words with a digit were compared as numbers and codes, however they are grouped.
    plain = [
        word
        for word in content_words(fact)
        if not any(map(str.isdigit, word)) and word not in _HALVES
    ]
    return all(any(alike(word, other) for other in held) for word in plain)


def stated_share(answer: str, expected: tuple[str, ...], language: str) -> float | None:
    """Return the share of expected facts that an answer states, None where none is expected."""
    if not expected:
        return None
    return sum(states(answer, fact, language) for fact in expected) / len(expected)
