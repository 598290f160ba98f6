"""Who does the work that was accepted?"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from vademecum.model.ids import DocumentId, RevisionId, Tenant
from vademecum.model.job import Job
from vademecum.model.principal import Scope

Work = Callable[[Tenant, RevisionId], Awaitable[None]]


class Jobs(Protocol):
    """Run the accepted work. Jobs are enqueued by the store, in the transaction of their cause."""

    async def drain(self, work: Work) -> None:
        """Do everything that waits, then return."""
        ...

    async def run(self, work: Work) -> None:
        """Do what waits and what comes, until cancelled; then end what was begun, and return."""
        ...

    async def pending(self, scope: Scope) -> list[Job]:
        """Return the work that waits, is being done, or was given up, oldest first."""
        ...

    async def retry(self, scope: Scope, document_id: DocumentId | None) -> list[DocumentId]:
        """Queue what was given up or is whole only in part, of one document or of all, as new
        revisions of the same bytes; return the documents."""
        ...

    async def rescue(self) -> int:
        """Queue again what a dead worker left; return how many. Does not depend on a worker."""
        ...
