"""Does a reader that goes wild end alone, with a verdict, and with nothing left of it?"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from vademecum.adapters.parsers import jail
from vademecum.adapters.parsers.jail import ChildParser
from vademecum.errors import (
    DocumentUnreadable,
    LimitExceeded,
    MediaTypeUnknown,
    PasswordRequired,
)

CHILD = """
import os, signal, time, subprocess
from vademecum.adapters.parsers import child, nursery
from vademecum.errors import PasswordRequired
child.CPU_SECONDS = 1
child.MEMORY_BYTES = 1 << 28
def wild(content, uri, kind):
    exec(content.decode())
    return child.parse_text(b"survived", uri, kind)
child.READERS.update(dict.fromkeys(child.READERS, wild))
nursery.serve(CONTROL, child.main)
"""


async def wild(code: str, *, wall_seconds: float = 10.0) -> str:
    """Run `code` as a reader in the jail; return the text that it gave."""
    async with jailed(CHILD, wall_seconds) as parser:
        return (await parser.parse(code.encode(), "wild.txt")).text


@contextlib.asynccontextmanager
async def jailed(
    start: str = jail._START, wall_seconds: float = 10.0
) -> AsyncIterator[ChildParser]:
    parser = ChildParser(start=start, wall_seconds=wall_seconds)
    try:
        yield parser
    finally:
        await parser.aclose()


async def test_a_tame_one_answers() -> None:
    assert await wild("pass") == "survived"


async def test_memory_ends_at_its_limit() -> None:
    with pytest.raises(LimitExceeded, match="memory"):
        await wild("held = bytearray(1 << 30)")
    # Untouched pages count as well and cost no time, or the processor's limit would come first.
    with pytest.raises(LimitExceeded, match="memory"):
        await wild("held = []\nwhile True: held.append(bytearray(16_000_000))")


async def test_deep_recursion_is_a_limit() -> None:
    with pytest.raises(LimitExceeded):
        await wild("f = lambda g: g(g)\nf(f)")


async def test_a_loop_ends_by_processor_time() -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match="processor time"):
        await wild("while True: pass")
    assert time.monotonic() - started < 8


async def test_sleep_ends_by_the_clock() -> None:
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match="over 1 s to read"):
        await wild("time.sleep(60)", wall_seconds=1.0)
    assert time.monotonic() - started < 4


async def test_it_writes_no_file(tmp_path: Path) -> None:
    target = tmp_path / "written"
    with pytest.raises(DocumentUnreadable):
        await wild(f"open({str(target)!r}, 'wb', buffering=0).write(b'x')")
    assert not target.exists() or target.stat().st_size == 0


@pytest.mark.parametrize(
    "code",
    ["os.kill(os.getpid(), signal.SIGSEGV)", "os._exit(3)", "os._exit(0)", "raise KeyError('x')",
     "os.abort()", "print('noise'); os._exit(0)", "sys.stdout.close(); os._exit(0)",
     "os.write(1, b'not json\\n'); os._exit(0)"],
)  # fmt: skip
async def test_a_crash_costs_the_document_only(code: str) -> None:
    with pytest.raises(DocumentUnreadable):
        await wild(code)


async def test_endless_output_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "MOST_ANSWER_BYTES", 1 << 20)
    with pytest.raises(DocumentUnreadable):
        await wild("while True: os.write(1, b'x' * 65536)")


async def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    """A child that forks, tells the pids, and answers while they hold its pipe."""
    told = tmp_path / "pids"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    started = time.monotonic()
    text = await wild(
        "pids = [subprocess.Popen(['sleep', '60']).pid for _ in range(3)]\n"
        f"os.write(os.open({str(told)!r}, os.O_WRONLY), ' '.join(map(str, pids)).encode())"
    )
    assert text == "survived"
    assert time.monotonic() - started < 8
    pids = [int(pid) for pid in os.read(reader, 1000).split()]
    os.close(reader)
    assert len(pids) == 3
    for _ in range(100):
        if not any(_runs(pid) for pid in pids):
            break
        await asyncio.sleep(0.02)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_it_sees_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "zqsecret")
    told = CHILD.replace('b"survived"', "repr(dict(os.environ)).encode()")
    async with jailed(told) as parser:
        seen = (await parser.parse(b"pass", "a.txt")).text
    assert "zqsecret" not in seen
    assert "PATH" not in seen


async def test_a_cancelled_reading_leaves_no_process() -> None:
    async with jailed(CHILD, 60.0) as parser:
        task = asyncio.create_task(parser.parse(b"time.sleep(60)", "a.txt"))
        await asyncio.sleep(1.0)
        assert parser._nursery is not None
        nursery = parser._nursery.pid
        assert len(_children(nursery)) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):
            if not _children(nursery):
                break
            await asyncio.sleep(0.02)
        assert not _children(nursery)
        assert (await parser.parse(b"pass", "b.txt")).text == "survived"


async def test_a_nursery_that_was_ended_is_started_again() -> None:
    async with jailed(CHILD) as parser:
        assert (await parser.parse(b"pass", "a.txt")).text == "survived"
        assert parser._nursery is not None
        parser._nursery.kill()
        parser._nursery.wait()
        assert (await parser.parse(b"pass", "a.txt")).text == "survived"


async def test_closing_ends_what_still_reads() -> None:
    async with jailed(CHILD, 60.0) as parser:
        task = asyncio.create_task(parser.parse(b"time.sleep(60)", "a.txt"))
        await asyncio.sleep(1.0)
        assert parser._nursery is not None
        (child,) = _children(parser._nursery.pid)
        await parser.aclose()
        assert not _runs(child)
        with pytest.raises(DocumentUnreadable):
            await task


async def test_a_child_reaches_no_other_documents_socket() -> None:
    """While another document is being read, a child has no descriptor but its own three."""
    async with jailed(CHILD) as parser:
        other = asyncio.create_task(parser.parse(b"time.sleep(2)", "a.txt"))
        await asyncio.sleep(0.5)
        told = CHILD.replace('b"survived"', "repr(os.listdir('/proc/self/fd')).encode()")
        async with jailed(told) as telling:
            slow = asyncio.create_task(telling.parse(b"time.sleep(2)", "b.txt"))
            await asyncio.sleep(0.5)
            seen = (await telling.parse(b"pass", "c.txt")).text
            await slow
        await other
    # 0, 1, 2, and the one by which the folder is listed.
    assert seen == repr(["0", "1", "2", "3"])


def _children(parent: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and fields[0] != "Z":
                found.add(int(stat.parent.name))
    return found


async def test_refusals_keep_their_kind_and_words() -> None:
    with pytest.raises(PasswordRequired, match="locked"):
        await wild("raise PasswordRequired('locked', hint='open it')")
    with pytest.raises(MediaTypeUnknown):
        async with jailed() as parser:
            await parser.parse(b"\x89PNG", "a.docx")


async def test_a_large_document_passes_both_pipes() -> None:
    text = "A line of a large document, of sixty letters, and no more.\n\n" * 40_000
    async with jailed() as parser:
        parsed = await parser.parse(text.encode(), "large.txt")
    assert parsed.text == text
    assert len(parsed.blocks) == 40_000


async def test_many_at_once_and_in_turn() -> None:
    async with jailed() as parser:
        for turn in range(10):
            texts = [f"Text {turn} {n}" for n in range(12)]
            parsed = await asyncio.gather(*(parser.parse(t.encode(), "a") for t in texts))
            assert [p.text for p in parsed] == texts
        assert parser._nursery is not None
        assert not _children(parser._nursery.pid)
