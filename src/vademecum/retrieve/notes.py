"""What does a search leave for its trace?"""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from vademecum.deadline import within
from vademecum.errors import EmbeddingInvalid, ModelUnusable, ServiceAway
from vademecum.model.passage import Hit
from vademecum.ports.clock import Clock

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Notes:
    """How long each part of a search took, in milliseconds, and which were missing and why."""

    clock: Clock
    degraded: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    async def timed(
        self, name: str, work: Callable[[], Awaitable[T]], empty: T, seconds: float
    ) -> T:
        """Return what `work` gives, or `empty` where it fails or takes too long, noting it. It is
        called here, so that nothing waits for ever where this is cancelled before it begins."""
        started = self.clock.monotonic()
        try:
            return await within(work(), seconds)
        except TimeoutError:
            self.degraded.append(f"{name}: DEADLINE")
            return empty
        except (EmbeddingInvalid, ModelUnusable, ServiceAway) as error:
            self.degraded.append(f"{name}: {error.code}")
            return empty
        finally:
            self.timings[name] = 1000 * (self.clock.monotonic() - started)

    def finite(self, name: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits whose scores are numbers: another would upset every ordering."""
        kept = tuple(hit for hit in hits if math.isfinite(hit.score))
        if len(kept) < len(hits):
            self.degraded.append(f"{name}: not finite")
        return kept
