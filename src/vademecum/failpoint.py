"""Where can a test stop or kill the work? At named points of the ingestion line.

`VADE_FAILPOINT=name:action` arms one point of a process: `kill` ends it as SIGKILL does, `stop`
halts it until SIGCONT, `hold=PATH` makes the file PATH and waits until it is gone, `sleep=S` waits
S seconds. Unarmed, a point costs one look into an empty dictionary.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

VARIABLE = "VADE_FAILPOINT"
# Every step of the line from a document's arrival to its end; each has a point before and after.
STEPS = (
    "receive", "blob", "accept", "claim", "parse", "split", "embed", "text", "flip", "retire",
    "chunks", "vectors", "terms", "event",
)  # fmt: skip
POINTS = tuple(f"{step}.{side}" for step in STEPS for side in ("before", "after"))
_POLL_SECONDS = 0.01
_armed: dict[str, Callable[[], None]] = {}


def reach(point: str) -> None:
    """Do what is armed at this point, if anything."""
    if _armed and point in _armed:
        _armed[point]()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Run the block between the points `name.before` and `name.after`."""
    reach(f"{name}.before")
    yield
    reach(f"{name}.after")


@contextmanager
def armed(point: str, action: Callable[[], None]) -> Iterator[None]:
    """Arm a point of this process while the block runs."""
    if point not in POINTS:
        raise ValueError(f"there is no failpoint {point}")
    _armed[point] = action
    try:
        yield
    finally:
        _armed.pop(point, None)


def _hold(path: Path) -> None:
    path.touch()
    while path.exists():
        time.sleep(_POLL_SECONDS)


def _from_environment(text: str) -> None:
    point, _, action = text.partition(":")
    name, _, value = action.partition("=")
    actions: dict[str, Callable[[], None]] = {
        "kill": partial(os.kill, os.getpid(), signal.SIGKILL),
        "stop": partial(os.kill, os.getpid(), signal.SIGSTOP),
        "hold": partial(_hold, Path(value)),
        "sleep": lambda: time.sleep(float(value)),
    }
    if point not in POINTS or name not in actions:
        raise ValueError(f"{VARIABLE} is NAME:ACTION, not {text}")
    _armed[point] = actions[name]


if VARIABLE in os.environ:
    _from_environment(os.environ[VARIABLE])
