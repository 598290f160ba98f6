"""The machine's own clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The Clock port."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
