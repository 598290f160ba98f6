"""Which whole number stands in an attribute, if it is one?"""

import regex

_INTEGER = regex.compile(r"-?[0-9]{1,15}")


def integer(value: str | None, default: int = 0) -> int:
    """Return the number of up to fifteen digits that a text is, else `default`."""
    return int(value) if value is not None and _INTEGER.fullmatch(value) else default
