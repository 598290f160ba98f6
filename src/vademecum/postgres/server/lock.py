"""How do several processes take turns? Locks on files, which end with the process."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vademecum.errors import DatabaseAway

_PAUSE = 0.02
_SILENT_SECONDS = 0.5


def open_lock(path: Path) -> int:
    """Return a descriptor for a lock file, made if missing; children do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def opened_lock(path: Path) -> Iterator[int]:
    """Give a descriptor for a lock file and close it afterwards."""
    descriptor = open_lock(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if that is possible at once; tell whether it was."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def take_lock(
    path: Path,
    *,
    seconds: float,
    awaited: str,
    shared: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> int:
    """Wait for a lock and return its descriptor; `awaited` says in messages who holds it.

    Raises: DatabaseAway after so many seconds.
    """
    with ExitStack() as undo:
        descriptor = open_lock(path)
        undo.callback(os.close, descriptor)
        began, told = time.monotonic(), False
        while not try_lock(descriptor, shared=shared):
            waited = time.monotonic() - began
            if waited > seconds:
                raise DatabaseAway(
                    f"Waited {seconds:.0f} seconds for {awaited}",
                    hint=f"Look which process holds {path}, and end it.",
                )
            if waited > _SILENT_SECONDS and not told:
                tell(f"waiting for {awaited}")
                told = True
            time.sleep(_PAUSE)
        undo.pop_all()
    return descriptor


@contextmanager
def locked(
    path: Path,
    *,
    seconds: float,
    awaited: str,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Hold an exclusive lock for a while.

    Raises: DatabaseAway as `take_lock`.
    """
    descriptor = take_lock(path, seconds=seconds, awaited=awaited, tell=tell)
    try:
        yield
    finally:
        # Unlocked, not only closed: a process forked meanwhile has the descriptor as well.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


class Lease:
    """A shared lock that says "in use" until it is closed or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        os.utime(descriptor)  # So that a use shorter than the keeper's pause is seen.

    def close(self) -> None:
        """Give it back; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
