"""How is a bug planted, so that a test can show that it would be seen?"""

import importlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

Plant = Callable[[pytest.MonkeyPatch, str], None]


def sql(module: str, name: str, text: str) -> Plant:
    """Put another query in place of a named one."""

    def plant(patch: pytest.MonkeyPatch, url: str) -> None:
        patch.setitem(importlib.import_module(f"vademecum.postgres.{module}")._SQL, name, text)

    return plant


def cut(module: str, name: str, old: str, new: str) -> Plant:
    """Change a part of a named query."""

    def plant(patch: pytest.MonkeyPatch, url: str) -> None:
        queries = importlib.import_module(f"vademecum.postgres.{module}")._SQL
        assert old in queries[name], f"{name} has changed: plant another fault"
        patch.setitem(queries, name, queries[name].replace(old, new))

    return plant


def function(name: str, old: str, new: str) -> Plant:
    """Change a part of a function in the database."""

    def plant(patch: pytest.MonkeyPatch, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET search_path = vademecum, public")
            row = connection.execute(
                "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = %s", (name,)
            ).fetchone()
            assert row
            assert old in row[0], f"{name} has changed: plant another fault"
            connection.execute(row[0].replace(old, new))

    return plant


def attribute(path: str, value: Any) -> Plant:
    """Put another value in place of what is imported as `path`."""

    def plant(patch: pytest.MonkeyPatch, url: str) -> None:
        patch.setattr(path, value)

    return plant


def both(*plants: Plant) -> Plant:
    """Plant a bug that one wall alone would hold off."""

    def plant(patch: pytest.MonkeyPatch, url: str) -> None:
        for one in plants:
            one(patch, url)

    return plant
