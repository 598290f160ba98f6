"""Which turns stand in the prompt word for word, and which in the summary alone?

Each turn is in one of the two, whatever the background work has done so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vademecum.answer.summarise import SUMMARY_TOKENS, extractive
from vademecum.model.conversation import Past, Turn
from vademecum.ports.language_model import TokenCounter

# The tokens that a turn takes in the prompt.
Cost = Callable[[Turn], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When turns are folded: where `most` stand verbatim or pass the budget, all but the last
    `kept`, if that is at least `fewest`."""

    most: int = 20
    kept: int = 10
    fewest: int = 5


WINDOW = Window()


def spoken(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that make the dialogue, in order: not what is being written or blank, and
    of several answers to one question the last."""
    said = [turn for turn in turns if turn.state != "writing" and turn.text.strip()]
    last = {turn.reply_to: turn.id for turn in said if turn.reply_to is not None}
    return [turn for turn in said if turn.reply_to is None or last[turn.reply_to] == turn.id]


def due(turns: Sequence[Turn], cost: Cost, budget: int, window: Window = WINDOW) -> int:
    """Return how many of the first spoken turns are to be folded now, 0 for none.

    The rest begins with a user turn, so that no answer stands without its question.
    """
    costs = [cost(turn) for turn in turns]
    fits = sum(costs) <= budget
    if fits and len(turns) < window.most:
        return 0
    start = max(0, len(turns) - window.kept)
    left = sum(costs[start:])
    while start < len(turns) and (left > budget or turns[start].role != "user"):
        left -= costs[start]
        start += 1
    return 0 if fits and start < window.fewest else start


def settled(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns before the first that is still being written: only these may be folded."""
    at = next((i for i, turn in enumerate(turns) if turn.state == "writing"), len(turns))
    return list(turns[:at])


def arrange(
    past: Past, cost: Cost, summary_cost: Callable[[str], int], counter: TokenCounter, budget: int
) -> Past:
    """Return the past as the prompt has it, within `budget` tokens.

    What does not fit, since the background work has not folded it yet, is folded here, for this
    prompt only. A summary that alone is too long gives up what says least.
    """
    turns = spoken(past.turns)
    total = summary_cost(past.summary) + sum(map(cost, turns))
    if total <= budget:
        return Past(summary=past.summary, turns=tuple(turns))
    overhead = summary_cost("x") if turns or past.summary else 0
    room = min(SUMMARY_TOKENS, max(0, budget - overhead))
    always = Window(most=0, kept=len(turns), fewest=0)
    folded = due(turns, cost, budget - overhead - room, always)
    summary = extractive(past.summary, turns[:folded], counter, room)
    return Past(summary=summary, turns=tuple(turns[folded:]))
