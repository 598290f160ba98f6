"""Where are answers kept that may be given again?"""

from typing import Protocol

from vademecum.model.kept_answer import KeptAnswer, Looked, LookedNear, Near, Stay
from vademecum.model.principal import Scope


class KeptAnswerStore(Protocol):
    """Answers by the key of all that they depend on but the documents. Each belongs to the
    principal it was given to, and goes with its trace: with any document that it quotes or was
    written beside, with its conversation, with its person."""

    async def look(self, scope: Scope, key: bytes) -> Looked:
        """Return the answer kept under a key, none where any document of the tenant was
        published, changed or deleted since it was begun, or where its time is over.

        Raises: DatabaseAway.
        """
        ...

    async def keep(self, scope: Scope, key: bytes, answer: KeptAnswer, stay: Stay) -> None:
        """Keep an answer, among the newest of its principal. Nothing is kept whose trace is gone
        already.

        Raises: DatabaseAway.
        """
        ...

    async def look_near(self, scope: Scope, near: Near, least: float) -> LookedNear:
        """Return the nearest answer of the tenant under the same key, whoever it was given to, that
        was given to a question of at least this cosine, as `look` returns one.

        Raises: DatabaseAway.
        """
        ...

    async def keep_near(self, scope: Scope, near: Near, answer: KeptAnswer, stay: Stay) -> None:
        """Keep an answer for other wordings, as `keep` does, among the newest of its tenant.

        Raises: DatabaseAway.
        """
        ...
