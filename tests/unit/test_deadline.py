"""Does nobody wait longer than they said, whatever the work does when it is told to end?"""

import asyncio
import time

import pytest

from vademecum.deadline import Turnstile, answered, within
from vademecum.errors import DatabaseAway, QueueFull


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


async def test_so_many_are_in_and_the_others_come_in_their_order() -> None:
    turnstile, inside, most, order = Turnstile(places=2), 0, 0, []

    async def pass_(number: int) -> None:
        nonlocal inside, most
        async with turnstile.passing():
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(pass_(number) for number in range(7)))
    assert most == 2
    assert order == list(range(7))


async def test_a_queue_that_is_too_long_is_told_apart_from_a_database_that_is_away() -> None:
    turnstile = Turnstile(places=1, seconds=0.05)
    async with turnstile.passing():
        with pytest.raises(QueueFull, match=r"too many searches wait \(for 0\.05 s\)"):
            async with turnstile.passing():
                raise AssertionError("there was no place")
    async with turnstile.passing():
        pass  # whoever gave up holds none


async def test_whoever_leaves_the_queue_or_fails_inside_holds_no_place() -> None:
    turnstile = Turnstile(places=1)
    async with turnstile.passing():
        waiting = asyncio.create_task(_pass(turnstile))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait({waiting})
    with pytest.raises(ValueError, match="inside"):
        async with turnstile.passing():
            raise ValueError("inside")
    await asyncio.wait_for(_pass(turnstile), 1)


async def _pass(turnstile: Turnstile) -> None:
    async with turnstile.passing():
        pass
