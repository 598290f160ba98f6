"""The process from which readers are forked: it has loaded their libraries once, and does nothing
else. A document still has a process of its own, without paying for the start of an interpreter.

It gets a socket for each document over its control socket. The child has that socket as stdin and
stdout; the nursery keeps a copy, on which it tells how the child ended, and by which it notices
that nobody waits any more: then it ends the child and all that the child started.
"""

import json
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vademecum.adapters.parsers import confine

_FIRST_FREE = 3
_MOST_DESCRIPTORS = 65_536


def serve(control: int, read: Callable[[], None]) -> None:
    """Fork a child that calls `read` for each socket that comes over the descriptor `control`;
    return when that closes, with no child left."""
    channel = socket.socket(fileno=control)
    confine.adopt_orphans()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    jobs: dict[int, socket.socket] = {}
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    waiting.register(woken, select.POLLIN)
    while True:
        # One event at a time: the next ones may speak of a descriptor that this one gives back.
        descriptor, _ = waiting.poll()[0]
        if descriptor == control:
            job = _receive(channel)
            if job is None:
                _reap_all(jobs)
                return
            jobs[_fork(job, read)] = job
            waiting.register(job, 0)  # no event but that the other side has left
        elif descriptor == woken:
            os.read(woken, 512)
            while (pid := _next_ended()) is not None:
                job = jobs.pop(pid, None)
                if job is None:
                    os.waitpid(pid, 0)  # an orphan
                    continue
                with suppress(KeyError):
                    waiting.unregister(job)
                _reap(pid, job)
            _end_orphans(jobs)
        else:
            waiting.unregister(descriptor)
            for pid, job in jobs.items():
                if job.fileno() == descriptor:
                    _kill(pid)


def _receive(channel: socket.socket) -> socket.socket | None:
    message, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    return socket.socket(fileno=descriptors[0]) if message and descriptors else None


def _fork(job: socket.socket, read: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(job.fileno(), 0)
        os.dup2(job.fileno(), 1)
        os.closerange(_FIRST_FREE, _MOST_DESCRIPTORS)  # other documents' sockets among them
        confine.close_files()
        read()
        status = 0
    finally:
        os._exit(status)  # whatever it was: the traceback would be of no use to anybody


def _next_ended() -> int | None:
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended else None


def _reap(pid: int, job: socket.socket) -> None:
    """End what the child started, tell its status, and give its number back, in this order."""
    _kill(pid)
    _, status = os.waitpid(pid, 0)
    line = json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode() + b"\n"
    with suppress(OSError):  # nobody listens, or nobody reads what came before it
        job.send(line, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    job.close()


def _reap_all(jobs: dict[int, socket.socket]) -> None:
    for pid, job in jobs.items():
        _kill(pid)
        _reap(pid, job)
    _end_orphans({})


def _end_orphans(jobs: dict[int, socket.socket]) -> None:
    """End what escaped the group of a child that has ended; it has become a child of ours."""
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    with suppress(OSError):  # a system without this list
        for pid in map(int, own.read_text().split()):
            if pid not in jobs:
                _kill(pid)


def _kill(pid: int) -> None:
    for end in (os.killpg, os.kill):  # in the first moment it has no group of its own yet
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
