"""How does an answer go out while it is written?

Each answer is written by a task of its own and goes through a short queue, so that a reader who is
slow, or leaves, harms nobody: what was written is kept, and the model's call ends with the task.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from vademecum import interface
from vademecum.errors import ServiceAway, TooMany, Unauthenticated, VademecumError
from vademecum.model.answer import Answer, Done, Event
from vademecum.model.ids import KeyId
from vademecum.server.metrics import Metrics

# Sentences that may wait for a slow reader, and for how long the last of them waits.
_WAITING = 16
_READER_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_log = logging.getLogger(__name__)
Alive = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one answer may take, in seconds, and how many one key may have at the same time."""

    total: float
    idle: float
    each: int
    grace: float


class Streams:
    """The answers that are being written in this process."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._open: Counter[KeyId] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    @property
    def count(self) -> int:
        return self._open.total()

    def stop(self) -> None:
        """Let answers go on for the grace, then end each with an error of its own."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.grace, self._stopping.set)

    async def follow(
        self, key_id: KeyId, events: AsyncGenerator[Event, None], alive: Alive
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer; it is written on whether they are taken or not, until
        whoever takes them leaves.

        Raises: TooMany, before anything is written; Unauthenticated, where `alive` says no
        meanwhile; ServiceAway, where it takes too long or the server stops; what the answer raises.
        """
        if self._open[key_id] >= self._limits.each:
            await events.aclose()
            raise TooMany(
                "this key has too many answers under way", hint="wait for one of them to end"
            )
        self._open[key_id] += 1
        self._metrics.streams.inc()
        queue: asyncio.Queue[Event | VademecumError | None] = asyncio.Queue(_WAITING)
        task = asyncio.create_task(_write(events, queue))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            async with aclosing(self._taken(queue, alive)) as taken:
                async for event in taken:
                    yield event
        finally:
            # Not awaited: whoever left may have been cancelled, and the task keeps what it wrote.
            task.cancel()
            self._metrics.streams.dec()
            self._open[key_id] -= 1
            if not self._open[key_id]:
                del self._open[key_id]

    async def _taken(
        self, queue: asyncio.Queue[Event | VademecumError | None], alive: Alive
    ) -> AsyncGenerator[Event, None]:
        clock = asyncio.get_running_loop().time
        began = last = looked = clock()
        while True:
            event: Event | VademecumError | _Nothing | None = _NOTHING
            with suppress(TimeoutError):
                event = await asyncio.wait_for(queue.get(), min(_LOOK_SECONDS, self._limits.idle))
            if isinstance(event, VademecumError):
                raise event
            if event is None:
                return
            now = clock()
            if now - looked >= _LOOK_SECONDS:
                looked = now
                if not await alive():
                    raise Unauthenticated("this key was revoked", hint="use another")
            if not isinstance(event, _Nothing):
                last = now
                if isinstance(event, Done):
                    self._metrics.answer(event.answer)
                yield event
            self._check(now - began, now - last)

    def _check(self, total: float, idle: float) -> None:
        if total > self._limits.total or idle > self._limits.idle:
            raise ServiceAway("the answer takes too long", hint="ask again, or ask for less")
        if self._stopping.is_set():
            raise ServiceAway("the server is being stopped", hint="ask again in a moment")

    async def close(self) -> None:
        """Wait until every answer is kept, as far as it was written."""
        if self._tasks:
            await asyncio.wait(self._tasks)


class _Nothing:
    """No event yet."""


_NOTHING = _Nothing()


async def _write(
    events: AsyncGenerator[Event, None], queue: asyncio.Queue[Event | VademecumError | None]
) -> None:
    """Write an answer into the queue, then how it ended."""
    try:
        async with aclosing(events):
            async for event in events:
                await asyncio.wait_for(queue.put(event), _READER_SECONDS)
    except TimeoutError:
        return  # whoever reads this slowly has gone; the answer is kept as far as it was written
    except VademecumError as error:
        await queue.put(error)
    except Exception as error:  # noqa: BLE001
        # The edge of a stream: its reader gets an end, the log the kind of what broke.
        _log.error("an answer broke inside: %s", type(error).__name__)
        await queue.put(VademecumError("something broke inside", hint="see the log"))
    else:
        await queue.put(None)


async def whole(events: AsyncGenerator[Event, None]) -> Answer:
    """Return the answer at the end of its events."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                return event.answer
    raise RuntimeError("the answer had no end")


async def framed(events: AsyncGenerator[Event, None]) -> AsyncIterator[bytes]:
    """Yield server-sent events: `retrieved`, for each sentence `delta`, `citation` and `sentence`,
    and always one of `done` and `error` at the end."""
    async with aclosing(events):
        try:
            async for event in events:
                for name, data in _named(event):
                    yield frame(name, data)
        except VademecumError as error:
            yield frame("error", interface.error_json(error))


def _named(event: Event) -> list[tuple[str, dict[str, Any]]]:
    values = interface.event_json(event)
    name = values.pop("event")
    if name != "sentence":
        return [(name, values)]
    delta = ("delta", {"text": values["text"]})
    citations = [("citation", citation) for citation in values["citations"]]
    return [delta, *citations, (name, values)]


def frame(name: str, data: Any) -> bytes:
    """Return one server-sent event; its data is JSON, which has no line ends of its own."""
    return f"event: {name}\ndata: {interface.written(data)}\n\n".encode("utf-8", "backslashreplace")
