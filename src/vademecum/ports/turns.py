"""Where is kept by what turns are found?"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from vademecum.model.conversation import Turn
from vademecum.model.ids import ConversationId, Tenant, TurnId
from vademecum.model.principal import Scope
from vademecum.model.turn_unit import TurnUnit, UnindexedTurn, UnitRow


class TurnIndex(Protocol):
    """Index rows of turns, of one generation. They can be dropped and built again."""

    async def missing(
        self, tenant: Tenant, conversation_id: ConversationId, limit: int
    ) -> list[UnindexedTurn]:
        """Return turns of a conversation that lack a row or a vector, in the order of saving."""
        ...

    async def put(self, tenant: Tenant, rows: Mapping[TurnId, UnitRow]) -> None:
        """Write rows in place of what was there; a turn that is deleted meanwhile gets none."""
        ...

    async def units(self, scope: Scope, persona: str, limit: int) -> list[TurnUnit]:
        """Return the newest `limit` indexed turns of the principal's own conversations with a
        persona, by conversation and in the order of saving."""
        ...

    async def read(self, scope: Scope, turn_ids: Sequence[TurnId]) -> dict[TurnId, Turn]:
        """Return those of the principal's own turns that are still there."""
        ...
