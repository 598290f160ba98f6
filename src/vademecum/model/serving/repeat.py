"""What if the same request comes again?"""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to answer a named request. `name` is a hash of what its caller calls it; whoever
    has the `fence` may write."""

    name: bytes
    fence: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAnswer:
    """What was answered first. `asked` is a hash of the request, `body` None where it was too large
    to keep, `mentions` the ids in it: the answer is dropped with any of them."""

    asked: bytes
    status: int
    media_type: str
    body: bytes | None
    mentions: frozenset[UUID] = frozenset()
