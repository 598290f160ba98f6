"""Is everything small enough to read, and named in the project's words?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "vademecum"
MODULES = sorted(SOURCE.rglob("*.py"))

MOST_LINES = 600
MOST_FUNCTION_LINES = 60
MOST_FILES = 25
FORBIDDEN_ENDS = ("Manager", "Helper", "Util", "Utils", "Handler", "Processor", "Base", "Factory")
# Where a library raises nothing narrower, or work must go on whatever one piece of it does.
BROAD_EXCEPTS_ALLOWED = {
    "adapters/embedders/e5_tokenizer.py": 1,
    "server/gate.py": 1,
    "server/streams.py": 1,
    "worker/loop.py": 1,
}


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for path in MODULES:
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text(encoding="utf-8"))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_modules_are_short() -> None:
    long = {str(p): n for p in MODULES if (n := len(p.read_text().splitlines())) > MOST_LINES}
    assert long == {}


def test_functions_are_short() -> None:
    long = {
        f"{name}:{function.name}": size
        for name, tree in _trees()
        for function in _functions(tree)
        if (size := (function.end_lineno or 0) - function.lineno + 1) > MOST_FUNCTION_LINES
    }
    assert long == {}


def test_folders_are_small() -> None:
    folders = {path.parent for path in MODULES}
    crowded = {str(f): n for f in folders if (n := len(list(f.glob("*.py")))) > MOST_FILES}
    assert crowded == {}


def test_classes_are_named_for_what_they_are() -> None:
    vague = [
        f"{name}:{node.name}"
        for name, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(FORBIDDEN_ENDS)
    ]
    assert vague == []


def _broad(tree: ast.Module) -> int:
    return sum(
        node.type is None
        or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
    )


def test_no_broad_except() -> None:
    found = {name: count for name, tree in _trees() if (count := _broad(tree))}
    assert found == BROAD_EXCEPTS_ALLOWED


@pytest.mark.parametrize("planted", ["except Exception:", "except:", "except BaseException as e:"])
def test_a_planted_broad_except_would_be_seen(planted: str) -> None:
    assert _broad(ast.parse(f"try:\n    pass\n{planted}\n    pass\n")) == 1


def test_every_module_says_what_it_answers() -> None:
    assert [name for name, tree in _trees() if not ast.get_docstring(tree)] == []


def test_the_error_tree_is_drawn_as_it_is() -> None:
    from vademecum import errors

    text = errors.__doc__ or ""
    drawn = {
        parts[0]: (parts[1], int(parts[2]))
        for line in text.splitlines()
        if len(parts := line.replace("|", " ").replace("`--", " ").replace("--", " ").split()) == 3
    }
    real = {
        name: (kind.code, kind.exit_status)
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.VademecumError)
    }
    assert drawn == real
    assert len({code for code, _ in real.values()}) == len(real)
