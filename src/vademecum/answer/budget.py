"""What fits into the prompt?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vademecum.model.passage import Passage
from vademecum.ports.language_model import TokenCounter
from vademecum.text.sentences import sentence_spans

SYSTEM_TOKENS = 200
CONTEXT_TOKENS = 2_000
MEMORY_TOKENS = 600  # of the context
HISTORY_TOKENS = 1_000
RESPONSE_TOKENS = 1_000
MOST_ANSWER_TOKENS = 800

T = TypeVar("T")
# The tokens that a source takes in the prompt: its number, its passage, and the text shown of it.
Cost = Callable[[int, Passage, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A passage with the text of it that enters the prompt (all of it, but for a giant one)."""

    passage: Passage
    text: str


def fit(passages: Sequence[Passage], cost: Cost, budget: int = CONTEXT_TOKENS) -> list[Fitted]:
    """Return the best passages that fit together, best first; whole ones, dropped from the worst.

    Only the very best one, where it alone is too large, is cut, at a sentence's end.
    """
    fitted: list[Fitted] = []
    left = budget
    for number, passage in enumerate(passages, start=1):
        text = passage.source.chunk.text
        needed = cost(number, passage, text)
        if needed > left:
            if not fitted:
                fitted = [Fitted(passage=passage, text=_cut(passage, cost, budget))]
            break
        fitted.append(Fitted(passage=passage, text=text))
        left -= needed
    return fitted


def at_ends(items: Sequence[T]) -> list[T]:
    """Return items that come best first so that the best is first, the second-best last and the
    worst in the middle, which models read least (Liu et al. 2023, "Lost in the middle")."""
    return [*items[::2], *items[1::2][::-1]]


def fit_lines(lines: Sequence[str], cost: Callable[[Sequence[str]], int], budget: int) -> list[str]:
    """Return the lines, most important first, that fit together: dropped one at a time from the
    last. Only the very first one, where it alone is too large, is cut, at a sentence's end. `cost`
    is what the first lines of them take in the prompt, in tokens."""
    kept = list(lines)
    while len(kept) > 1 and cost(kept) > budget:
        kept.pop()
    if kept and cost(kept) > budget:
        kept = [_beginning(kept[0], lambda text: cost([text]) <= budget)]
    return [line for line in kept if line]


def fit_question(question: str, counter: TokenCounter, budget: int = HISTORY_TOKENS) -> str:
    """Return the question, or the longest beginning of it that `budget` tokens hold: the newest
    turn takes its room from the history."""
    return _beginning(question, lambda text: counter.count(text) <= budget)


def _cut(passage: Passage, cost: Cost, budget: int) -> str:
    return _beginning(passage.source.chunk.text, lambda text: cost(1, passage, text) <= budget)


def _beginning(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that fits, to a sentence's end where there is one."""
    if fits(text):
        return text
    ends = [end for _, end in sentence_spans(text)]
    count = _most(len(ends), lambda count: fits(text[: ends[count - 1]]))
    if count:
        return text[: ends[count - 1]]
    return text[: _most(len(text), lambda length: fits(text[:length]))]


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number of 1..count that fits, 0 if none does. Fitting never comes back."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
