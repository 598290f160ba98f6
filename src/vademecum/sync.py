"""How does code without an event loop use it? The same App, each call waiting for its result."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, contextmanager
from functools import partial, wraps
from queue import SimpleQueue
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from vademecum import app as asynchronous
from vademecum import composing
from vademecum.opening import Tell, silent
from vademecum.settings import Loaded
from vademecum.talking import Talking as AsyncTalking

P = ParamSpec("P")
T = TypeVar("T")


def _waiting(
    method: Callable[Concatenate[asynchronous.App, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["App", P], T]:
    """Return the method that runs a coroutine of the asynchronous App to its end."""

    @wraps(method)
    def call(app: "App", /, *args: P.args, **values: P.kwargs) -> T:
        result: T = app._portal.call(partial(method, app._app, *args, **values))  # noqa: SLF001
        return result

    return call


def _talking(
    method: Callable[Concatenate[AsyncTalking, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Talking", P], T]:
    """The same, for conversations."""

    @wraps(method)
    def call(talking: "Talking", /, *args: P.args, **values: P.kwargs) -> T:
        work = partial(method, talking._talking, *args, **values)  # noqa: SLF001
        result: T = talking._portal.call(work)  # noqa: SLF001
        return result

    return call


def _iterating(
    method: Callable[Concatenate[asynchronous.App, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate["App", P], Iterator[T]]:
    """Return the method that yields what an asynchronous generator of the App yields.

    All of it runs in one task, as libraries below need; leaving the iterator early ends it.
    """

    @wraps(method)
    def call(app: "App", /, *args: P.args, **values: P.kwargs) -> Iterator[T]:
        came: SimpleQueue[tuple[T] | None] = SimpleQueue()

        async def pump() -> None:
            try:
                async with aclosing(method(app._app, *args, **values)) as items:  # noqa: SLF001
                    async for item in items:
                        came.put((item,))
            finally:
                came.put(None)

        pumping = app._portal.start_task_soon(pump)  # noqa: SLF001
        try:
            while (item := came.get()) is not None:
                yield item[0]
            pumping.result()  # raises what the generator raised
        finally:
            pumping.cancel()

    return call


class Talking:
    """`App.talking` for blocking code."""

    def __init__(self, talking: AsyncTalking, portal: BlockingPortal) -> None:
        self._talking = talking
        self._portal = portal

    list = _talking(AsyncTalking.list)
    show = _talking(AsyncTalking.show)
    rename = _talking(AsyncTalking.rename)
    delete = _talking(AsyncTalking.delete)
    latest = _talking(AsyncTalking.latest)


class App:
    """`vademecum.App` for blocking code, with the same methods, arguments, results and errors.

    It may be used from several threads. `on_progress` and `tell` are called in the thread of the
    event loop.
    """

    def __init__(self, app: asynchronous.App, portal: BlockingPortal) -> None:
        self._app = app
        self._portal = portal

    ingest = _waiting(asynchronous.App.ingest)
    forget = _waiting(asynchronous.App.forget)
    changes = _waiting(asynchronous.App.changes)
    search = _waiting(asynchronous.App.search)
    ask = _waiting(asynchronous.App.ask)
    stream = _iterating(asynchronous.App.stream)
    replay = _waiting(asynchronous.App.replay)
    replay_day = _iterating(asynchronous.App.replay_day)
    remember = _waiting(asynchronous.App.remember)
    recall = _waiting(asynchronous.App.recall)
    remembering = _waiting(asynchronous.App.remembering)
    memories = _waiting(asynchronous.App.memories)
    memory = _waiting(asynchronous.App.memory)
    edit_memory = _waiting(asynchronous.App.edit_memory)
    pin = _waiting(asynchronous.App.pin)
    confirm = _waiting(asynchronous.App.confirm)
    reject = _waiting(asynchronous.App.reject)
    forget_memory = _waiting(asynchronous.App.forget_memory)
    recall_turns = _waiting(asynchronous.App.recall_turns)

    @property
    def talking(self) -> Talking:
        """Conversations: list, show, delete, go on."""
        return Talking(self._app.talking, self._portal)


@contextmanager
def open(
    loaded: Loaded | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    tell: Tell = silent,
) -> Iterator[App]:
    """Open the system with an event loop in a thread of its own; see `vademecum.open`."""
    with start_blocking_portal("asyncio") as portal:
        opening = composing.open(loaded, overrides=overrides, tell=tell)
        with portal.wrap_async_context_manager(opening) as app:
            yield App(app, portal)
