"""Which server can a test ask as if it were a model provider?

It speaks the OpenAI-compatible interface on a free port of the loopback address.
"""

import asyncio
import json
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any

from vademecum.testing.embedders import HashEmbedder
from vademecum.testing.local_server import Listener, LocalServer, Received

Rows = list[dict[str, Any]]
_STEP_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How one chat request is answered, or refused with `status` and `message`.

    `stall` is the wait in seconds before each piece. After the pieces, `raw` is sent as it is.
    `cut` ends the connection there, without the stream's proper end; `finish` None leaves the
    reason out of a stream that ends properly.
    """

    pieces: tuple[str, ...] = ()
    status: int = 200
    message: str = ""
    retry_after: str | None = None
    stall: float = 0.0
    raw: bytes = b""
    cut: bool = False
    finish: str | None = "stop"
    prompt_tokens: int = 11
    completion_tokens: int = 7


class OpenAIServer(LocalServer):
    """A context manager with `base_url`. The last of `replies` answers every later chat request.

    `received` records the requests, `hung_up` counts clients that left before the end of their
    reply. Embeddings are those of a HashEmbedder; `change_rows` may spoil them.
    """

    def __init__(
        self,
        replies: Sequence[Reply] = (Reply(pieces=("Hello.",)),),
        *,
        dimension: int = 64,
        change_rows: Callable[[Rows], Rows] | None = None,
    ) -> None:
        self.received: list[Received] = []
        self.hung_up = 0
        self._replies = list(replies)
        self._embedder = HashEmbedder(
            dimension=dimension, max_tokens=10**6, query_prefix="", passage_prefix=""
        )
        self._change_rows = change_rows
        self._asked = 0
        self._lock = Lock()
        super().__init__(_Exchange)

    def wait_for_hang_up(self, seconds: float = 5.0) -> bool:
        """Return whether a client has left early, waiting at most so long for it."""
        until = time.monotonic() + seconds
        while not self.hung_up and time.monotonic() < until:
            time.sleep(_STEP_SECONDS)
        return self.hung_up > 0

    def note(self, received: Received) -> None:
        with self._lock:
            self.received.append(received)

    def note_hang_up(self) -> None:
        with self._lock:
            self.hung_up += 1

    def next_reply(self) -> Reply:
        """Return the reply to the next request that replies are scripted for."""
        with self._lock:
            self._asked += 1
            return self._replies[min(self._asked, len(self._replies)) - 1]

    def rows(self, texts: list[str]) -> Rows:
        """Return the embedding rows of texts, spoiled where the test asked for it."""
        vectors = asyncio.run(self._embedder.embed(texts, "passage"))
        rows: Rows = [
            {"object": "embedding", "index": index, "embedding": vector.tolist()}
            for index, vector in enumerate(vectors)
        ]
        return self._change_rows(rows) if self._change_rows else rows


class _Exchange(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._note(None)
        models = [{"id": "test-model", "object": "model", "created": 0, "owned_by": "test"}]
        self._json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._note(body)
        reply = self.server.owner.next_reply()
        try:
            if reply.status != 200:
                error = {"message": reply.message, "type": "test", "code": None}
                self._json(reply.status, {"error": error}, reply.retry_after)
            elif self.path.endswith("/embeddings"):
                self._embeddings(body)
            elif body.get("stream"):
                self._stream(reply)
            else:
                self._whole(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.server.owner.note_hang_up()
            self.close_connection = True

    def _note(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.note(
            Received(method=self.command, path=self.path, headers=headers, body=body)
        )

    def _embeddings(self, body: dict[str, Any]) -> None:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        rows = self.server.owner.rows(texts)
        self._json(200, {"object": "list", "data": rows, "model": body["model"], "usage": usage})

    def _whole(self, reply: Reply) -> None:
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish}
        self._json(200, {**_HEAD, "object": "chat.completion", **_usage(reply),
                         "choices": [choice]})  # fmt: skip

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in reply.pieces:
            self._pause(reply.stall)
            self._event({"role": "assistant", "content": piece}, None)
        if reply.raw:
            self._chunk(reply.raw)
        if reply.cut:
            self.close_connection = True
            return
        if not reply.pieces:
            self._pause(reply.stall)
        if reply.finish is not None:
            self._event({}, reply.finish)
        self._chunk(_data({**_HEAD, "choices": [], **_usage(reply)}))
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, delta: dict[str, str], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self._chunk(_data({**_HEAD, "choices": [choice]}))

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _pause(self, seconds: float) -> None:
        """Wait, and notice it at once where the client leaves meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            readable, _, _ = select.select([self.connection], [], [], _STEP_SECONDS)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise BrokenPipeError

    def _json(self, status: int, value: Any, retry_after: str | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log: what a test needs to know is recorded."""


_HEAD: dict[str, Any] = {
    "id": "chat-1", "object": "chat.completion.chunk", "created": 0, "model": "test-model",
}  # fmt: skip


def _usage(reply: Reply) -> dict[str, Any]:
    total = reply.prompt_tokens + reply.completion_tokens
    return {
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": total,
        }
    }


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
