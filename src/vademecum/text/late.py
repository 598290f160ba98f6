"""When is a pattern compiled? The first time that something is asked of it.

The patterns of all languages take most of a second to compile, more than the rest of a short
command does, and one command asks few of them.
"""

from typing import Any, cast

import regex

_METHODS = (
    "fullmatch", "match", "search", "sub", "subf", "subn", "split", "splititer", "findall",
    "finditer",
)  # fmt: skip


_waiting: "list[_Late]" = []


class _Late:
    def __init__(self, source: str, flags: int, lists: dict[str, Any]) -> None:
        self._made_of = source, flags, lists
        _waiting.append(self)

    def __getattr__(self, name: str) -> Any:
        source, flags, lists = self._made_of
        pattern = regex.compile(source, flags, **lists)
        # From now on they are found without coming here.
        for method in _METHODS:
            setattr(self, method, getattr(pattern, method))
        return getattr(pattern, name)


def warm() -> None:
    """Compile every pattern, for a process that lives on: nobody's question waits for it then."""
    while _waiting:
        _waiting.pop().fullmatch("")


def late(source: str, flags: int = 0, **lists: Any) -> regex.Pattern[str]:
    """Return the pattern that `regex.compile` returns for the same, which is made when first used.

    A source that is no pattern is found out then, so every pattern needs a test that uses it.
    """
    return cast("regex.Pattern[str]", _Late(source, flags, lists))
