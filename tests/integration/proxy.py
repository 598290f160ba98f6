"""A way to the database that can fall silent, break, or be slow, while somebody is using it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

_SLOW_SECONDS = 0.02


class Proxy:
    """Passes bytes between its clients and the server. `mode` is what happens to them from now on:
    pass, slow (each piece a little later), stall (swallowed without a word), down (connections are
    reset, and so is every new one). `reset` breaks those that there are, once."""

    def __init__(self, server: str) -> None:
        known = conninfo_to_dict(server)
        self._target = f"{known['host']}/.s.PGSQL.{known['port']}"
        self._known = known
        self._open = asyncio.Event()
        self._open.set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[Any]] = set()
        self.mode = "pass"

    def set(self, mode: str) -> None:
        """Change what happens from now on; `reset` goes back to passing at once."""
        self.mode = "pass" if mode == "reset" else mode
        if mode == "stall":
            self._open.clear()
        else:
            self._open.set()
        if mode in ("reset", "down"):
            for writer in list(self._clients):
                _reset(writer)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve while the block runs; yields the address for clients."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield make_conninfo(**{**self._known, "host": "127.0.0.1", "port": port})
        finally:
            self.set("down")
            server.close()
            if self._serving:
                await asyncio.wait(self._serving, timeout=5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        self._clients.add(writer)
        try:
            if self.mode == "down":
                _reset(writer)
            else:
                await self._join(reader, writer)
        finally:
            self._clients.discard(writer)
            self._serving.discard(serving)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(self._target)
        tasks = [asyncio.ensure_future(self._pass(reader, forth)),
                 asyncio.ensure_future(self._pass(back, writer))]  # fmt: skip
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            forth.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(65_536):
                if self.mode == "slow":
                    await asyncio.sleep(_SLOW_SECONDS)
                await self._open.wait()
                writer.write(piece)
                await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Break a connection so that the other side is told of it as a reset."""
    connected = writer.get_extra_info("socket")
    if connected is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def before_statement(number: int, act: Callable[[], None]) -> Iterator[Callable[[], int]]:
    """Act before the `number`-th statement that is sent, from 1; yields how many there were."""
    sent = 0
    execute = AsyncConnection.execute

    async def counting(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal sent
        if query:  # the pool's look whether a connection lives is no statement of ours
            sent += 1
            if sent == number:
                act()
        return await execute(self, query, *args, **kwargs)

    AsyncConnection.execute = counting  # type: ignore[method-assign]
    try:
        yield lambda: sent
    finally:
        AsyncConnection.execute = execute  # type: ignore[method-assign]
