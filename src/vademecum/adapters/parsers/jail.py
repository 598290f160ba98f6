"""How is a document read so that nothing it does can hurt others? In a fresh child process."""

import asyncio
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

WALL_SECONDS = 2 * CPU_SECONDS
# Raise it with every change by which a reader may give another text.
READERS_VERSION = "1"
_SOURCE_FOLDER = str(Path(__file__).resolve().parents[3])
_START = (
    f"import sys; sys.path.insert(0, {_SOURCE_FOLDER!r}); "
    "from vademecum.adapters.parsers.child import main; main()"
)

_REFUSALS: dict[str, type[DocumentUnreadable]] = {
    kind.__name__: kind for kind in (PasswordRequired, MediaTypeUnknown, LimitExceeded)
}


class ChildParser:
    """The Parser port: one child a document, with limits on memory, processor and time, an
    empty environment, and no file that it could write."""

    @property
    def fingerprint(self) -> str:
        return f"readers-{READERS_VERSION}"

    async def parse(self, content: bytes, uri: str) -> ParsedDocument:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", _START,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
        )  # fmt: skip
        request = json.dumps({"uri": uri}).encode() + b"\n" + content
        try:
            async with asyncio.timeout(WALL_SECONDS):
                output, _ = await child.communicate(request)
        except TimeoutError as error:
            raise LimitExceeded(
                f"{uri} took over {WALL_SECONDS} s to read", hint="split the document"
            ) from error
        finally:
            _kill_group(child)
            await child.wait()
        return _read_answer(output, child.returncode, uri)


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
    if status != 0 or not output:
        raise DocumentUnreadable(
            f"the reader of {uri} ended with status {status}",
            hint="the file is damaged or of a kind that cannot be read",
        )
    answer: dict[str, Any] = json.loads(output)
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
