"""Who does the work that was accepted?"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from vademecum.model.ids import RevisionId, Tenant

Work = Callable[[Tenant, RevisionId], Awaitable[None]]


class Jobs(Protocol):
    """Run the accepted work. Jobs are enqueued by the store, in the transaction of their cause."""

    async def drain(self, work: Work) -> None:
        """Do everything that waits, then return."""
        ...

    async def rescue(self) -> int:
        """Queue again what a dead worker left; return how many. Does not depend on a worker."""
        ...
