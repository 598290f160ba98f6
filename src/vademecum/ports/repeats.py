"""Where are the first answers to named requests kept?"""

from typing import Protocol

from vademecum.model.principal import Scope
from vademecum.model.serving.repeat import Claim, FirstAnswer


class RepeatStore(Protocol):
    """First answers of each principal, for a day; never one person's for another."""

    async def claim(self, scope: Scope, name: bytes) -> Claim | FirstAnswer | None:
        """Return the right to answer a request, or its first answer; None where somebody is at it
        now."""
        ...

    async def renew(self, scope: Scope, claim: Claim) -> None:
        """Say that the work goes on: a claim without word is another's after a minute."""
        ...

    async def keep(self, scope: Scope, claim: Claim, answer: FirstAnswer) -> None:
        """Keep the answer; nothing happens where the claim was lost."""
        ...

    async def release(self, scope: Scope, claim: Claim) -> None:
        """Forget a request that was not answered: the next one is the first."""
        ...

    async def let_go(self, scope: Scope) -> int:
        """Delete answers of the tenant that are over a day old; return how many."""
        ...
