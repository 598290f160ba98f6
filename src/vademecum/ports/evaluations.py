"""Where are evaluations kept?"""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from vademecum.model.evaluation import Result, Run
from vademecum.model.ids import ChunkId, DocumentId, EvaluationId
from vademecum.model.principal import Scope


class EvaluationStore(Protocol):
    """Runs of a tenant, for its operators alone."""

    async def keep(self, scope: Scope, run: Run, results: Sequence[Result]) -> None:
        """Write a run and its results in one transaction. Raises: Forbidden."""
        ...

    async def get(self, scope: Scope, run_id: EvaluationId) -> tuple[Run, list[Result]]:
        """Return a run and its results in the order of the golden set.

        Raises: EvaluationNotFound, also for who is no operator of its tenant."""
        ...

    async def all(self, scope: Scope, limit: int) -> list[Run]:
        """Return at most `limit` runs, the newest first."""
        ...

    async def pieces(
        self, scope: Scope, document_id: DocumentId, as_of: date | None
    ) -> list[tuple[ChunkId, int, int]]:
        """Return the chunks of a document with their places, of the revision in force at the end
        of a day, or of the current one, in order."""
        ...
