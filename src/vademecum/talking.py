"""What can a person do with conversations, before there is any model?"""

from dataclasses import dataclass
from datetime import timedelta

from vademecum.errors import UsageError
from vademecum.model.conversation import Conversation, Turn
from vademecum.model.ids import ConversationId, new_uuid
from vademecum.model.memory import DEFAULT_PERSONA
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt
from vademecum.ports.clock import Clock
from vademecum.ports.conversations import ConversationStore
from vademecum.text.normalise import clean

_TITLE_LETTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A conversation with every turn of it, folded or not, in the order of saving."""

    conversation: Conversation
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Talking:
    """Conversations of whoever asks; nobody reads another's, the operator neither. A session is
    over after `idle` without a word, and its conversation stays."""

    store: ConversationStore
    clock: Clock
    idle: timedelta

    async def list(self, *, scope: Scope, persona: str | None = None) -> list[Conversation]:
        """Return the conversations with a persona, or with all, the last used first."""
        return await self.store.all(scope, persona)

    async def show(self, conversation_id: ConversationId, *, scope: Scope) -> Dialogue:
        """Return a conversation and all its turns. Raises: ConversationNotFound."""
        conversation = await self.store.get(scope, conversation_id)
        turns = await self.store.turns(scope, conversation_id)
        return Dialogue(conversation=conversation, turns=tuple(turns))

    async def rename(self, conversation_id: ConversationId, title: str, *, scope: Scope) -> None:
        """Give a conversation a title, a line of 200 characters at most.

        Raises: ConversationNotFound, UsageError for an empty one.
        """
        line = " ".join(clean(title).split())[:_TITLE_LETTERS]
        if not line:
            raise UsageError("a conversation needs a title", hint="give it a word")
        await self.store.rename(scope, conversation_id, line)

    async def delete(self, conversation_id: ConversationId, *, scope: Scope) -> Receipt:
        """Delete a conversation with all that was made from it. Raises: ConversationNotFound."""
        stores = await self.store.delete(scope, conversation_id)
        return Receipt(purge_id=str(new_uuid()), stores=tuple(stores))

    async def latest(
        self, *, scope: Scope, persona: str = DEFAULT_PERSONA
    ) -> ConversationId | None:
        """Return the conversation to go on with; None where the last one is over."""
        return await self.store.latest(scope, persona, self.clock.now() - self.idle)
