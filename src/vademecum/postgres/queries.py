"""Where is the SQL? In `sql/<noun>.sql`, each query under a line `-- name: what_it_does`."""

import re
from functools import cache
from importlib import resources
from typing import LiteralString, cast

_NAME = re.compile(r"^-- name: ([a-z_]+)\n", re.MULTILINE)


@cache
def load(noun: str) -> dict[str, LiteralString]:
    """Return the queries of one noun by name. The files are ours, so their text is trusted."""
    text = (resources.files(__package__) / "sql" / f"{noun}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"sql/{noun}.sql names a query twice")
    return {
        name: cast(LiteralString, body.strip()) for name, body in zip(names, bodies, strict=True)
    }


def nouns() -> list[str]:
    """Return every noun that has a file."""
    folder = resources.files(__package__) / "sql"
    return sorted(entry.name[:-4] for entry in folder.iterdir() if entry.name.endswith(".sql"))
