"""Is the page on filters true? Every filter and command on it is read and run."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import regex
import typer

from vademecum.cli.main import vade
from vademecum.cli.options import filter_of
from vademecum.model.filter import DOCUMENT_KEYS, MOST_KEY, MOST_TEXT, matches
from vademecum.model.filter_json import MOST_LEVELS, MOST_VALUES, parse_filter, read_filter, where

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "filters.md").read_text(encoding="utf-8")
ROWS = regex.findall(r"^\| `(\{.*\})` \|", PAGE, regex.M)
COMMANDS = regex.findall(r"^vade .*$", PAGE, regex.M)
SHORT = regex.findall(r"`(\w+=[^`]+)` (?:is )?(?:a |null)", PAGE)
DOCUMENTS: dict[str, dict[str, Any]] = {
    "arena 2026": {"venue": "arena", "season": 2026, "open": True},
    "hall 2025": {"venue": "hall", "season": 2025, "open": False},
    "hall 2024": {"venue": "hall", "season": 2024},
    "text": {"venue": "arena", "season": "2026", "open": 1},
    "null": {"season": None},
    "bare": {},
}
LET_THROUGH = {
    "eq": {"arena 2026", "text"},
    "ne": {"hall 2025", "hall 2024", "null", "bare"},
    "in": {"arena 2026", "hall 2025"},
    "gt": {"arena 2026"},
    "gte": {"arena 2026", "hall 2025"},
    "lt": {"hall 2025", "hall 2024"},
    "lte": {"arena 2026", "text"},
    "exists": {"arena 2026", "hall 2025", "hall 2024", "text"},
    "null": {"null"},
    "and": {"arena 2026"},
    "or": {"arena 2026", "null"},
    "not": {"hall 2025", "hall 2024", "text", "null", "bare"},
}


def let_through(wanted: Any) -> set[str]:
    return {name for name, facts in DOCUMENTS.items() if matches(wanted, facts)}


def test_each_operator_has_its_row() -> None:
    assert [next(iter(json.loads(row))) for row in ROWS] == list(LET_THROUGH)


@pytest.mark.parametrize("row", ROWS)
def test_each_row_lets_through_what_it_says(row: str) -> None:
    assert let_through(read_filter(row)) == LET_THROUGH[next(iter(json.loads(row)))]


def _options(line: str) -> dict[str, Any]:
    """Return what a command on the page makes of its words."""
    _, name, *words = shlex.split(line)
    command: Any = typer.main.get_command(vade).commands[name]  # type: ignore[attr-defined]
    return dict(command.make_context(name, words).params)


@pytest.mark.parametrize(
    ("line", "expected"),
    list(zip(COMMANDS, [{"arena 2026"}, {"arena 2026", "hall 2025", "text"},
                        {"arena 2026", "text"}], strict=True)),
)  # fmt: skip
def test_each_command_does_what_it_says(line: str, expected: set[str]) -> None:
    options = _options(line)
    wanted = filter_of(options["where"], options["filter_json"])
    assert wanted is not None
    assert let_through(wanted) == expected


def test_each_short_form_has_the_type_that_it_says() -> None:
    typed = {text: where(text) for text in SHORT}
    assert typed == {
        "season=2026": parse_filter({"eq": ["season", 2026]}),
        'season="2026"': parse_filter({"eq": ["season", "2026"]}),
        "open=false": parse_filter({"eq": ["open", False]}),
        "season=null": parse_filter({"null": "season"}),
        "venue=arena": parse_filter({"eq": ["venue", "arena"]}),
    }


def test_the_names_and_bounds_are_those_of_the_code() -> None:
    assert regex.findall(r"^\| `(document\.\w+)` \|", PAGE, regex.M) == list(DOCUMENT_KEYS)
    told = " ".join(PAGE.split())
    assert f"at most {MOST_KEY} characters, a text {MOST_TEXT:,}" in told
    assert f"a filter {MOST_LEVELS} levels and {MOST_VALUES:,} values" in told
