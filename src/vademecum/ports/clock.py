"""What time is it?"""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time now, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back, for durations."""
        ...
