"""Does nobody wait longer than they said, whatever the work does when it is told to end?"""

import asyncio
import time

import pytest

from vademecum.deadline import answered, within
from vademecum.errors import DatabaseAway


async def stubborn(ended: asyncio.Event) -> str:
    """Work that takes its time when it is cancelled, as a driver does with a silent server."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.2)
        ended.set()
        raise
    return "late"


async def test_what_comes_in_time_is_given_and_what_is_raised_is_raised() -> None:
    async def quick() -> str:
        return "quick"

    async def failing() -> str:
        raise ValueError("its own")

    assert await within(quick(), 1) == "quick"
    with pytest.raises(ValueError, match="its own"):
        await within(failing(), 1)


async def test_the_wait_ends_before_the_work_does() -> None:
    ended, began = asyncio.Event(), time.monotonic()
    with pytest.raises(TimeoutError):
        await within(stubborn(ended), 0.05)
    assert time.monotonic() - began < 0.15
    assert not ended.is_set()
    await asyncio.wait_for(ended.wait(), 2)


async def test_a_silent_database_is_away() -> None:
    with pytest.raises(DatabaseAway, match=r"silent for 0\.05 s"):
        await answered(asyncio.sleep(60), 0.05)


async def test_whoever_stops_waiting_takes_the_work_along() -> None:
    ended = asyncio.Event()
    waiting = asyncio.create_task(within(stubborn(ended), 60))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
