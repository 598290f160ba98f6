"""How do older turns become the running summary? Read `tend_conversation`.

A fold holds only where nobody folded meanwhile, and says up to which turn it tells: so no turn is
lost or told twice, whatever dies or comes at the same time. The turns themselves stay.
"""

import asyncio
import logging
from dataclasses import dataclass
from uuid import UUID

from vademecum.answer.budget import HISTORY_TOKENS
from vademecum.answer.history import due, settled, spoken
from vademecum.answer.prompt import SUMMARY_ROOM, turn_cost
from vademecum.answer.summarise import extractive, written
from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.memory.turns import TurnParts, index_turns
from vademecum.model.conversation import Turn, Unfolded
from vademecum.model.ids import ConversationId, Tenant
from vademecum.ports.conversations import FoldStore
from vademecum.ports.language_model import LanguageModel, TokenCounter

# One job folds a long conversation step by step, each step of at most so many turns.
_MOST_STEPS = 100
_MOST_FOLDED = 40
_SUMMARY_SECONDS = 120.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TendParts:
    """What the background work on conversations needs from outside. Without `language_model`
    summaries are made of the turns' own sentences."""

    folds: FoldStore
    turns: TurnParts
    language_model: LanguageModel | None
    counter: TokenCounter


async def tend_conversation(parts: TendParts, tenant: Tenant, item: UUID) -> None:
    """Fold the turns of a conversation that are due, then index those that are not.

    What fails is tried again later: the old summary and the turns stay as they are till then. It
    may run at any time, twice at once, and for a conversation that is gone.
    """
    conversation_id = ConversationId(item)
    failed = [code for code in (await _fold_all(parts, tenant, conversation_id),) if code]
    # Read before indexing: what is said meanwhile is the next job's.
    seen = await parts.folds.unfolded(tenant, conversation_id)
    if seen is None:
        return
    try:
        await index_turns(parts.turns, tenant, conversation_id)
    except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
        failed.append(error.code)
    if failed:
        _log.warning("a conversation waits: %s", ", ".join(failed))
        await parts.folds.put_off(tenant, conversation_id)
    else:
        await parts.folds.tended(tenant, conversation_id, seen.version, seen.saved_through)


async def _fold_all(parts: TendParts, tenant: Tenant, conversation_id: ConversationId) -> str:
    """Fold step by step while something is due; return what went wrong, or ""."""
    for _ in range(_MOST_STEPS):
        seen = await parts.folds.unfolded(tenant, conversation_id)
        turns = spoken(settled(seen.past.turns)) if seen else []
        # Counting loads its tables once, which takes a second of processor time.
        count = await asyncio.to_thread(_due, parts.counter, turns)
        if seen is None or not count:
            break
        folded = _step(turns, count)
        try:
            summary = await _summary(parts, seen, folded)
        except (ServiceAway, TimeoutError) as error:
            return error.code if isinstance(error, ServiceAway) else "deadline"
        if summary is None:
            return "summary-unusable"
        # Where somebody else was quicker, nothing is written: look again what is left.
        await parts.folds.fold(tenant, conversation_id, seen, summary, folded[-1])
    return ""


def _step(turns: list[Turn], count: int) -> list[Turn]:
    """Return the turns of one step, after which a user turn comes."""
    size = min(count, _MOST_FOLDED)
    while 1 < size < len(turns) and turns[size].role != "user":
        size -= 1
    return turns[:size]


def _due(counter: TokenCounter, turns: list[Turn]) -> int:
    return due(turns, lambda turn: turn_cost(turn, counter), HISTORY_TOKENS - SUMMARY_ROOM)


async def _summary(parts: TendParts, seen: Unfolded, folded: list[Turn]) -> str | None:
    """Return the summary of the old one and the turns, None where the model gave none. Raises:
    ServiceAway, TimeoutError."""
    old = seen.past.summary
    if parts.language_model is None:
        return await asyncio.to_thread(extractive, old, folded, parts.counter)
    writing = written(parts.language_model, old, folded, parts.counter)
    return await asyncio.wait_for(writing, _SUMMARY_SECONDS)
