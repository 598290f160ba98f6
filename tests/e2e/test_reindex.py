"""Is the model changed and gone back to by two commands, with a server that goes on meanwhile?"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from vademecum.testing.openai_server import OpenAIServer

NOTICE = "NOTICE\n\nError ZX-31 means that the turnstile is offline. Call 0800 555 010.\n"
RULES = "# Arena\n\nCompact cameras are allowed.\n\nThe north gate opens at nine.\n"
REMOTE = "openai:embed-small"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.jsonl"
    asked = [
        {"id": "1", "kind": "code", "question": "What does error ZX-31 mean?",
         "relevant": [{"document": "n.txt"}]},
        {"id": "2", "kind": "concept", "question": "When does the north gate open?",
         "relevant": [{"document": "r.md"}]},
        {"id": "3", "kind": "unanswerable", "question": "Who was the first king?", "relevant": []},
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    return path


def events(result: Any) -> list[dict[str, Any]]:
    assert result.returncode == 0, result.stderr + result.stdout
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_another_model_and_back(vade: Any, tmp_path: Path, golden: Path) -> None:
    for uri, text in (("n.txt", NOTICE), ("r.md", RULES)):
        done = vade("ingest", "-", "--uri", uri, stdin=text.encode())
        assert done.returncode == 0, done.stderr
    first = vade.json("status")["index"]
    assert [(one["state"], one["lacking"]) for one in first] == [("current", None)]

    with OpenAIServer() as server:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url}
        # The settings name another model than the index has: everything says what to do.
        told = vade.fails(
            "search",
            "ZX-31",
            status=1,
            code="space-mismatch",
            VADE_MODELS__EMBEDDING=REMOTE,
            **keys,
        )
        assert "vade reindex" in told
        told = events(
            vade("reindex", "--embedding", REMOTE, "--gate", str(golden), "--json",
                 VADE_MODELS__EMBEDDING_PRICE="0.5", **keys)
        )  # fmt: skip
        names = [one["event"] for one in told]
        assert names[0] == "estimate"
        assert names[1] == "begun"
        assert names[-1] == "done"
        assert {"progress", "compared", "switched", "measured"} <= set(names)
        assert told[0]["chunks"] == told[-1]["built"]["embedded"] == told[0]["chunks"] > 0
        assert told[0]["price"] > 0
        compared = next(one for one in told if one["event"] == "compared")
        assert compared["questions"] == 2
        assert compared["current"] == compared["candidate"] == 1.0
        states = [one["state"] for one in vade.json("status")["index"]]
        assert states == ["retired", "current"]
        found = vade.json("search", "north gate", "-k", "1", **keys)
        assert found["passages"][0]["uri"] == "r.md"
        assert found["degraded"] == []
        assert REMOTE.split(":")[1] in vade.json("explain", found["trace_id"], **keys)["record"][
            "versions"]["space"]  # fmt: skip
        # What comes in now is in the earlier build too, once it is gone back to.
        done = vade("ingest", "-", "--uri", "s.txt", stdin=b"The shop sells scarves.", **keys)
        assert done.returncode == 0, done.stderr
        back = events(vade("rollback", "--json", **keys))
        assert back[-1]["event"] == "done"
        assert back[-1]["built"]["embedded"] == 1
    # Without the provider: the local model reads its own index again.
    found = vade.json("search", "scarves", "-k", "1")
    assert found["passages"][0]["uri"] == "s.txt"
    assert found["degraded"] == []
    dropped = vade.json("reindex", "--drop-old")["dropped"]
    assert dropped["chunk_vector"] == told[0]["chunks"] + 1
    assert [one["state"] for one in vade.json("status")["index"]] == ["current"]
    vade.fails("rollback", status=2, code="usage")


def test_documents_are_divided_again(vade: Any) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of gate {n} and of its long way." for n in range(60))
    done = vade("ingest", "-", "--uri", "long.txt", stdin=text.encode())
    assert done.returncode == 0, done.stderr
    document = vade.json("documents", "show", "long.txt")
    (told,) = events(
        vade("reindex", "--chunker", "fixed", "--json", VADE_CHUNKING__SIZE="60")
    )  # fmt: skip
    assert told["event"] == "divided"
    assert told["documents"] >= 1
    after = vade.json("documents", "show", "long.txt")
    assert after["revision"] == document["revision"] + 1
    assert after["chunks"] > document["chunks"]
    assert after["content_hash"] == document["content_hash"]
    again = events(vade("reindex", "--chunker", "fixed", "--json", VADE_CHUNKING__SIZE="60"))
    assert again == [{"event": "divided", "documents": 0}]


def test_a_word_that_is_wrong_is_told(vade: Any, tmp_path: Path) -> None:
    vade.fails("reindex", "--chunker", "round", status=2, code="usage")
    vade.fails("reindex", "--drop-old", "--chunker", "fixed", status=2, code="usage")
    vade.fails("reindex", "--gate", str(tmp_path / "none"), status=3, code="source-not-found")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no json\n", encoding="utf-8")
    assert "line 1" in vade.fails("reindex", "--gate", str(bad), status=2, code="usage")


def test_a_server_goes_over_without_a_restart(vade: Any) -> None:
    done = vade("ingest", "-", "--uri", "n.txt", stdin=NOTICE.encode())
    assert done.returncode == 0, done.stderr
    before = _generations(vade)
    with OpenAIServer() as remote:
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": remote.base_url}
        process = _serve(vade, keys)
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            key = (vade.home / "admin.key").read_text().strip()
            assert _space(url, key) != "embed-small"
            events(vade("reindex", "--embedding", REMOTE, "--json", **keys))
            # The command waits until every process has gone over.
            assert _space(url, key) == "embed-small"
            events(vade("rollback", "--json", **keys))
            assert _space(url, key) != "embed-small"
        finally:
            process.terminate()
            process.communicate(timeout=30)  # closes its pipe too
    assert before[-1] in _generations(vade)


def _generations(vade: Any) -> list[int]:
    return [one["generation"] for one in vade.json("status")["index"]]


def _serve(vade: Any, keys: dict[str, str]) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VADE_")}
    return subprocess.Popen(
        [sys.executable, "-c", "from vademecum.cli.main import run; run()", "serve", "--port", "0",
         "--json"],
        env=inherited | {"VADE_HOME": str(vade.home)} | keys, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _space(url: str, key: str) -> str:
    """Return the model whose build a search of the server read, as its trace tells."""
    found = _called(url, "/api/v1/search", key, {"query": "turnstile", "k": 1})
    assert found["passages"][0]["uri"] == "n.txt"
    assert found["degraded"] == []
    trace = _called(url, f"/api/v1/traces/{found['trace_id']}", key)
    return str(trace["record"]["versions"]["space"]).split(":")[1].split("@")[0]


def _called(url: str, path: str, key: str, body: Any = None) -> Any:
    request = urllib.request.Request(
        url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    for _ in range(50):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except ConnectionError:
            time.sleep(0.1)
    raise AssertionError(url)
