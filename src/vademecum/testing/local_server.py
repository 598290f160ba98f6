"""How does a test stand up a server of its own on a free port of the loopback address?"""

from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

_STEP_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class LocalServer:
    """A context manager with `base_url`, which ends in `/v1`. Each exchange finds it as
    `self.server.owner`."""

    def __init__(self, exchange: type[BaseHTTPRequestHandler]) -> None:
        self._server = Listener(self, exchange)
        self._thread = Thread(target=self._server.serve_forever, args=(_STEP_SECONDS,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Listener(ThreadingHTTPServer):
    """The socket of a LocalServer."""

    daemon_threads = True

    def __init__(self, owner: Any, exchange: type[BaseHTTPRequestHandler]) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), exchange)
