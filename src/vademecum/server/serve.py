"""How does the server start, and how does it stop?"""

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import uvicorn

from vademecum.app import App
from vademecum.errors import Forbidden, InvalidSetting, ServiceAway
from vademecum.keyring import keep_admin_key
from vademecum.server import logs
from vademecum.server.application import application, service_over
from vademecum.server.service import Service
from vademecum.settings import Loaded, ServerSettings
from vademecum.text import late
from vademecum.worker.loop import work

DEFAULT_TENANT = "default"
ADMIN_KEY_FILE = "admin.key"
# Beyond the answers' own grace, for what they still write.
_CLOSING_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What is told once it listens: where, and the first key if it was made now."""

    url: str
    first_key: str | None


async def serve(
    app: App,
    loaded: Loaded,
    *,
    worker: bool,
    ready: Callable[[Serving], None],
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; then every answer under way gets its end.

    Raises: Forbidden, for an open address without any key; ServiceAway, where it is taken.
    """
    settings = loaded.settings.server
    first_key = await _first_key(app, loaded)
    logs.configure(loaded.settings.log.level)
    service = service_over(app, loaded)
    streams = service.streams
    listening = _listen(settings)
    server = uvicorn.Server(_configuration(service, settings))
    stopping = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        stack.enter_context(listening)
        if worker:
            working = asyncio.create_task(work(app))
            stack.push_async_callback(_end, working)
        warming = asyncio.create_task(asyncio.to_thread(_warm, app))
        stack.push_async_callback(asyncio.wait, {warming})
        serving = asyncio.create_task(_served(server, listening))
        ready(Serving(url=_url(settings, listening), first_key=first_key))
        await asyncio.wait(
            {serving, asyncio.create_task(stopping.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        streams.stop()
        server.should_exit = True
        await serving
        await streams.close()


def _warm(app: App) -> None:
    """Make what is made at its first use, so that the first answer is as quick as the second."""
    late.warm()
    if app.answer_parts.language_model is not None:
        app.answer_parts.counter.count("a")


async def _served(server: uvicorn.Server, listening: socket.socket) -> None:
    # Not `serve`, which would take over the signals of the whole process.
    await server._serve([listening])  # noqa: SLF001


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _configuration(service: Service, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        application(service),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        timeout_graceful_shutdown=round(settings.grace_seconds) + _CLOSING_SECONDS,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=64 * 1024,
        lifespan="off",
        ws="none",
    )


async def _first_key(app: App, loaded: Loaded) -> str | None:
    """Make the first key where there is none, and return it; only for this machine's own use."""
    keyring = app.catalogue.keyring
    made: list[str] = []
    path = loaded.home / ADMIN_KEY_FILE

    def publish(text: str) -> None:
        if not is_loopback(loaded.settings.server.host):
            raise Forbidden(
                f"{loaded.settings.server.host} is open to others and there is no key yet",
                hint="make one first: vade keys create --principal user:NAME --scope admin",
            )
        keep_admin_key(path, text)
        made.append(text)

    await keyring.first(DEFAULT_TENANT, publish)
    return made[0] if made else None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address; a name other than localhost may be any."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(settings: ServerSettings) -> socket.socket:
    """Open the port before anything is said of it. Raises: ServiceAway, InvalidSetting."""
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise InvalidSetting(
            f"server.host {settings.host!r} is no address of this machine", hint="like 127.0.0.1"
        ) from error
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ServiceAway(
            f"port {settings.port} of {settings.host} cannot be had ({error.strerror})",
            hint="give another: vade serve --port 8090",
        ) from error
    return listening


def _url(settings: ServerSettings, listening: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"
