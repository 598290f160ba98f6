"""What may answers cost, and what did they?"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from vademecum.model.answer import Usage
from vademecum.model.ids import KeyId

Refusal = Literal["streams", "key-tokens", "key-cost", "tenant-tokens", "tenant-cost"]
"""Why no answer may begin: too many at once, or the day's tokens or money of the key, or of its
tenant, are spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost, in whatever money; 0 where nobody counts it."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> float:
        """Return what these tokens cost."""
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        return (prompt * self.prompt + completion * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent in a day (UTC): tokens, and money. 0 is no limit."""

    tokens: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a key may at most: answers at the same time, its own budget and that of its tenant."""

    streams: int
    key: Budget
    tenant: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """An answer that a key has begun, and what it may still cost."""

    id: UUID
    key_id: KeyId
    may: Usage
    may_cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent on one day."""

    usage: Usage
    cost: float
