"""Does any history of documents end as it must? And would a bug be seen?"""

import os
from pathlib import Path
from typing import Any

import pytest
from document_machine import Documents
from machines import run
from planted import attribute, cut, function, sql

RULES = {
    "put", "bring_again", "delete", "move", "events", "change_settings", "crash_on_the_way",
    "put_without_work", "work_on_one", "drop_index", "reconcile", "quiesce",
}  # fmt: skip


def test_any_history_ends_as_it_must(database_url: str, tmp_path: Path) -> None:
    rules = run(Documents, database_url, tmp_path, examples=10, steps=25)
    print(sorted(rules.items()))
    assert set(rules) == RULES, "each rule was used"


@pytest.mark.slow
def test_many_histories_end_as_they_must(database_url: str, tmp_path: Path) -> None:
    rules = run(Documents, database_url, tmp_path, examples=150, steps=50)
    print(sorted(rules.items()))
    assert min(rules[name] for name in RULES) >= 100


async def _nothing(*_: Any, **__: Any) -> int:
    return 0


async def _nobody(*_: Any, **__: Any) -> bool:
    return True


_OPERATOR_SEES_ALL = "s.labels && nullif(current_setting('vademecum.labels', true), '')::text[]"

PLANTED = {
    "permissions are not looked at": function("visible_access_sets", _OPERATOR_SEES_ALL, "true"),
    "a deletion deletes nothing": sql("document", "delete_document", "SELECT 1"),
    "the old revision stays in force": function(
        "set_validity", "min(own.begins) OVER", "max(own.ends) OVER"
    ),
    "the index is not told that a revision is out of force": function(
        "set_validity", "c.revision = moved.id", "c.revision IS NULL"
    ),
    "an acknowledged document is not committed": sql("source", "insert_revision", "SELECT 1"),
    "the index keeps the old labels": sql("source", "move_index_access", "SELECT 1"),
    "a vector is kept beside another text": function(
        "known_vectors", "c.text_hash = w.hash", "c.text_hash <> w.hash"
    ),
    "changed bytes count as unchanged": cut(
        "source", "newest_revision", "content_hash = %(content_hash)s AND", "true AND"
    ),
    "other settings count as unchanged": cut(
        "source", "newest_revision", "fingerprint = %(fingerprint)s", "true"
    ),
    "the reconciler does not look for vectors": attribute(
        "vademecum.postgres.upkeep.index_vectors", _nothing
    ),
    "what a dead worker held is not queued again": attribute(
        "vademecum.postgres.jobs.PostgresJobs.rescue", _nothing
    ),
    "an older version of a source is taken": cut(
        "source", "take_version", "source_version.version < excluded.version", "true"
    ),
    "a tombstone does not hold": cut(
        "source", "end_version", "source_version.version <= excluded.version", "false"
    ),
    "an older revision that ends late wins": cut(
        "revision", "current_number", "SELECT r.number", "SELECT 0 AS number"
    ),
    "originals stay behind": attribute(
        "vademecum.adapters.blobs.folder.FolderBlobs.delete", _nobody
    ),
    "offsets are one off": cut(
        "revision", "insert_chunks", "c.ordinal, c.start_offset,", "c.ordinal, c.start_offset + 1,"
    ),
}


_QUICK = {"a deletion deletes nothing"}


@pytest.mark.parametrize(
    "name",
    [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PLANTED],
)
def test_a_planted_bug_is_caught(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    PLANTED[name](monkeypatch, database_url)
    with pytest.raises(Exception) as caught:  # whatever shows that something is wrong
        run(Documents, database_url, tmp_path, examples=30, steps=40, shrink=False)
    print(name, "->", type(caught.value).__name__, str(caught.value)[:200])
    assert os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY") is None
