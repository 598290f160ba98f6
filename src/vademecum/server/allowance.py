"""May this key begin an answer now, and what did it cost?

Counted in PostgreSQL, so that it holds in every process: how many answers are under way, and how
many tokens and how much money a key, and its whole tenant, spent on this day (UTC).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from vademecum.errors import BudgetSpent, TooMany
from vademecum.model.answer import Usage
from vademecum.model.ids import new_uuid
from vademecum.model.serving.key import Caller
from vademecum.model.serving.spending import Allowed, Budget, Price, Refusal, UnderWay
from vademecum.ports.spending import SpendingStore
from vademecum.server.metrics import Metrics
from vademecum.settings import LimitsSettings

# What an answer may cost where nothing is known yet: the prompt of an answer with that of its
# rewrite, and the most that both write (`answer.budget`, `retrieve.rewrite`).
MAY = Usage(prompt_tokens=5_000, completion_tokens=1_000)
_SPENT: dict[Refusal, str] = {
    "key-tokens": "this key has used its tokens of today",
    "key-cost": "this key has spent its money of today",
    "tenant-tokens": "the tokens of everybody together are used up for today",
    "tenant-cost": "the money of everybody together is spent for today",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What every key may, what tokens cost, and where it is counted."""

    store: SpendingStore
    allowed: Allowed
    price: Price
    metrics: Metrics

    async def begin(self, caller: Caller) -> UnderWay:
        """Count an answer of a caller's as under way. Raises: TooMany, BudgetSpent."""
        answer = UnderWay(id=new_uuid(), key_id=caller.key_id, may=MAY, may_cost=self.price.of(MAY))
        refused = await self.store.begin(caller.scope, answer, self.allowed)
        if refused is None:
            return answer
        self.metrics.refused(refused)
        if refused == "streams":
            raise TooMany(
                "this key has too many answers under way", hint="wait for one of them to end"
            )
        raise BudgetSpent(
            _SPENT[refused], hint="it begins anew at midnight UTC", wait=_until_midnight()
        )

    async def renew(self, caller: Caller, answer: UnderWay) -> None:
        """Say that it is still being written."""
        await self.store.renew(caller.scope, answer)

    async def end(self, caller: Caller, answer: UnderWay, used: Usage) -> None:
        """Count what it did cost."""
        cost = self.price.of(used)
        self.metrics.spent(used, cost)
        await self.store.end(caller.scope, answer, used, cost)


def allowed_by(limits: LimitsSettings) -> Allowed:
    """Return what the settings allow each key."""
    return Allowed(
        streams=limits.streams,
        key=Budget(tokens=limits.tokens_per_day, cost=limits.cost_per_day),
        tenant=Budget(tokens=limits.tenant_tokens_per_day, cost=limits.tenant_cost_per_day),
    )


def price_of(limits: LimitsSettings) -> Price:
    """Return what the settings say that tokens cost."""
    return Price(prompt=limits.prompt_price, completion=limits.completion_price)


def _until_midnight() -> float:
    """Return how many seconds of the day (UTC) are left."""
    now = datetime.now(UTC)
    morrow = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    return (morrow - now).total_seconds()
