"""Where is kept what was said?"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from vademecum.model.conversation import Begun, Conversation, Finished, Turn, Unfolded
from vademecum.model.ids import ConversationId, Tenant
from vademecum.model.principal import Scope
from vademecum.model.purge import StoreReceipt
from vademecum.model.trace import Trace


class TalkStore(Protocol):
    """What the answering line reads and writes of a conversation. Each method is one transaction;
    what one has written, the next reads."""

    async def begin(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        question: str,
        *,
        persona: str | None,
        language: str,
        zone: str = "",
        again: bool = False,
        new: bool = True,
    ) -> Begun:
        """Save a question, keep the place of its answer, and return what was said before. `zone`
        is the speaker's time zone, an IANA name, "" where it is not known.

        Where it may be `new`, the conversation is made if it is not there, with `persona` or the
        default one. `again` asks
        the last question once more: it is not saved a second time, and stands in no past.
        Raises: ConversationNotFound, where it is somebody else's or another persona's, not there,
        or where there is nothing to ask again.
        """
        ...

    async def finish(self, scope: Scope, begun: Begun, said: Finished, trace: Trace) -> bool:
        """Put an answer into its place, with its trace, and queue what follows from it. False
        where the place is gone: the conversation was deleted meanwhile."""
        ...


class ConversationStore(TalkStore, Protocol):
    """Turns in the order of saving. Only a conversation's own principal reads or goes on with
    it."""

    async def latest(self, scope: Scope, persona: str, since: datetime) -> ConversationId | None:
        """Return the conversation of that persona that was used last, not before `since`."""
        ...

    async def all(self, scope: Scope, persona: str | None) -> list[Conversation]:
        """Return the principal's own conversations, the last used first."""
        ...

    async def get(self, scope: Scope, conversation_id: ConversationId) -> Conversation:
        """Raises: ConversationNotFound."""
        ...

    async def rename(self, scope: Scope, conversation_id: ConversationId, title: str) -> None:
        """Give a conversation a title. Raises: ConversationNotFound."""
        ...

    async def turns(self, scope: Scope, conversation_id: ConversationId) -> list[Turn]:
        """Return every turn, folded or not. Raises: ConversationNotFound."""
        ...

    async def keep(
        self,
        scope: Scope,
        conversation_id: ConversationId,
        turns: Sequence[Turn],
        *,
        persona: str | None = None,
    ) -> None:
        """Append turns that were said elsewhere, in their order, with their ids, times and
        speakers; their positions are given here. Raises: ConversationNotFound."""
        ...

    async def delete(self, scope: Scope, conversation_id: ConversationId) -> list[StoreReceipt]:
        """Delete a conversation with its summary, turns, their index rows and their traces; count
        each before and after. Raises: ConversationNotFound."""
        ...


class FoldStore(Protocol):
    """What the background work on one conversation reads and writes."""

    async def unfolded(self, tenant: Tenant, conversation_id: ConversationId) -> Unfolded | None:
        """Return the summary and the turns that are not in it; None where it is deleted."""
        ...

    async def fold(
        self,
        tenant: Tenant,
        conversation_id: ConversationId,
        seen: Unfolded,
        summary: str,
        last: Turn,
    ) -> bool:
        """Make `summary` the one that tells of all turns up to `last`; False, and no change, where
        somebody else has folded since `seen`."""
        ...

    async def tended(
        self, tenant: Tenant, conversation_id: ConversationId, version: int, through: int
    ) -> None:
        """Note that all turns up to a position are folded where due, and indexed, unless the
        summary is of another version meanwhile."""
        ...

    async def put_off(self, tenant: Tenant, conversation_id: ConversationId) -> None:
        """Try again later: after 15 s, each time twice as long, an hour at most."""
        ...
