"""Does every command say what it does and what each of its words is, and is it on the page?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from vademecum.cli.main import vade

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def _commands(command: Any, path: str = "vade") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{path} {name}")


COMMANDS = dict(_commands(typer.main.get_command(vade)))
LEAVES = [path for path, command in COMMANDS.items() if not hasattr(command, "commands")]


def test_the_commands_are_those_of_the_interface() -> None:
    assert set(COMMANDS) == {
        "vade", "vade demo", "vade ingest", "vade ask", "vade search", "vade explain", "vade replay",
        "vade documents", "vade documents list", "vade documents show", "vade documents text",
        "vade documents chunks", "vade documents history", "vade documents delete",
        "vade eval", "vade eval lab", "vade eval run", "vade eval compare", "vade eval list",
        "vade eval generate", "vade eval calibrate", "vade status", "vade doctor",
        "vade config", "vade config show", "vade config check", "vade model", "vade model fetch",
        "vade migrate", "vade stop", "vade worker", "vade jobs", "vade jobs list",
        "vade jobs retry", "vade changes", "vade remember", "vade recall", "vade memories",
        "vade memories list", "vade memories show", "vade memories edit", "vade memories pin",
        "vade memories unpin", "vade memories confirm", "vade memories reject", "vade reindex", "vade rollback",
        "vade memories forget", "vade memories on", "vade memories off", "vade forget", "vade scrub", "vade plan", "vade bench",
        "vade conversations", "vade conversations list",
        "vade conversations show", "vade conversations export", "vade conversations delete",
        "vade serve", "vade mcp", "vade export", "vade backup", "vade restore", "vade keys", "vade keys create", "vade keys list", "vade keys revoke",
    }  # fmt: skip


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_and_each_of_its_options_has_a_help(path: str) -> None:
    command = COMMANDS[path]
    assert (command.help or "").strip()
    assert [p.name for p in command.params if p.name != "help" and not (p.help or "").strip()] == []


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_takes_the_common_options(path: str) -> None:
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    assert {"--json", "--tenant", "--config", "--debug"} <= options


def test_each_command_is_on_the_page_in_a_line_of_its_own() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    named = [line.split("`")[1] for line in lines if line.startswith("| `vade ")]
    told = [" ".join(word for word in name.split() if word.islower()) for name in named]
    assert sorted(told) == sorted(LEAVES)
