"""What has a person said that nobody has learned from yet?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, Principal, Tenant, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlearned:
    """The person's own turns of one conversation that are not learned from, in order: the words of
    nobody else. `days` tells on which day each was said, where the speaker was; `forgotten` are
    those from which something was erased since; `through` is the last turn's position;
    `attempts` counts how often their learning has failed."""

    principal: Principal
    persona: str
    turns: tuple[Turn, ...]
    days: Mapping[TurnId, date]
    forgotten: frozenset[TurnId]
    through: int
    attempts: int


class LearnStore(Protocol):
    """What the background work of learning reads and writes."""

    async def waiting(self, tenant: Tenant) -> list[ConversationId]:
        """Return conversations with turns to learn from in which nobody has said anything for a
        while, and that were not put off to later than now; the longest waiting first."""
        ...

    async def unlearned(self, tenant: Tenant, conversation_id: ConversationId) -> Unlearned | None:
        """Return the turns to learn from, None where there are none or it is deleted."""
        ...

    async def learned(self, tenant: Tenant, conversation_id: ConversationId, through: int) -> None:
        """Note that all turns up to a position are learned from."""
        ...

    async def put_off(self, tenant: Tenant, conversation_id: ConversationId) -> None:
        """Try again later: after 15 s, each time twice as long, an hour at most."""
        ...
