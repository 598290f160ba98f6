"""How is a document read so that nothing it does can hurt others? In a fresh child process."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from vademecum.adapters.parsers.child import CPU_SECONDS
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
_END_SECONDS = 5.0
# Raise it with every change by which a reader may give another text.
READERS_VERSION = "2"
_SOURCE_FOLDER = str(Path(__file__).resolve().parents[3])
# The child is told where modules are instead of finding out (`-S`), which is a fifth of its start.
_PATHS = f"import sys; sys.path[:] = {[_SOURCE_FOLDER, *filter(None, sys.path)]!r}\n"
_START = "from vademecum.adapters.parsers.child import main; main()"

_REFUSALS: dict[str, type[DocumentUnreadable]] = {
    kind.__name__: kind for kind in (PasswordRequired, MediaTypeUnknown, LimitExceeded)
}


class ChildParser:
    """The Parser port: one child a document, with limits on memory, processor and time, an
    empty environment, and no file that it could write. `start` is the child's Python code."""

    def __init__(self, *, start: str = _START, wall_seconds: float = WALL_SECONDS) -> None:
        self._start = start
        self._wall_seconds = wall_seconds

    @property
    def fingerprint(self) -> str:
        return f"readers-{READERS_VERSION}"

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _PATHS + self._start,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        )  # fmt: skip
        request = json.dumps({"uri": uri}).encode() + b"\n" + content
        try:
            async with asyncio.timeout(self._wall_seconds):
                output = await _exchange(child, request)
        except TimeoutError as error:
            raise LimitExceeded(
                f"{uri} took over {self._wall_seconds:.0f} s to read", hint="split the document"
            ) from error
        finally:
            await _end(child)
        return _read_answer(output, child.returncode, uri)


async def _exchange(child: asyncio.subprocess.Process, request: bytes) -> bytes:
    """Send the request and return the answer, of which no more than a limit is held."""
    assert child.stdin is not None
    assert child.stdout is not None
    sending = asyncio.create_task(_send(child.stdin, request))
    parts: list[bytes] = []
    size = 0
    try:
        while part := await child.stdout.read(_PIPE_BYTES):
            parts.append(part)
            size += len(part)
            if size > MOST_ANSWER_BYTES:
                break
            if part.endswith(b"\n"):  # what it started may hold the pipe open for ever
                return b"".join(parts)
        else:
            await child.wait()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return b""


async def _send(pipe: asyncio.StreamWriter, request: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended already
        pipe.write(request)
        await pipe.drain()
        pipe.close()


async def _end(child: asyncio.subprocess.Process) -> None:
    """End the child and all that it started, and read its pipe to the end, so that it closes."""
    _kill_group(child)
    assert child.stdout is not None
    with contextlib.suppress(TimeoutError):  # what left the group may hold the pipe
        async with asyncio.timeout(_END_SECONDS):
            while await child.stdout.read(_PIPE_BYTES):
                pass
            await child.wait()


def _kill_group(child: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended, with all that it started


def _read_answer(output: bytes, status: int | None, uri: str) -> ParsedDocument:
    if status == -signal.SIGXCPU:
        raise LimitExceeded(
            f"{uri} took over {CPU_SECONDS} s of processor time", hint="split the document"
        )
    if not output:
        raise DocumentUnreadable(
            f"the reader of {uri} ended with status {status}",
            hint="the file is damaged or of a kind that cannot be read",
        )
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise DocumentUnreadable(
            f"the reader of {uri} gave no answer", hint="the file is damaged"
        ) from error
    if "error" in answer:
        raise _REFUSALS.get(answer["error"], DocumentUnreadable)(
            answer["message"], hint=answer["hint"]
        )
    return ParsedDocument(
        text=answer["text"],
        blocks=tuple(
            Block(
                kind=block["kind"],
                start=block["start"],
                end=block["end"],
                level=block["level"],
                heading_path=tuple(block["heading_path"]),
            )
            for block in answer["blocks"]
        ),
        page_starts=tuple(answer["page_starts"]),
        title=answer["title"],
        media_type=answer["media_type"],
        warnings=tuple(answer["warnings"]),
    )
