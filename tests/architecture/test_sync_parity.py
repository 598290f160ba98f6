"""Has the blocking App everything that the asynchronous one has, with the same arguments?"""

import inspect
from collections.abc import Callable
from typing import Any

from vademecum import app, composing, sync, talking


def _methods(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        name: value
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def test_every_public_method_is_there_with_the_same_signature() -> None:
    asynchronous, blocking = _methods(app.App), _methods(sync.App)
    assert set(blocking) == set(asynchronous) == {
        "ingest", "forget", "changes", "search", "ask", "stream", "remember", "recall", "memories",
        "memory", "edit_memory", "pin", "confirm", "reject", "forget_memory", "recall_turns",
        "replay", "replay_day", "remembering",
    }  # fmt: skip
    for name, method in blocking.items():
        assert inspect.signature(method) == inspect.signature(asynchronous[name])
        assert method.__doc__ == asynchronous[name].__doc__


def test_conversations_are_there_with_the_same_signatures() -> None:
    asynchronous, blocking = _methods(talking.Talking), _methods(sync.Talking)
    assert set(blocking) == set(asynchronous) == {
        "list", "show", "rename", "delete", "latest",
    }  # fmt: skip
    for name, method in blocking.items():
        assert inspect.signature(method) == inspect.signature(asynchronous[name])
        assert method.__doc__ == asynchronous[name].__doc__
    assert inspect.getdoc(sync.App.talking) == inspect.getdoc(app.App.talking)


def test_no_method_is_left_asynchronous() -> None:
    for method in [*_methods(sync.App).values(), *_methods(sync.Talking).values()]:
        own = inspect.unwrap(method, stop=lambda f: f.__code__.co_filename == sync.__file__)
        assert not inspect.iscoroutinefunction(own)
        assert not inspect.isasyncgenfunction(own)


def test_both_are_opened_alike() -> None:
    def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
        found = inspect.signature(function, eval_str=True).parameters.values()
        return [(p.name, p.kind, (p.annotation, p.default)) for p in found]

    assert parameters(sync.open) == parameters(composing.open)
