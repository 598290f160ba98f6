"""Does `vade export` give everything that is kept, of one person or of all, and nothing else?"""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

RULES = "Cameras with a lens of at most 200 mm are allowed in Hall Norte.\n"
NEWER = "Cameras with a lens of at most 300 mm are allowed in Hall Norte.\n"
DIARY = "The locker of the reader is number 31.\n"


@pytest.fixture(scope="module")
def filled(vade: Any) -> Any:
    """Documents, memories and conversations of two people."""
    (vade.home / "rules.md").write_text(RULES)
    (vade.home / "diary.md").write_text(DIARY)
    vade.json("ingest", "rules.md", "-c", "venues")
    vade.json("ingest", "diary.md", "--access", "user:reader")
    for person, likes in (("user:reader", "jazz"), ("user:other", "fado")):
        vade.json("remember", f"I like {likes}.", "--as", person)
        vade.json("ask", f"Which cameras are allowed, {likes}?", "--as", person)
    (vade.home / "rules.md").write_text(NEWER)
    vade.json("ingest", "rules.md", "-c", "venues")
    return vade


def opened(path: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]], set[str]]:
    """Return manifest, rows by kind, and the names in it."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        kinds = ("documents", "memories", "conversations", "feedback")
        rows = {
            kind: [json.loads(line) for line in archive.read(f"{kind}.jsonl").splitlines()]
            for kind in kinds
        }
        return manifest, rows, set(archive.namelist())


def test_a_tenant_as_a_whole(filled: Any) -> None:
    path = filled.home / "all.zip"
    told = filled.json("export", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    manifest, rows, names = opened(path)
    assert (manifest["tenant"], manifest["principal"]) == ("default", None)
    assert {d["uri"].rpartition("/")[2] for d in rows["documents"]} == {"rules.md", "diary.md"}
    with zipfile.ZipFile(path) as archive:
        originals = {archive.read(document["original"]).decode() for document in rows["documents"]}
        before = {
            document["uri"].rpartition("/")[2]: [
                (one["number"], archive.read(one["original"]).decode(), one["current"])
                for one in document["revisions"]
            ]
            for document in rows["documents"]
        }
    assert originals == {NEWER, DIARY}
    assert before == {
        "rules.md": [(1, RULES, False), (2, NEWER, True)],
        "diary.md": [(1, DIARY, True)],
    }
    said = {(memory["principal"], memory["text"]) for memory in rows["memories"]}
    assert said == {("user:reader", "I like jazz."), ("user:other", "I like fado.")}
    assert all(memory["versions"] == [] for memory in rows["memories"])
    assert {c["principal"] for c in rows["conversations"]} == {"user:reader", "user:other"}
    assert all(len(c["turns"]) == 2 for c in rows["conversations"])
    assert (told["documents"], told["originals"], told["memories"]) == (2, 3, 2)
    assert told["revisions"] == 3
    assert told["people"] == 2
    everything = b"".join(zipfile.ZipFile(path).read(name) for name in names)
    for never in (b"embedding", b"digest", b"vade_"):
        assert never not in everything


def test_one_person_alone(filled: Any) -> None:
    path = filled.home / "reader.zip"
    filled.json("export", str(path), "--as", "reader")
    manifest, rows, names = opened(path)
    assert manifest["principal"] == "user:reader"
    assert [d["uri"].rpartition("/")[2] for d in rows["documents"]] == ["diary.md"]
    assert [memory["text"] for memory in rows["memories"]] == ["I like jazz."]
    assert len(rows["conversations"]) == 1
    with zipfile.ZipFile(path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"fado" not in everything
    assert b"300 mm" not in everything
    assert len([name for name in names if name.startswith("originals/")]) == 1
    assert b"user:other" not in everything


def test_nothing_is_written_over(filled: Any) -> None:
    (filled.home / "there.zip").write_bytes(b"mine")
    filled.fails("export", str(filled.home / "there.zip"), status=2, code="usage")
    assert (filled.home / "there.zip").read_bytes() == b"mine"
    filled.fails("export", str(filled.home / "no" / "x.zip"), status=2, code="usage")
    assert not list(filled.home.glob("tmp*"))
