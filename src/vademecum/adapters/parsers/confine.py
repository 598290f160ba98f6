"""What can a reader's process still reach? Neither the network, nor a file to change, nor another
process, where the system has the means: Linux with network namespaces and Landlock, which need no
privileges. Each step says whether it worked; without any of them the limits and the process of its
own remain.
"""

import ctypes
import os
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import Final

NEW_USER: Final = 0x1000_0000
NEW_NETWORK: Final = 0x4000_0000
# Root needs the second flag only; anybody else has to become root of a namespace of its own.
WAYS_OUT: Final = (NEW_NETWORK, NEW_USER | NEW_NETWORK)

_SET_SUBREAPER: Final = 36
_NO_NEW_PRIVILEGES: Final = 38
# Landlock's numbers are the same on every architecture of 64 bits.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION: Final = 1
_BENEATH_PATH: Final = 1
_WRITE: Final = 1 << 1
# By version: writing, removing and making anything; moving; truncating; devices' controls.
_FILES: Final = ((1, _WRITE | 0b1_1111_1111_0000), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_TCP: Final = (4, 0b11)
_SIGNALS_AND_SOCKETS: Final = (6, 0b11)


def leave_network(ways: tuple[int, ...] = WAYS_OUT) -> bool:
    """Move this process, which has one thread, into a network of its own without any device."""
    return any(_call("unshare", way) for way in ways)


def adopt_orphans() -> bool:
    """Make what a child leaves behind a child of this process."""
    return _call("prctl", _SET_SUBREAPER, 1, 0, 0, 0)


def close_files() -> dict[str, bool]:
    """Refuse this process, for good, to change any file, to use TCP and to signal a process that
    it did not start; return which of these worked."""
    version = landlock_version()
    done = {"files": False, "tcp": False, "signals": False}
    libc = _libc()
    if version < 1 or libc is None or not _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return done
    files = sum(bits for since, bits in _FILES if since <= version)
    tcp, scoped = (bits if since <= version else 0 for since, bits in (_TCP, _SIGNALS_AND_SOCKETS))
    attributes = struct.pack("=QQQ", files, tcp, scoped)[: 24 if scoped else 16 if tcp else 8]
    rules = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0:
        return done
    with suppress(OSError):  # what starts a program may want to give it an empty input
        nothing = os.open(os.devnull, os.O_PATH)
        libc.syscall(_ADD_RULE, rules, _BENEATH_PATH, struct.pack("=Qi", _WRITE, nothing), 0)
        os.close(nothing)
    worked = libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return {"files": worked, "tcp": worked and bool(tcp), "signals": worked and bool(scoped)}


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has, or 0."""
    libc = _libc()
    if libc is None or sys.maxsize < 2**32:
        return 0
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def _call(name: str, *values: int) -> bool:
    libc = _libc()
    return libc is not None and getattr(libc, name)(*map(ctypes.c_ulong, values)) == 0


@cache
def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
