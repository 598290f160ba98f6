"""How is a document read so that nothing it does can hurt others? In a fresh child process."""

import asyncio
import base64
import contextlib
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from vademecum.adapters.parsers.limits import CPU_SECONDS
from vademecum.errors import (
    DocumentUnreadable,
    LimitExceeded,
    MediaTypeUnknown,
    PasswordRequired,
)
from vademecum.model.document import Block, ParsedDocument

WALL_SECONDS = 2.0 * CPU_SECONDS
MOST_ANSWER_BYTES = 1 << 29
_PIPE_BYTES = 1 << 16
# Raise it with every change by which a reader may give another text.
READERS_VERSION = "3"
_SOURCE_FOLDER = str(Path(__file__).resolve().parents[3])
# The nursery is told where modules are instead of finding out (`-S`), and which descriptor it has.
_BEGIN = (
    f"import sys; sys.path[:] = {[_SOURCE_FOLDER, *filter(None, sys.path)]!r}\n"
    "CONTROL = int(sys.argv[1])\n"
    "from vademecum.adapters.parsers import confine\n"
    "confine.leave_network()\n"  # before a library starts a thread
)
_START = (
    "from vademecum.adapters.parsers import child, nursery\nnursery.serve(CONTROL, child.main)\n"
)
_TRY_LAYERS = (
    "import json, sys\n"
    f"sys.path[:] = {[_SOURCE_FOLDER, *filter(None, sys.path)]!r}\n"
    "from vademecum.adapters.parsers import confine\n"
    "print(json.dumps({'network': confine.leave_network(), 'orphans': confine.adopt_orphans(),\n"
    "                  **confine.close_files()}))\n"
)

_REFUSALS: dict[str, type[DocumentUnreadable]] = {
    kind.__name__: kind for kind in (PasswordRequired, MediaTypeUnknown, LimitExceeded)
}


class ChildParser:
    """The Parser port: one child a document, with limits on memory, processor and time, an
    empty environment, and no file that it could write. The children are forked from a nursery
    that the first document starts; `start` is its Python code. Close it with `aclose`.

    `ocr` names the languages, as tesseract takes them, in which pages without text are recognised;
    empty where they are not."""

    def __init__(
        self, *, start: str = _START, wall_seconds: float = WALL_SECONDS, ocr: str = ""
    ) -> None:
        self._ocr = ocr
        self._start = start
        self._wall_seconds = wall_seconds
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def fingerprint(self) -> str:
        return f"readers-{READERS_VERSION}/{self._ocr}"

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        return _read_answer(await self._asked({"uri": uri, "ocr": self._ocr}, content), uri)

    async def paint(self, content: bytes, number: int, words: str) -> bytes:
        """Draw a page in a child of its own; see `PagePainter.paint`."""
        request = {"uri": "the page", "page": number, "words": words}
        answer = _answered(await self._asked(request, content), "the page")
        return base64.b64decode(answer["png"])

    async def _asked(self, asked: dict[str, Any], content: bytes) -> bytes:
        """Return the line that a new child answers with."""
        reader, writer = await asyncio.open_unix_connection(sock=self._new_job())
        request = json.dumps(asked).encode() + b"\n" + content
        uri = asked["uri"]
        try:
            async with asyncio.timeout(self._wall_seconds):
                return await _exchange(reader, writer, request)
        except TimeoutError as error:
            raise LimitExceeded(
                f"{uri} took over {self._wall_seconds:.0f} s to read", hint="split the document"
            ) from error
        finally:
            # The nursery sees that nobody waits any more, and ends the child if it still runs.
            writer.transport.abort()

    async def aclose(self) -> None:
        """End the nursery and with it every child."""
        nursery, control, self._nursery, self._control = self._nursery, self._control, None, None
        if control is not None:
            control.close()
        if nursery is not None:
            await asyncio.to_thread(nursery.wait)

    def _new_job(self) -> socket.socket:
        """Return our end of a new child's socket, starting the nursery where none runs."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                socket.send_fds(self._running(), [b"j"], [theirs.fileno()])
            except (BrokenPipeError, ConnectionResetError):  # something ended the nursery
                self._forget()
                socket.send_fds(self._running(), [b"j"], [theirs.fileno()])
        return ours

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._nursery is not None:
            self._nursery.poll()  # it has ended: this takes its status
        self._nursery = self._control = None

    def _running(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._nursery = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _BEGIN + self._start, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"LC_ALL": "C.UTF-8"},
                    cwd="/",
                    start_new_session=True,
                    pass_fds=[theirs.fileno()],
                )
        return self._control


def layers() -> dict[str, bool]:
    """Return which layers of the jail this system has: a child has no `network` (or at least no
    `tcp`), changes no `files`, sends no `signals` to others, and leaves no `orphans`.

    The limits, the empty environment and the process of its own are always there. Takes a process
    of some 50 ms.
    """
    tried = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _TRY_LAYERS],
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        cwd="/",
        timeout=WALL_SECONDS,
        check=True,
    )
    found: dict[str, bool] = json.loads(tried.stdout)
    return found


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    """Send the request and return the answer's line, or the line that tells how the child ended.

    No more than a limit is held. What the child started may hold the socket open for ever, so the
    line's end is the end.
    """
    sending = asyncio.create_task(_send(writer, request))
    parts: list[bytes] = []
    size = 0
    try:
        while part := await reader.read(_PIPE_BYTES):
            line, ended, _ = part.partition(b"\n")
            parts.append(line)
            size += len(line)
            if ended:
                return b"".join(parts)
            if size > MOST_ANSWER_BYTES:
                break
    except ConnectionResetError:
        pass  # it ended before it had read the whole request
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return b""


async def _send(writer: asyncio.StreamWriter, request: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended already
        writer.write(request)
        await writer.drain()
        writer.write_eof()


def _answered(output: bytes, uri: str) -> dict[str, Any]:
    """Return what a child answered, or raise what kept it from answering."""
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise DocumentUnreadable(
            f"the reader of {uri} gave no answer", hint="the file is damaged"
        ) from error
    if answer.get("status") == -signal.SIGXCPU:
        raise LimitExceeded(
            f"{uri} took over {CPU_SECONDS} s of processor time", hint="split the document"
        )
    if "status" in answer:
        raise DocumentUnreadable(
            f"the reader of {uri} ended with status {answer['status']}",
            hint="the file is damaged or of a kind that cannot be read",
        )
    if "error" in answer:
        raise _REFUSALS.get(answer["error"], DocumentUnreadable)(
            answer["message"], hint=answer["hint"]
        )
    return answer


def _read_answer(output: bytes, uri: str) -> ParsedDocument:
    answer = _answered(output, uri)
    return ParsedDocument(
        text=answer["text"],
        blocks=tuple(
            Block(
                kind=kind,
                start=start,
                end=end,
                level=level,
                heading_path=tuple(path),
                header_end=header_end,
            )
            for kind, start, end, level, path, header_end in answer["blocks"]
        ),
        page_starts=tuple(answer["page_starts"]),
        title=answer["title"],
        media_type=answer["media_type"],
        warnings=tuple(answer["warnings"]),
        language=answer["language"],
        metadata=answer["metadata"],
        unread=tuple(answer["unread"]),
    )
