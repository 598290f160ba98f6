"""How does a test speak to the server? Over ASGI, with keys of its own, on real PostgreSQL."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp
from support import Bench

from vademecum.model.principal import Scope
from vademecum.server.application import application, service_over
from vademecum.server.service import Service
from vademecum.settings import Loaded, load

BASE = "http://localhost"
EVERYTHING = ("read", "write", "memory", "admin")
RULES = """# Cameras

Cameras with a lens of at most 200 mm are allowed in Hall Norte.

# Access

Sector C has step-free access by lift 4.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server over a bench, without a port."""

    bench: Bench
    service: Service
    asgi: ASGIApp

    async def key(
        self,
        principal: str = "user:reader",
        *scopes: str,
        labels: tuple[str, ...] = (),
        tenant: str = "default",
    ) -> str:
        """Return the text of a new key; without scopes it may read, write and remember."""
        issued = await self.bench.app.catalogue.keyring.issue(
            scope=Scope.for_operator(tenant),
            principal=principal,
            labels=frozenset(labels),
            permissions=frozenset(scopes or ("read", "write", "memory")),
        )
        return issued.text

    @asynccontextmanager
    async def client(
        self, key: str | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[httpx.AsyncClient]:
        """A client with a key, or with nothing."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        transport = httpx.ASGITransport(self.asgi, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=sent) as client:
            yield client


def serve_bench(bench: Bench, home: Path, **settings: Any) -> Served:
    """Return a server over a bench; `settings` are dotted keys with `__` for the dots."""
    flags = {key.replace("__", "."): value for key, value in settings.items()}
    loaded: Loaded = load(config=None, flags=flags, environment={"VADE_HOME": str(home)})
    service = service_over(bench.app, loaded)
    return Served(bench=bench, service=service, asgi=application(service))


def events_of(text: str) -> list[tuple[str, str]]:
    """Return name and data of each server-sent event."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in lines:
            found.append((lines["event"], lines["data"]))
    return found


async def put(served: Served, key: str, text: str = RULES, **values: object) -> dict[str, object]:
    """Bring a document in, and return what became of it."""
    body = {"uri": "rules.md", "text": text, "wait": True, "language": "en"} | values
    async with served.client(key) as client:
        answer = await client.post("/api/v1/documents", json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.json()["documents"][0]
    return document


@asynccontextmanager
async def listening(served: Served) -> AsyncIterator[str]:
    """Serve on a port of this machine, and give its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        listener.setblocking(False)
        server = uvicorn.Server(
            uvicorn.Config(served.asgi, log_config=None, lifespan="off", ws="none")
        )
        running = asyncio.create_task(server._serve([listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await running
