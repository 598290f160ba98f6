"""Who does the work that was accepted?"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol
from uuid import UUID

from vademecum.model.ids import DocumentId, Tenant
from vademecum.model.job import Job
from vademecum.model.principal import Scope

# What is worked on: an accepted revision, or a conversation in which something was said.
Kind = Literal["ingest", "converse"]
# Work on one thing of a kind, by its id.
Work = Callable[[Tenant, UUID], Awaitable[None]]
Works = Mapping[Kind, Work]


class Jobs(Protocol):
    """Run the accepted work. Jobs are enqueued by the store, in the transaction of their cause."""

    async def drain(self, works: Works) -> None:
        """Do everything of these kinds that waits, then return."""
        ...

    async def run(self, works: Works) -> None:
        """Do what waits and what comes of these kinds, until cancelled; then end what was begun,
        and return."""
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
