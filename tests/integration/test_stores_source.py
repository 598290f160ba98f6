"""Are the objects of a store found and read? On the store in memory that fsspec brings."""

from collections.abc import Iterator

import fsspec
import pytest

from vademecum.adapters.sources.files import Facts
from vademecum.adapters.sources.places import find, read
from vademecum.errors import SourceNotFound, UsageError
from vademecum.model.document import Source

FACTS = Facts(collection="c", access=("tenant",), metadata={}, language=None)


@pytest.fixture
def store() -> Iterator[None]:
    memory = fsspec.filesystem("memory")
    for name in ("a.md", "deep/b.txt"):
        memory.pipe(f"/venues/{name}", name.encode())
    yield
    memory.rm("/venues", recursive=True)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("memory://venues/", ["a.md", "deep/b.txt"]),
        ("memory://venues/a.md", ["a.md"]),
        ("memory://venues/*.md", ["a.md"]),
    ],
)
def test_objects_are_found_alone_by_pattern_and_below(
    store: None, word: str, names: list[str]
) -> None:
    sources = list(read(find([word]), FACTS))
    assert all(isinstance(source, Source) for source in sources)
    assert {source.uri: source.content for source in sources if isinstance(source, Source)} == {
        f"memory:///venues/{name}": name.encode() for name in names
    }


def test_what_is_not_there_is_told(store: None) -> None:
    with pytest.raises(SourceNotFound, match="nothing at memory://nowhere"):
        find(["memory://nowhere/"])


@pytest.mark.parametrize("word", ["nostore://a/b", "file:///etc/passwd", "simplecache::s3://a/b"])
def test_no_other_way_to_this_machine_is_taken(word: str) -> None:
    with pytest.raises(UsageError, match="no store"):
        find([word])
