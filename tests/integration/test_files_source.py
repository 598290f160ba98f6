"""Which files do paths, folders and patterns name, and what of those that cannot be read?"""

import os
from pathlib import Path

import pytest

from vademecum.adapters.sources import files as files_module
from vademecum.adapters.sources.files import Facts, find, make, read
from vademecum.errors import LimitExceeded, SourceNotFound, UsageError
from vademecum.ingest.accept import check
from vademecum.model.document import Refused, Source

FACTS = Facts(collection="c", access=("tenant",), metadata={"season": 2026}, language=None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "b.md",
        "a.txt",
        "deep/er/c.md",
        ".hidden/d.md",
        "deep/.e.md",
        "[x].md",
        "ü ñ.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(found: list[Path], tree: Path) -> list[str]:
    return [path.relative_to(tree).as_posix() for path in found]


def test_a_folder_gives_what_is_not_hidden_in_a_stable_order(tree: Path) -> None:
    assert names(find([str(tree)]), tree) == ["[x].md", "a.txt", "b.md", "ü ñ.txt", "deep/er/c.md"]


def test_a_hidden_file_that_is_named_is_taken(tree: Path) -> None:
    assert names(find([str(tree / "deep/.e.md")]), tree) == ["deep/.e.md"]
    assert names(find([str(tree / ".hidden")]), tree) == [".hidden/d.md"]


def test_patterns(tree: Path) -> None:
    assert names(find([f"{tree}/*.md"]), tree) == ["[x].md", "b.md"]
    assert names(find([f"{tree}/**/*.md"]), tree) == ["[x].md", "b.md", "deep/er/c.md"]
    assert names(find([f"{tree}/[ab].*"]), tree) == ["a.txt", "b.md"]


def test_a_name_with_brackets_that_is_there_is_no_pattern(tree: Path) -> None:
    assert names(find([str(tree / "[x].md")]), tree) == ["[x].md"]


def test_each_file_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    found = find(["a.txt", "./a.txt", str(tree / "a.txt"), "deep/../a.txt", "*.txt"])
    assert names(found, tree) == ["a.txt", "ü ñ.txt"]
    assert all(path.is_absolute() for path in found)


@pytest.mark.parametrize("path", ["nothing.md", "no/such/folder", "*.pdf", "a\x00b", ""])
def test_what_names_nothing_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    (tree / "empty").mkdir()
    monkeypatch.chdir(tree / "empty")
    if path:
        with pytest.raises(SourceNotFound, match=r"there is no file|nothing matches"):
            find([path])
    assert find([str(tree / "empty")]) == []


def test_the_path_above_is_a_path_like_another(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "deep")
    (source,) = read(find(["../a.txt"]), FACTS)
    assert isinstance(source, Source)
    assert source.uri == str(tree / "a.txt")


def test_reading(tree: Path) -> None:
    sources = list(read(find([str(tree)]), FACTS, base=tree))
    assert [s.uri for s in sources] == ["[x].md", "a.txt", "b.md", "ü ñ.txt", "deep/er/c.md"]
    first = sources[0]
    assert isinstance(first, Source)
    assert (first.content, first.collection, first.metadata) == (b"[x].md", "c", {"season": 2026})
    assert first.metadata is not FACTS.metadata


def test_one_that_cannot_be_read_costs_itself_only(tree: Path) -> None:
    paths = find([str(tree / "a.txt"), str(tree / "b.md")])
    (tree / "a.txt").unlink()
    (tree / "a.txt").mkdir()
    refused, source = read(paths, FACTS)
    assert refused == Refused(uri=str(tree / "a.txt"), reason="it cannot be read (Is a directory)")
    assert isinstance(source, Source)


def test_a_name_that_is_no_text_costs_itself_only(tree: Path) -> None:
    (tree / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    results = list(read(find([str(tree)]), FACTS))
    refused = [result for result in results if isinstance(result, Refused)]
    assert len(results) == 6
    assert len(refused) == 1
    assert refused[0].uri.endswith("caf\\udce9.txt")
    assert "not valid text" in refused[0].reason
    with pytest.raises(UsageError):
        make("caf\udce9", b"", FACTS)


def test_a_giant_is_not_read_whole(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MOST_BYTES", 10)
    (tree / "giant.txt").write_bytes(b"x" * 1000)
    (source,) = read([tree / "giant.txt"], FACTS)
    assert isinstance(source, Source)
    assert len(source.content) == 11
    monkeypatch.setattr("vademecum.ingest.accept.MOST_BYTES", 10)
    with pytest.raises(LimitExceeded):
        check(source)


def test_pipes_and_broken_links_in_a_folder_are_left_out(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    (tree / "broken").symlink_to(tree / "nowhere")
    (tree / "linked.txt").symlink_to(tree / "a.txt")
    (tree / "loop").symlink_to(tree)
    assert names(find([str(tree)]), tree) == [
        "[x].md", "a.txt", "b.md", "linked.txt", "ü ñ.txt", "deep/er/c.md"
    ]  # fmt: skip
