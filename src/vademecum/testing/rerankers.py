"""Which reranker can a test use that needs no model and fails on demand?"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any

from vademecum.errors import VademecumError
from vademecum.testing.local_server import Listener, LocalServer, Received
from vademecum.text.normalise import fold

Score = Callable[[str, str], float]
Results = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankFault:
    """What goes wrong in one call: after a wait of `stall` seconds `error` is raised, the score at
    `nan` is no number, or the last `drop` scores are missing."""

    stall: float = 0.0
    error: VademecumError | None = None
    nan: int | None = None
    drop: int = 0


def shared_words(query: str, text: str) -> float:
    """Return how many words of the query stand in the text, whatever their case."""
    return float(len(set(fold(query).split()) & set(fold(text).split())))


class ScriptedReranker:
    """Reranker whose scores a function of query and text gives, by default the shared words.

    `calls` records what arrived, blank texts among it. `faults` maps the number of a call, from 1,
    to its fault.
    """

    def __init__(
        self,
        score: Score = shared_words,
        *,
        name: str = "testing:scripted",
        faults: Mapping[int, RerankFault] | None = None,
    ) -> None:
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._score = score
        self._name = name
        self._faults = dict(faults or {})

    @property
    def name(self) -> str:
        return self._name

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """See `Reranker.scores`."""
        self.calls.append((query, tuple(texts)))
        fault = self._faults.get(len(self.calls), RerankFault())
        await asyncio.sleep(fault.stall)
        if fault.error is not None:
            raise fault.error
        found = [
            self._score(query, text) if query.strip() and text.strip() else None for text in texts
        ]
        if fault.nan is not None:
            found[fault.nan] = float("nan")
        return found[: len(found) - fault.drop]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReply:
    """How one request is answered: after `stall` seconds with the scores, as `change` spoils them,
    with the bytes `raw`, or with an error `status`."""

    status: int = 200
    retry_after: str | None = None
    stall: float = 0.0
    raw: bytes | None = None
    change: Callable[[Results], Results] = list


class RerankServer(LocalServer):
    """A service in the shape of Cohere and Jina on a free port of the loopback address: a context
    manager with `base_url`. The last of `replies` answers every later request; `received` records
    them. A score is that of `score`; the best come first. As some services do, it refuses the whole
    request where one text is blank."""

    def __init__(
        self, replies: Sequence[RerankReply] = (RerankReply(),), *, score: Score = shared_words
    ) -> None:
        self.received: list[Received] = []
        self.score = score
        self._replies = list(replies)
        self._lock = Lock()
        super().__init__(_Exchange)

    def reply_to(self, received: Received) -> RerankReply:
        """Note a request and return the reply to it."""
        with self._lock:
            self.received.append(received)
            return self._replies[min(len(self.received), len(self._replies)) - 1]


class _Exchange(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner = self.server.owner
        reply = owner.reply_to(
            Received(method=self.command, path=self.path, headers=headers, body=body)
        )
        time.sleep(reply.stall)
        texts = body["documents"]
        status = reply.status if all(text.strip() for text in texts) else 400
        results: Results = [
            {"index": at, "relevance_score": owner.score(body["query"], text)}
            for at, text in enumerate(texts)
        ]
        results.sort(key=lambda one: -one["relevance_score"])
        content = reply.raw
        if content is None:
            content = json.dumps({"results": reply.change(results[: body["top_n"]])}).encode()
        self._send(status, content, reply.retry_after)

    def _send(self, status: int, content: bytes, retry_after: str | None) -> None:
        try:
            self.send_response(status)
            if retry_after is not None:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a test reads what it needs from `received`."""
