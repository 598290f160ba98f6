"""Does a reader that goes wild end alone, with a verdict, and with nothing left of it?"""

import ast
import asyncio
import contextlib
import os
import socket
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


# A last line of a child's code that makes `{}` the text that is answered.
TELL = (
    "child.parse_text = (lambda tell, seen: lambda _, *rest: tell(repr(seen).encode(), *rest))"
    "(child.parse_text, {})"
)


@pytest.mark.parametrize("session", [False, True], ids=["in its group", "in a group of their own"])
async def test_what_it_started_ends_with_it(session: bool) -> None:
    """A child that starts programs, tells their numbers, and answers while they run."""
    started = time.monotonic()
    told = await wild(
        f"pids = [subprocess.Popen(['sleep', '60'], start_new_session={session}).pid for _ in 'abc']\n"
        + TELL.format("pids")
    )
    assert time.monotonic() - started < 8
    pids = ast.literal_eval(told)
    assert len(pids) == 3
    await _ended(pids)


async def test_what_forks_without_end_ends_with_its_document() -> None:
    code = "while True:\n  with suppress(OSError):\n    os.fork()\n  time.sleep(.2)\n"
    async with jailed(CHILD, 1.5) as parser:
        bomb = asyncio.create_task(
            parser.parse(f"from contextlib import suppress\n{code}".encode(), "a")
        )
        assert (await parser.parse(b"pass", "b.txt")).text == "survived"
        with pytest.raises(LimitExceeded):
            await bomb
        assert parser._nursery is not None
        await _childless(parser._nursery.pid)
        assert (await parser.parse(b"pass", "c.txt")).text == "survived"


LAYERS = jail.layers()


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not LAYERS[name], reason=f"no layer {name} on this system")


@needs("network")
@pytest.mark.parametrize("ways", ["confine.WAYS_OUT", "confine.WAYS_OUT[1:]"])
async def test_it_reaches_no_network(ways: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = jail._BEGIN.replace("leave_network()", f"leave_network({ways})")
    monkeypatch.setattr(jail, "_BEGIN", begin)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        told = await wild(
            "import socket\nseen = []\n"
            f"for kind, address in ((1, ('127.0.0.1', {port})), (2, ('127.0.0.1', {port})), (2, ('192.0.2.1', 53))):\n"
            "  try:\n"
            "    socket.socket(socket.AF_INET, kind).connect(address); seen.append(address)\n"
            "  except OSError: pass\n" + TELL.format("seen")
        )
        assert told == "[]"
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()


@needs("tcp")
async def test_without_a_network_of_its_own_it_uses_no_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "_BEGIN", jail._BEGIN.replace("confine.leave_network()", "pass"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(DocumentUnreadable):
            await wild(f"import socket\nsocket.create_connection(('127.0.0.1', {port}))")
        assert await wild("pass") == "survived"


@needs("files")
@pytest.mark.parametrize(
    "code",
    ["open({0!r} + '/new', 'xb')", "open({0!r} + '/old', 'ab')", "os.unlink({0!r} + '/old')",
     "os.truncate({0!r} + '/old', 0)", "os.rename({0!r} + '/old', {0!r} + '/new')",
     "os.mkdir({0!r} + '/new')", "os.symlink('/etc', {0!r} + '/new')",
     "os.open({0!r} + '/old', os.O_RDWR)", "os.mkfifo({0!r} + '/new')"],
)  # fmt: skip
async def test_it_changes_no_file(code: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("as it was")
    with pytest.raises(DocumentUnreadable):
        await wild(code.format(str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "as it was"


@needs("files")
async def test_it_may_still_read_and_give_a_program_no_input() -> None:
    assert await wild("subprocess.run(['true'], stdin=-3, stdout=-3, check=True)") == "survived"


@needs("signals")
async def test_it_ends_no_other_process() -> None:
    with pytest.raises(DocumentUnreadable):
        await wild(f"os.kill({os.getpid()}, 0)")
    with pytest.raises(DocumentUnreadable):
        await wild("os.kill(os.getppid(), signal.SIGKILL)")
    assert (
        await wild("one = subprocess.Popen(['sleep', '9'])\none.kill()\none.wait()") == "survived"
    )


def test_layers_are_told() -> None:
    assert set(LAYERS) == {"network", "orphans", "files", "tcp", "signals"}


async def _reading(parser: ChildParser) -> tuple[int, int]:
    """Wait until one document is being read; return the nursery's process and the child's."""
    for _ in range(1_000):
        if parser._nursery is not None and (children := _children(parser._nursery.pid)):
            (child,) = children
            return parser._nursery.pid, child
        await asyncio.sleep(0.02)
    raise AssertionError("no document began to be read within 20 s")


async def _childless(parent: int) -> None:
    """Wait until the last child has ended: one may be there a moment after its answer."""
    for _ in range(100):
        if not _children(parent):
            break
        await asyncio.sleep(0.02)
    assert not _children(parent)


async def _ended(pids: list[int]) -> None:
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
        nursery, _ = await _reading(parser)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await _childless(nursery)
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
        _, child = await _reading(parser)
        await parser.aclose()
        assert not _runs(child)
        with pytest.raises(DocumentUnreadable):
            await task


async def test_a_child_reaches_no_other_documents_socket() -> None:
    """While another document is being read, a child has no descriptor but its own three."""
    async with jailed(CHILD) as parser:
        other = asyncio.create_task(parser.parse(b"time.sleep(2)", "a.txt"))
        await _reading(parser)
        told = CHILD.replace('b"survived"', "repr(os.listdir('/proc/self/fd')).encode()")
        async with jailed(told) as telling:
            slow = asyncio.create_task(telling.parse(b"time.sleep(2)", "b.txt"))
            await _reading(telling)
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
        await _childless(parser._nursery.pid)
