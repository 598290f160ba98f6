"""Where is it kept what answers cost, and how many are under way?"""

from datetime import date
from typing import Protocol

from vademecum.model.answer import Usage
from vademecum.model.ids import KeyId
from vademecum.model.principal import Scope
from vademecum.model.serving.spending import Allowed, Refusal, Spent, UnderWay


class SpendingStore(Protocol):
    """The answers under way in every process, and the tokens and money of each day."""

    async def begin(self, scope: Scope, answer: UnderWay, allowed: Allowed) -> Refusal | None:
        """Count an answer as under way, or say why it may not begin. Many at once spend at most one
        answer more than a budget has."""
        ...

    async def renew(self, scope: Scope, answer: UnderWay) -> None:
        """Say that it is still written: one without word for a minute counts no more."""
        ...

    async def end(self, scope: Scope, answer: UnderWay, used: Usage, cost: float) -> None:
        """Count what it did cost; it is under way no more."""
        ...

    async def spent(self, scope: Scope, day: date, key_id: KeyId | None) -> Spent:
        """Return what a key spent on a day (UTC), or with None all of its tenant."""
        ...

    async def by_day(self, scope: Scope, since: date) -> dict[date, Spent]:
        """Return what everybody of the tenant spent on each day since one (UTC); days without are
        not in it."""
        ...

    async def let_go(self, scope: Scope, before: date) -> int:
        """Delete what the tenant spent before a day; return how many rows."""
        ...
