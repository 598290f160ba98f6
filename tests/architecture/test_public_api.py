"""Are the public names exactly those that we mean, light to import, and as README shows them?"""

import ast
import importlib
import inspect
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import regex

import vademecum

ROOT = Path(__file__).parents[2]
NAMES = {"App", "Scope", "VademecumError", "open"}


def test_the_exported_names() -> None:
    assert set(vademecum.__all__) == NAMES == set(dir(vademecum))
    for name in NAMES:
        value = getattr(vademecum, name)
        assert value is getattr(importlib.import_module(vademecum._HOME[name]), name)
        assert inspect.getdoc(value)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = vademecum.nothing


def test_what_a_type_checker_sees_is_what_is_there() -> None:
    tree = ast.parse((ROOT / "src" / "vademecum" / "__init__.py").read_text(encoding="utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == vademecum._HOME


@pytest.mark.parametrize(
    ("line", "light"),
    [
        ("import vademecum", True),
        ("from vademecum import Scope, VademecumError", True),
        ("from vademecum import App", False),  # else the test could not fail
    ],
)
def test_an_import_costs_no_driver_and_no_settings(line: str, light: bool) -> None:
    heavy = {"psycopg", "pydantic", "typer", "rich", "onnxruntime"}
    code = f"import sys\n{line}\nprint(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout.split() == []) == light


@dataclass
class Asked:
    """Stands for the App, which would need a model and a database server here."""

    calls: list[Any] = field(default_factory=list)

    async def ask(self, *arguments: Any, **values: Any) -> Any:
        # Bound to the real signature: an argument that README invents is an error.
        bound = inspect.signature(vademecum.App.ask).bind(self, *arguments, **values)
        self.calls.append(bound.arguments)
        return vademecum_answer()


def vademecum_answer() -> Any:
    from uuid import UUID

    from vademecum.model.answer import Answer, Usage
    from vademecum.model.ids import ConversationId, TraceId, TurnId

    return Answer(
        question="?",
        text="The printer lacks paper. [1]",
        abstained=False,
        mode="extractive",
        sentences=(),
        citations=(),
        passages=(),
        degraded=(),
        usage=Usage(prompt_tokens=0, completion_tokens=0),
        timings_ms={},
        conversation_id=ConversationId(UUID(int=1)),
        turn_id=TurnId(UUID(int=2)),
        trace_id=TraceId(UUID(int=3)),
        asked_turn_id=TurnId(UUID(int=4)),
    )


def test_readme_s_program_runs(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = regex.findall(r"```python\n(.*?)```", readme, regex.DOTALL)
    assert len(programs) == 1
    asked = Asked()

    @asynccontextmanager
    async def opened(*arguments: Any, **values: Any) -> Any:
        inspect.signature(open_really).bind(*arguments, **values)
        yield asked

    open_really = vademecum.open
    monkeypatch.setattr(vademecum, "open", opened, raising=False)
    exec(compile(programs[0], "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "The printer lacks paper. [1]\n"
    [call] = asked.calls
    assert call["scope"] == vademecum.Scope.for_operator("default")
