"""What fits into the prompt?"""

from collections.abc import Sequence
from dataclasses import dataclass

from vademecum.model.passage import Passage
from vademecum.ports.language_model import TokenCounter
from vademecum.text.sentences import sentence_spans

SYSTEM_TOKENS = 200
CONTEXT_TOKENS = 2_000
HISTORY_TOKENS = 1_000
RESPONSE_TOKENS = 1_000
MOST_ANSWER_TOKENS = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A passage with the text of it that enters the prompt (all of it, but for a giant one)."""

    passage: Passage
    text: str


def fit(
    passages: Sequence[Passage], counter: TokenCounter, budget: int = CONTEXT_TOKENS
) -> list[Fitted]:
    """Return the best passages that fit together, best first; whole ones, dropped from the worst.

    Only the very best one, where it alone is too large, is cut, at a sentence's end.
    """
    fitted: list[Fitted] = []
    left = budget
    for passage in passages:
        text = passage.source.chunk.text
        cost = counter.count(_as_counted(passage, text))
        if cost > left:
            if not fitted:
                fitted = [Fitted(passage=passage, text=_cut(passage, counter, budget))]
            break
        fitted.append(Fitted(passage=passage, text=text))
        left -= cost
    return fitted


def _as_counted(passage: Passage, text: str) -> str:
    return f"{passage.source.chunk.context}\n{text}\n"


def _cut(passage: Passage, counter: TokenCounter, budget: int) -> str:
    text = passage.source.chunk.text
    end = 0
    for _, sentence_end in sentence_spans(text):
        if counter.count(_as_counted(passage, text[:sentence_end])) > budget:
            break
        end = sentence_end
    if end:
        return text[:end]
    while counter.count(_as_counted(passage, text)) > budget:
        text = text[: len(text) * 3 // 4]
    return text
