"""What time is it in a test, or in a story that is told at once?"""

import time
from datetime import UTC, datetime, timedelta


class FrozenClock:
    """The Clock port at a moment that changes only by `pass_by`; `monotonic` goes with it."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment
        self._seconds = 0.0

    def now(self) -> datetime:
        return self._moment

    def monotonic(self) -> float:
        return self._seconds

    def pass_by(self, span: timedelta) -> None:
        """Let a span of time pass, at least none."""
        if span < timedelta():
            raise ValueError("time does not go back")
        self._moment += span
        self._seconds += span.total_seconds()


class ShiftedClock:
    """The Clock port of this machine, `behind` its time: durations are real."""

    def __init__(self, *, behind: timedelta) -> None:
        self._behind = behind

    def now(self) -> datetime:
        return datetime.now(UTC) - self._behind

    def monotonic(self) -> float:
        return time.monotonic()
