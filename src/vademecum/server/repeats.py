"""What if a program asks the same again, because it never saw the answer?

It names its request (`Idempotency-Key`). The work is done once: whoever comes again with the same
request gets the first answer, byte for byte; with another one, or too early, is told so.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import regex
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vademecum.errors import RepeatDiffers, RepeatRunning, UsageError, VademecumError
from vademecum.model.serving.key import Caller
from vademecum.model.serving.repeat import Claim, FirstAnswer
from vademecum.ports.repeats import RepeatStore

HEADER = "Idempotency-Key"
REPEATED = "Idempotency-Repeated"
MOST_BYTES = 1024 * 1024
_RENEW_SECONDS = 20.0
_NAME = regex.compile(r"[!-~]{1,255}")
_BOUNDARY = regex.compile(r'boundary="?([^";,]{1,200})"?', regex.IGNORECASE)
_UUID = regex.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_log = logging.getLogger(__name__)


class Repeats:
    """Stands behind the gate: who asks is known, their body is not yet read."""

    def __init__(self, app: ASGIApp, store: RepeatStore) -> None:
        self._app = app
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not scope["state"]["route"].repeatable or HEADER not in headers:
            await self._app(scope, receive, send)
            return
        caller: Caller = scope["state"]["caller"]
        taking = _Taking(receive, _Asked(scope, headers))
        claimed = await self._store.claim(caller.scope, _name_of(headers[HEADER], caller))
        if claimed is None:
            raise RepeatRunning(
                "a request of this Idempotency-Key is being answered",
                hint="come again a little later",
            )
        if isinstance(claimed, FirstAnswer):
            answer = _again(claimed, await taking.rest())
            await answer(scope, receive, send)
            return
        keeping = _Keeping(self._store, caller, claimed, taking, send, scope["state"])
        async with _renewed(self._store, caller, claimed):
            try:
                await self._app(scope, taking.receive, keeping.send)
            finally:
                if not keeping.kept:
                    await self._store.release(caller.scope, claimed)


def _name_of(given: str, caller: Caller) -> bytes:
    """Return what a request is called in the store: whoever sees something else since, asks
    something else. Raises: UsageError."""
    if not _NAME.fullmatch(given):
        raise UsageError(
            f"{HEADER} is not valid", hint="1 to 255 visible letters of ASCII, like a UUID"
        )
    seen = "\0".join(sorted(caller.scope.labels))
    return hashlib.sha256(f"{seen}\0\0{caller.scope.operator}\0{given}".encode()).digest()


def _again(first: FirstAnswer, asked: bytes) -> Response:
    """Return the first answer. Raises: RepeatDiffers, RepeatRunning where it was not kept."""
    if asked != first.asked:
        raise RepeatDiffers(
            f"this {HEADER} stands for another request", hint="give each request one of its own"
        )
    if first.body is None:
        raise RepeatRunning(
            "this was done, and its answer was too large to be kept", hint="it is not done again"
        )
    return Response(
        first.body,
        first.status,
        {REPEATED: "true", "Content-Type": first.media_type},
    )


class _Asked:
    """The hash of a request, taken while its body comes. Where a form's parts are divided by a text
    that the client makes up each time, that text does not count."""

    def __init__(self, scope: Scope, headers: Headers) -> None:
        kind = headers.get("content-type", "")
        found = _BOUNDARY.search(kind) if kind.startswith("multipart/") else None
        self._boundary = found.group(1).encode("latin-1", "replace") if found else b""
        self._held = b""
        events = "text/event-stream" in headers.get("accept", "")
        about = (scope["method"], scope["path"], kind.partition(";")[0], str(events))
        self._hash = hashlib.sha256("\0".join(about).encode("utf-8", "backslashreplace"))
        self._hash.update(b"\0" + scope.get("query_string", b"") + b"\0")

    def add(self, piece: bytes) -> None:
        if not self._boundary:
            self._hash.update(piece)
            return
        *whole, rest = (self._held + piece).split(self._boundary)
        for part in whole:
            self._hash.update(part + b"\0")
        # What may be the beginning of the next one waits.
        cut = max(0, len(rest) - len(self._boundary) + 1)
        self._hash.update(rest[:cut])
        self._held = rest[cut:]

    def digest(self) -> bytes:
        self._hash.update(self._held)
        self._held = b""
        return self._hash.digest()


class _Taking:
    """A body on its way in, of which every piece is counted into the hash."""

    def __init__(self, receive: Receive, asked: _Asked) -> None:
        self._receive = receive
        self._asked = asked
        self._ended = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request" and not self._ended:
            self._asked.add(message.get("body", b""))
            self._ended = not message.get("more_body", False)
        return message

    async def rest(self) -> bytes:
        """Return the hash of the request, once all of its body has come."""
        while not self._ended:
            if (await self.receive())["type"] == "http.disconnect":
                break
        return self._asked.digest()


class _Keeping:
    """An answer on its way out, which is kept before its last piece is sent: whoever saw it whole
    gets the same again."""

    def __init__(
        self,
        store: RepeatStore,
        caller: Caller,
        claim: Claim,
        taking: _Taking,
        send: Send,
        state: dict[str, object],
    ) -> None:
        self._store = store
        self._caller = caller
        self._claim = claim
        self._taking = taking
        self._send = send
        self._state = state
        self._status = 0
        self._media_type = ""
        self._body = b""
        self._large = False
        self.kept = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._media_type = Headers(raw=message["headers"]).get("content-type", "")
        elif message["type"] == "http.response.body":
            self._add(message.get("body", b""))
            if not message.get("more_body", False):
                await self._keep()
        await self._send(message)

    def _add(self, piece: bytes) -> None:
        self._large = self._large or len(self._body) + len(piece) > MOST_BYTES
        self._body = b"" if self._large else self._body + piece

    async def _keep(self) -> None:
        """Keep what was done; what was refused or went wrong may be asked anew."""
        if self._status >= 400 or self._state.get("unkept"):
            return
        answer = FirstAnswer(
            asked=await self._taking.rest(),
            status=self._status,
            media_type=self._media_type,
            body=None if self._large else self._body,
            mentions=frozenset(UUID(found.decode()) for found in _UUID.findall(self._body)),
        )
        try:
            await self._store.keep(self._caller.scope, self._claim, answer)
        except VademecumError as error:
            _log.warning("a first answer could not be kept: %s", error.code)
        self.kept = True


@asynccontextmanager
async def _renewed(store: RepeatStore, caller: Caller, claim: Claim) -> AsyncIterator[None]:
    """Say that the work goes on, as long as it does."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                await store.renew(caller.scope, claim)
            except VademecumError as error:
                _log.warning("a request under way could not be renewed: %s", error.code)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
