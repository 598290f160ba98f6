"""How long may what a turn waits for take?"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from vademecum.errors import DatabaseAway, QueueFull

T = TypeVar("T")
# Whoever stops waiting lets what was begun end in peace for so long.
_GRACE_SECONDS = 1.0
_leaving: set[asyncio.Future[Any]] = set()


async def within(work: Awaitable[T], seconds: float) -> T:
    """Return what `work` gives. Raises: TimeoutError after so many seconds, and then at once.

    Work that is slow to end when it is told to (a driver asks the server to cancel, and waits ten
    seconds for one that does not answer) ends by itself: nobody waits for it.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        _leave(task)
        await asyncio.wait({task}, timeout=_GRACE_SECONDS)
        raise
    if task.done():
        return task.result()
    _leave(task)
    raise TimeoutError


async def answered(work: Awaitable[T], seconds: float) -> T:
    """Return what the database gives. Raises: DatabaseAway where it is silent for so long."""
    try:
        return await within(work, seconds)
    except TimeoutError:
        raise DatabaseAway(
            f"the database does not answer (silent for {seconds:g} s)",
            hint="check that the server of DATABASE_URL runs, and ask again",
        ) from None


class Turnstile:
    """Lets so many in at a time, the others in the order in which they came. Of too many at once
    each would be late; in a row each is as quick as if it were alone, once it is in."""

    def __init__(self, places: int = 5, seconds: float = 60.0) -> None:
        self._places = asyncio.Semaphore(places)
        self._seconds = seconds

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """Hold a place, once there is one. Raises: QueueFull after so many seconds."""
        try:
            async with asyncio.timeout(self._seconds):
                await self._places.acquire()
        except TimeoutError:
            raise QueueFull(
                f"too many searches wait (for {self._seconds:g} s)", hint="ask again a little later"
            ) from None
        try:
            yield
        finally:
            self._places.release()


def _leave(task: asyncio.Future[Any]) -> None:
    task.cancel()
    _leaving.add(task)
    task.add_done_callback(_left)


def _left(task: asyncio.Future[Any]) -> None:
    _leaving.discard(task)
    if not task.cancelled():
        task.exception()  # nobody asks for it any more
