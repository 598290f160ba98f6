"""Does a reader who is slow, or a thousand who are silent, cost the others anything?"""

import asyncio
import contextlib
import gc
import socket
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from http_server import Served, events_of, listening, put, serve_bench
from support import make_bench

from vademecum.model.principal import Scope
from vademecum.postgres.pool import Pool
from vademecum.testing.language_models import ScriptedModel

SAID = "Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]. "
SENTENCES = 40
QUESTION = {"question": "Which cameras are allowed in Hall Norte?", "stream": True}
SLOW_READERS = 10


@pytest.fixture
async def talking(pool: Pool, database_url: str, tmp_path: Path) -> Served:
    """A server whose model says the same sentence over and over, with its source."""
    model = ScriptedModel([[SAID] * SENTENCES])
    bench = await make_bench(pool, database_url, tmp_path / "blobs", language_model=model)
    served = serve_bench(bench, tmp_path)
    await put(served, await served.key("user:writer"))
    return served


@asynccontextmanager
async def byte_by_byte(address: str, key: str) -> AsyncIterator[list[bytes]]:
    """Ask, and read a byte a second of the answer into what is yielded, through a small buffer."""
    place = urlsplit(address)
    assert place.hostname is not None
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, (place.hostname, place.port))
        body = httpx.Request("POST", address, json=QUESTION).content
        head = (
            f"POST /api/v1/ask HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        await loop.sock_sendall(connection, head.encode() + body)
        got: list[bytes] = []

        async def read() -> None:
            while byte := await loop.sock_recv(connection, 1):
                got.append(byte)
                await asyncio.sleep(1)

        reading = asyncio.create_task(read())
        yield got
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def until(true: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - bytes that come in tell nobody
            await asyncio.sleep(0.05)


async def asked(client: httpx.AsyncClient, key: str) -> tuple[float, list[str]]:
    """Ask and read all of it: the seconds, and the names of the events."""
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {key}"}
    answer = await client.post("/api/v1/ask", json=QUESTION, headers=headers)
    return time.monotonic() - began, [name for name, _ in events_of(answer.text)]


async def test_readers_of_a_byte_a_second_harm_nobody(talking: Served) -> None:
    """An answer is no longer than its budget, so all of it waits in the connection: it is written
    and kept as for anybody, its place is free, and only the bytes wait."""
    streams = talking.service.streams
    slow = [await talking.key(f"user:slow-{at}") for at in range(SLOW_READERS)]
    quick = [await talking.key(f"user:quick-{at}") for at in range(3)]
    async with (
        listening(talking) as address,
        httpx.AsyncClient(base_url=address, timeout=60) as client,
        contextlib.AsyncExitStack() as readers,
    ):
        alone, expected = await asked(client, quick[0])
        assert expected.count("sentence") == SENTENCES
        assert expected[-1] == "done"
        read = [await readers.enter_async_context(byte_by_byte(address, key)) for key in slow]
        await until(lambda: all(read), 60)
        await until(lambda: streams.count == 0, 60)
        assert max(map(len, read)) < 60, "they are reading still"
        beside = [await asked(client, key) for key in quick]
        assert [events for _, events in beside] == [expected] * len(quick)
        began = time.monotonic()
        assert (await client.get("/health/live")).status_code == 200
        health = time.monotonic() - began
        again = await asked(client, slow[0])
        assert again[1] == expected, "whoever reads slowly may ask the next question"
    print(f"alone {alone:.2f} s, beside {max(s for s, _ in beside):.2f} s, health {health:.3f} s")
    # A machine that others use gives no sharp bound: whoever waits for a slow reader waits minutes.
    assert max(seconds for seconds, _ in beside) < 10 + 5 * alone
    talk = talking.bench.app.talking
    for at in range(SLOW_READERS):
        owner = Scope.for_principal("default", f"user:slow-{at}", frozenset())
        for one in await talk.list(scope=owner):
            kept = await talk.show(one.id, scope=owner)
            assert [turn.state for turn in kept.turns] == ["complete", "complete"]


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_conversations_that_are_silent_cost_nothing_that_grows(
    served_freely: Served, count: int
) -> None:
    """Each is begun, answered and left alone: rows in the database, and nothing in the process."""
    key = await served_freely.key()
    await put(served_freely, key)
    body = {"question": "Which cameras are allowed in Hall Norte?"}

    async def begin(conversations: int) -> int:
        """Begin so many, and return the bytes that are held afterwards."""
        for _ in range(conversations):
            answer = await client.post("/api/v1/ask", json=body)
            assert answer.json()["conversation_id"] is not None
        served_freely.bench.embedder.calls.clear()  # the test's own record
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    async with served_freely.client(key) as client:
        await begin(5)
        tracemalloc.start()
        try:
            first = await begin(count // 2)
            second = await begin(count - count // 2)
        finally:
            tracemalloc.stop()
        owner = Scope.for_principal("default", "user:reader", frozenset())
        assert len(await served_freely.bench.app.talking.list(scope=owner)) == count + 5
    grown = (second - first) / (count - count // 2)
    print(f"{count} conversations: {grown:.0f} bytes each")
    assert grown < 500
