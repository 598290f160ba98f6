"""How does an answer go out while it is written?

Each answer is written by a task of its own and goes through a short queue, so that a reader who is
slow, or leaves, harms nobody: what was written is kept, and the model's call ends with the task.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from vademecum import interface, jsontext
from vademecum.adapters.language_models.metered import METER, Meter
from vademecum.adapters.tracing import Noted, Tracing, stages
from vademecum.errors import ServiceAway, Unauthenticated, VademecumError
from vademecum.model.answer import Done, Event
from vademecum.model.serving.key import Caller
from vademecum.model.serving.spending import UnderWay
from vademecum.server.allowance import Allowance
from vademecum.server.metrics import Metrics

# Sentences that may wait for a slow reader, and for how long the last of them waits.
_WAITING = 16
_READER_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_RENEW_SECONDS = 20.0
# An answer in the words of OpenTelemetry's conventions for generative models.
_AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "vademecum"}
_log = logging.getLogger(__name__)
Alive = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one answer may take, in seconds."""

    total: float
    idle: float
    grace: float


class Streams:
    """The answers that are being written in this process."""

    def __init__(
        self, limits: Limits, allowance: Allowance, metrics: Metrics, tracing: Tracing
    ) -> None:
        self._limits = limits
        self._allowance = allowance
        self._metrics = metrics
        self._tracing = tracing
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    @property
    def count(self) -> int:
        return len(self._tasks)

    def stop(self) -> None:
        """Let answers go on for the grace, then end each with an error of its own."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.grace, self._stopping.set)

    async def follow(
        self, caller: Caller, events: AsyncGenerator[Event, None], alive: Alive
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer; it is written on whether they are taken or not, until
        whoever takes them leaves.

        Raises: TooMany, BudgetSpent, before anything is written; Unauthenticated, where `alive`
        says no meanwhile; ServiceAway, where it takes too long or the server stops; what the answer
        raises.
        """
        try:
            begun = await self._allowance.begin(caller)
        except VademecumError:
            await events.aclose()
            raise
        self._metrics.streams.inc()
        queue: asyncio.Queue[Event | VademecumError | None] = asyncio.Queue(_WAITING)
        task = asyncio.create_task(self._counted(caller, begun, events, queue))
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

    async def _counted(
        self,
        caller: Caller,
        begun: UnderWay,
        events: AsyncGenerator[Event, None],
        queue: asyncio.Queue[Event | VademecumError | None],
    ) -> None:
        """Write an answer, and count what it took of the caller's allowance however it ends."""
        meter = Meter()
        METER.set(meter)
        bill = _Bill(self._allowance, caller, begun, meter)
        renewing = asyncio.create_task(self._renewed(caller, begun))
        try:
            with self._tracing.during("invoke_agent vademecum", _AGENT, "internal") as noted:
                try:
                    await _write(events, queue, noted, bill)
                finally:
                    noted.note(
                        gen_ai__usage__input_tokens=meter.prompt_tokens,
                        gen_ai__usage__output_tokens=meter.completion_tokens,
                    )
        finally:
            renewing.cancel()
            await bill.settle()

    async def _renewed(self, caller: Caller, begun: UnderWay) -> None:
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                await self._allowance.renew(caller, begun)
            except VademecumError as error:
                _log.warning("an answer under way is not counted: %s", error.code)

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


class _Bill:
    """What an answer took, counted once."""

    def __init__(self, allowance: Allowance, caller: Caller, begun: UnderWay, meter: Meter) -> None:
        self._allowance = allowance
        self._caller = caller
        self._begun = begun
        self._meter = meter
        self._counting: asyncio.Task[None] | None = None

    async def settle(self) -> None:
        """Count it, also where whoever wants to know is stopped meanwhile."""
        if self._counting is None:
            self._counting = asyncio.create_task(self._count())
        await asyncio.shield(self._counting)

    async def _count(self) -> None:
        try:
            await self._allowance.end(self._caller, self._begun, self._meter.usage)
        except VademecumError as error:
            _log.error("what an answer took is not counted: %s", error.code)


async def _write(
    events: AsyncGenerator[Event, None],
    queue: asyncio.Queue[Event | VademecumError | None],
    noted: Noted,
    bill: _Bill,
) -> None:
    """Write an answer into the queue, then how it ended."""
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Done):
                    noted.note(**stages(event.answer.timings_ms))
                    # Before it is seen: whoever has an answer may begin the next.
                    await bill.settle()
                await asyncio.wait_for(queue.put(event), _READER_SECONDS)
    except TimeoutError:
        return  # whoever reads this slowly has gone; the answer is kept as far as it was written
    except VademecumError as error:
        noted.failed(error.code)
        await queue.put(error)
    except Exception as error:  # noqa: BLE001
        # The edge of a stream: its reader gets an end, the log the kind of what broke.
        noted.failed("internal")
        _log.error("an answer broke inside: %s", type(error).__name__)
        await queue.put(VademecumError("something broke inside", hint="see the log"))
    else:
        await queue.put(None)


async def framed(
    events: AsyncGenerator[Event, None], failed: Callable[[], None]
) -> AsyncIterator[bytes]:
    """Yield server-sent events: `retrieved`, for each sentence `delta`, `citation` and `sentence`,
    and always one of `done` and `error` at the end; an error is told to `failed` too."""
    async with aclosing(events):
        try:
            async for event in events:
                for name, data in _named(event):
                    yield frame(name, data)
        except VademecumError as error:
            failed()
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
    return f"event: {name}\ndata: {jsontext.written(data)}\n\n".encode("utf-8", "backslashreplace")
