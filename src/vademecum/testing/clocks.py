"""What time is it in a story that is told at once?"""

import time
from datetime import UTC, datetime, timedelta


class ShiftedClock:
    """The Clock port of this machine, `behind` its time; durations are real."""

    def __init__(self, *, behind: timedelta) -> None:
        self._behind = behind

    def now(self) -> datetime:
        return datetime.now(UTC) - self._behind

    def monotonic(self) -> float:
        return time.monotonic()
