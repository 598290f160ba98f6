"""Does `vade ingest` take every source that the interface names, and does the rest of the work?"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

START = "from vademecum.cli.main import run; run()"
GATES = "The quokka gate opens at nine."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(GATES)
    (tmp_path / "b.txt").write_text("The numbat gate opens at ten.")
    return tmp_path


def statuses(told: Any) -> dict[str, str]:
    return {Path(d["uri"]).name: d["status"] for d in told["documents"]}


def listed(vade: Any, collection: str) -> dict[str, str]:
    found = vade.json("documents", "list", "-c", collection)["documents"]
    return {Path(d["uri"]).name: d["status"] for d in found}


def test_a_pruned_folder_is_in_step(vade: Any, folder: Path) -> None:
    vade.json("ingest", str(folder), "-c", "prune")
    (folder / "b.txt").unlink()
    told = vade.json("ingest", str(folder), "-c", "prune")
    assert statuses(told) == {"a.txt": "unchanged"}
    assert set(listed(vade, "prune")) == {"a.txt", "b.txt"}, "without --prune it stays"
    told = vade.json("ingest", str(folder), "-c", "prune", "--prune")
    assert statuses(told) == {"a.txt": "unchanged", "b.txt": "deleted"}
    assert set(listed(vade, "prune")) == {"a.txt"}
    (folder / "a.txt").unlink()
    error = vade.fails("ingest", str(folder), "-c", "prune", "--prune", status=2, code="usage")
    assert "there is no file in" in error
    assert set(listed(vade, "prune")) == {"a.txt"}


def test_events_come_twice_and_in_any_order(vade: Any, tmp_path: Path) -> None:
    upsert = {"op": "upsert", "uri": "x", "collection": "events", "access": ["group:a"]}
    events = [
        upsert | {"version": 2, "text": "The bilby gate is closed.", "metadata": {"n": 1}},
        upsert | {"version": 1, "text": "Old."},
        {"op": "delete", "uri": "y", "collection": "events", "version": 5},
        upsert | {"uri": "y", "version": 4, "text": "Late."},
        upsert | {"uri": "z", "content": base64.b64encode(b"# Title\n\nText.").decode()},
        {"op": "move", "uri": "x"},
        upsert | {"uri": "w", "version": "3", "text": "x"},
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)) + "\n\nno json\n")
    for number in range(2):
        told = vade.json("ingest", "--events", str(path))
        found = [(d["uri"], d["status"]) for d in told["documents"]]
        first = "unchanged" if number else "ready"
        assert found == [
            ("x", first), ("x", "unchanged"), ("y", "unchanged"), ("y", "unchanged"),
            ("z", first), ("line 6", "rejected"), ("line 7", "rejected"), ("line 9", "rejected"),
        ]  # fmt: skip
    document = vade.json("documents", "show", "x")
    assert (document["access"], document["metadata"]) == (["group:a"], {"n": 1})
    assert set(listed(vade, "events")) == {"x", "z"}


def test_each_record_is_a_document(vade: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('id;note\n7;"line one\nline two; still"\n9;ok\n')
    told = vade.json("ingest", str(path), "--records", "-c", "records")
    assert statuses(told) == {"r.csv#7": "ready", "r.csv#9": "ready"}
    assert "line two; still" in vade.json("documents", "text", f"{path}#7")["text"]


def test_another_chunker_divides_otherwise_and_says_what_it_could_not_do(
    vade: Any, tmp_path: Path
) -> None:
    path = tmp_path / "long.txt"
    path.write_text(" ".join(f"The gate number {n} opens at nine." for n in range(400)))
    (first,) = vade.json("ingest", str(path), "-c", "chunkers")["documents"]
    (second,) = vade.json("ingest", str(path), "-c", "chunkers", "--chunker", "fixed")["documents"]
    assert second["revision"] == 2
    assert second["chunks"] < first["chunks"]
    assert any("800 tokens were asked for" in warning for warning in second["warnings"])
    vade.fails("ingest", str(path), "--chunker", "round", status=2, code="usage")


def test_words_that_do_not_go_together_are_refused(vade: Any, folder: Path) -> None:
    path = str(folder / "a.txt")
    assert "for folders" in vade.fails("ingest", path, "--watch", status=2, code="usage")
    assert "for folders" in vade.fails("ingest", path, "--prune", status=2, code="usage")
    assert "no store" in vade.fails("ingest", "nowhere://x/y", status=2, code="usage")
    told = vade.json("ingest", "http://169.254.169.254/x")
    assert [(d["status"], d["id"]) for d in told["documents"]] == [("rejected", None)]
    (told,) = vade.json("ingest", "http://nowhere.invalid/x.pdf", failing=True)["documents"]
    assert told["status"] == "failed"
    assert "has no address" in told["reason"]


def test_a_worker_does_what_was_only_accepted(vade: Any, folder: Path) -> None:
    told = vade.json("ingest", str(folder), "-c", "worker", "--no-wait")
    assert set(statuses(told).values()) == {"accepted"}
    waiting = vade.json("jobs", "list", "-c", "worker")["jobs"]
    assert [job["state"] for job in waiting] == ["waiting", "waiting"]
    assert vade.json("worker", "--once")["mended"]["rescued_jobs"] == 0
    assert set(listed(vade, "worker").values()) == {"ready"}
    assert vade.json("jobs", "list", "-c", "worker")["jobs"] == []
    assert vade.json("jobs", "retry", "--all")["queued"] == []


def test_changes_are_followed_by_cursor(vade: Any, folder: Path) -> None:
    vade.json("ingest", str(folder), "-c", "changes")
    first = vade.json("changes", "--limit", "1")["changes"]
    assert len(first) == 1
    rest = vade.json("changes", "--after", first[0]["cursor"])["changes"]
    assert rest
    assert first[0]["cursor"] not in {event["cursor"] for event in rest}
    assert vade.json("changes", "--after", rest[-1]["cursor"])["changes"] == []
    vade.fails("changes", "--after", "yesterday", status=2, code="usage")


def test_another_day_is_another_answer(vade: Any, tmp_path: Path) -> None:
    path = tmp_path / "rule.md"
    path.write_text("---\neffective_from: 2025-01-01\neffective_until: 2025-12-31\n---\n" + GATES)
    vade.json("ingest", str(path), "-c", "days")
    path.write_text("---\neffective_from: 2026-01-01\n---\nThe quokka gate opens at eleven.")
    vade.json("ingest", str(path), "-c", "days")

    def found(*day: str) -> list[str]:
        told = vade.json("search", "When does the quokka gate open?", "-c", "days", *day)
        return [passage["text"] for passage in told["passages"]]

    assert found() == ["The quokka gate opens at eleven."]
    assert found("--as-of", "2025-06-01") == [GATES]
    assert found("--as-of", "2024-06-01") == []
    answer = vade.json(
        "ask", "When does the quokka gate open?", "-c", "days", "--as-of", "2025-06-01"
    )
    assert "nine" in answer["answer"]
    assert (
        vade.json("documents", "text", str(path), "--as-of", "2025-06-01")["text"].strip() == GATES
    )
    history = vade.json("documents", "history", str(path))["revisions"]
    assert [r["valid_until"] for r in history] == ["2026-01-01T00:00:00+00:00", None]


# A shell that started the tests in the background lets no process of theirs hear Ctrl-C.
HEARING = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {START}"


def _watching(vade: Any, folder: Path) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("VADE_", "DATABASE_"))}
    return subprocess.Popen(
        [sys.executable, "-c", HEARING, "ingest", str(folder), "-c", "watch", "--watch", "--json"],
        env=environment | {"VADE_HOME": str(vade.home)}, cwd=vade.home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_watched_folder_is_followed(vade: Any, folder: Path) -> None:
    watching = _watching(vade, folder)
    assert watching.stdout
    try:
        first = json.loads(watching.stdout.readline())
        assert statuses(first) == {"a.txt": "ready", "b.txt": "ready"}
        time.sleep(0.5)  # it begins to watch after its first line
        (folder / "c.txt").write_text("The bilby gate opens at noon.")
        (folder / "b.txt").unlink()
        seen: dict[str, str] = {}
        while set(seen) < {"b.txt", "c.txt"}:
            seen |= statuses(json.loads(watching.stdout.readline()))
        assert seen == {"b.txt": "deleted", "c.txt": "ready"}
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=60)
    assert set(listed(vade, "watch")) == {"a.txt", "c.txt"}


def test_a_worker_stops_when_it_is_told_to(vade: Any, folder: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("VADE_", "DATABASE_"))}
    worker = subprocess.Popen(
        [sys.executable, "-c", START, "worker"], text=True, cwd=vade.home,
        env=environment | {"VADE_HOME": str(vade.home)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert worker.stderr
    line = ""
    while "working" not in line:
        line = worker.stderr.readline()
        assert line
    vade.json("ingest", str(folder), "-c", "loop", "--no-wait")
    until = time.monotonic() + 60
    while set(listed(vade, "loop").values()) != {"ready"}:
        assert time.monotonic() < until
        time.sleep(0.2)
    worker.send_signal(signal.SIGTERM)
    _, err = worker.communicate(timeout=40)
    assert worker.returncode == 0, err
    assert err.strip().endswith("stopped")
