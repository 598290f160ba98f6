"""Does each command do what the interface says, for a person and for a program?"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

RULES = """# Arena Branca

## Câmeras
Câmeras compactas são permitidas. Câmeras com lente removível não entram.

## Acesso
O setor C tem acesso sem degraus pelo Portão 4.
"""
NOTICE = "NOTICE\n\nError ZX-31 means that the turnstile is offline. Call 0800 555 010.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "arena.md").write_text(RULES, encoding="utf-8")
    (folder / "notice.txt").write_text(NOTICE, encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / ".hidden").write_text("not read", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ingested(vade: Any, folder: Path) -> Any:
    return vade.json("ingest", str(folder), "--meta", "season=2026")


def test_ingest_tells_what_became_of_each(ingested: Any, folder: Path) -> None:
    by_name = {Path(d["uri"]).name: d for d in ingested["documents"]}
    assert set(by_name) == {"arena.md", "notice.txt", "empty.txt"}
    arena = by_name["arena.md"]
    assert set(arena) == {
        "id", "uri", "title", "status", "reason", "revision", "chunks", "new_chunks", "embedded",
        "language", "warnings",
    }  # fmt: skip
    assert (arena["status"], arena["title"], arena["language"]) == ("ready", "Arena Branca", "pt")
    assert arena["chunks"] == arena["new_chunks"] == arena["embedded"] == 2
    assert by_name["empty.txt"]["status"] == "empty"
    assert arena["uri"] == str(folder / "arena.md")


def test_again_is_no_work(vade: Any, ingested: Any, folder: Path) -> None:
    again = vade.json("ingest", str(folder))
    assert {d["status"] for d in again["documents"]} == {"unchanged", "empty"}
    assert sum(d["embedded"] for d in again["documents"]) == 0


def test_search_gives_exact_spans(vade: Any, ingested: Any) -> None:
    found = vade.json("search", "câmeras com lente", "-k", "2")
    first = found["passages"][0]
    assert first["rank"] == 1
    assert first["heading_path"] == ["Arena Branca", "Câmeras"]
    text = vade.json("documents", "text", first["document_id"])["text"]
    assert text[first["start"] : first["end"]] == first["text"]
    assert set(first["signals"]) == {
        "dense", "dense_rank", "keyword", "keyword_rank", "keyword_share", "ngram_share",
        "fused", "maxsim", "reranked", "final",
    }  # fmt: skip
    assert {"query", "passages", "abstain", "degraded", "timings_ms", "trace_id"} <= set(found)
    assert len(found["passages"]) == 2


@pytest.mark.parametrize("query", ["ZX-31", "zx31", "ZX 31", "ZX\u201131"])
def test_a_code_is_found_in_any_spelling(vade: Any, ingested: Any, query: str) -> None:
    found = vade.json("search", query, "--mode", "keyword")
    assert [Path(p["uri"]).name for p in found["passages"]] == ["notice.txt"]


def test_ask_quotes_and_cites(vade: Any, ingested: Any) -> None:
    answer = vade.json("ask", "What does error ZX-31 mean?")
    assert answer["abstained"] is False
    assert answer["mode"] == "extractive"
    assert "the turnstile is offline" in answer["answer"]
    citation = answer["citations"][0]
    text = vade.json("documents", "text", citation["document_id"])["text"]
    assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert citation["support"] == "supported"
    assert answer["sentences"][0]["markers"] == [citation["marker"]]
    explained = vade.json("explain", answer["trace_id"])
    assert explained["kind"] == "ask"
    assert explained["record"]["searches"][0]["candidates"]


def test_explain_shows_the_filter_that_a_search_had(vade: Any, ingested: Any) -> None:
    wanted = {"eq": ["season", 2026]}
    found = vade.json("search", "turnstile", "--where", "season=2026")
    assert vade.json("explain", found["trace_id"])["record"]["filter"] == wanted
    assert 'filter {"eq": ["season", 2026]}' in vade("explain", found["trace_id"]).stdout
    asked = vade.json("ask", "What does error ZX-31 mean?", "--where", "season=2026")
    searches = vade.json("explain", asked["trace_id"])["record"]["searches"]
    assert [search["filter"] for search in searches] == [wanted]
    without = vade.json("search", "turnstile")
    assert "filter" not in vade("explain", without["trace_id"]).stdout


def test_an_unknown_code_is_not_answered_by_its_neighbour(vade: Any, ingested: Any) -> None:
    answer = vade.json("ask", "What does error ZX-32 mean?")
    assert answer["abstained"] is True
    assert answer["citations"] == []


def test_the_stream_is_a_line_an_event(vade: Any, ingested: Any) -> None:
    result = vade("ask", "What does error ZX-31 mean?", "--stream", "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[0] == "retrieved"
    assert kinds[-1] == "done"
    assert "sentence" in kinds


def test_the_stream_for_a_person_says_each_thing_once(vade: Any, ingested: Any) -> None:
    whole = vade("ask", "What does error ZX-31 mean?").stdout
    assert "the turnstile is offline" in whole
    assert vade("ask", "What does error ZX-31 mean?", "--stream").stdout == whole


def test_what_is_no_text_is_no_crash(vade: Any, ingested: Any) -> None:
    found = vade.json("search", "turnstile \udcff")
    assert found["query"] == "turnstile "
    vade.fails("ingest", "/no/such/\udcff", status=3, code="source-not-found")
    vade.fails("search", "x", "--tenant", "\udcff", status=2, code="usage")


def test_a_wrong_language_or_date_costs_the_document_only(vade: Any, folder: Path) -> None:
    for option in (["--language", "English"], ["--meta", "effective_from=2026-W05-6"]):
        result = vade("ingest", str(folder / "notice.txt"), "--json", *option)
        [document] = json.loads(result.stdout)["documents"]
        assert (result.returncode, document["status"]) == (0, "rejected")
        assert document["reason"]


def test_a_principal_sees_only_what_its_labels_allow(vade: Any, folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("The vault code is QV-77.", encoding="utf-8")
    vade.json("ingest", str(secret), "-c", "private", "--access", "group:vault")
    plain = vade.json("search", "QV-77", "--as", "guest", "--mode", "keyword")
    assert plain["passages"] == []
    assert plain["scope"]["labels"] == ["tenant", "user:guest"]
    holder = vade.json("search", "QV-77", "--as", "guest", "--labels", "group:vault")
    assert holder["passages"][0]["text"] == "The vault code is QV-77."
    assert vade.json("search", "QV-77", "--tenant", "other")["passages"] == []
    document = holder["passages"][0]["document_id"]
    vade.fails("documents", "show", document, "--as", "guest", status=3, code="document-not-found")


def test_stdin_needs_a_name(vade: Any) -> None:
    vade.fails("ingest", "-", status=2, code="usage")
    result = vade("ingest", "-", "--uri", "note:1", "--json", stdin=b"A note about turnstiles.")
    assert json.loads(result.stdout)["documents"][0]["uri"] == "note:1"


def test_delete_leaves_a_receipt_and_nothing_else(vade: Any, ingested: Any, folder: Path) -> None:
    extra = folder.parent / "extra.txt"
    extra.write_text("The password of the tower is heliotrope.", encoding="utf-8")
    document = vade.json("ingest", str(extra))["documents"][0]["id"]
    receipt = vade.json("documents", "delete", document)
    assert receipt["complete"] is True
    assert {s["store"]: s["deleted"] for s in receipt["stores"]}["postgres.chunks"] == 1
    assert vade.json("search", "heliotrope", "--mode", "keyword")["passages"] == []
    vade.fails("documents", "delete", document, status=3, code="document-not-found")


def test_documents_are_listed_shown_and_have_a_history(vade: Any, ingested: Any) -> None:
    listed = vade.json("documents", "list")["documents"]
    arena = next(d for d in listed if d["title"] == "Arena Branca")
    assert arena["metadata"] == {}  # the second ingestion gave none
    shown = vade.json("documents", "show", arena["id"])
    assert shown["access"] == ["tenant"]
    chunks = vade.json("documents", "chunks", arena["uri"])["chunks"]
    assert [c["ordinal"] for c in chunks] == [0, 1]
    history = vade.json("documents", "history", arena["id"])["revisions"]
    assert [r["current"] for r in history] == [True]


def test_status_and_doctor(vade: Any, ingested: Any) -> None:
    status = vade.json("status")
    assert status["database"]["kind"] == "embedded"
    assert status["waiting"] == 0
    checks = vade.json("doctor")
    assert checks["ok"] is True
    assert {c["name"] for c in checks["checks"]} == {
        "settings", "disk", "database", "readers", "embedding",
    }  # fmt: skip


def test_stop_and_go_on(vade: Any, ingested: Any) -> None:
    assert vade.json("stop") == {"stopped": True}
    assert vade.json("stop") == {"stopped": False}
    assert vade.json("documents", "list")["documents"]


def test_help_lists_the_commands(vade: Any) -> None:
    result = vade("--help")
    assert result.returncode == 0
    for command in ("demo", "ingest", "ask", "search", "documents", "status", "doctor", "stop"):
        assert command in result.stdout
    assert vade("search", "--help").returncode == 0


def test_bench_measures_each_part_and_leaves_nothing(vade: Any) -> None:
    before = set(Path(tempfile.gettempdir()).glob("vademecum-bench-*"))
    found = vade.json("bench", "--documents", "1", "--questions", "2")
    assert found["documents"] == 1
    assert found["chunks"] > 10
    assert found["chunks_a_second"] > 0
    assert found["tokens_a_second"] > 0
    assert found["unchanged_seconds"] > 0
    for name in ("embed", "search", "ask", "remember", "recall"):
        assert 0 < found[name]["p50_ms"] <= found[name]["p95_ms"]
    assert {"dense", "keyword", "confirm", "rerank"} <= set(found["stages"])
    assert set(Path(tempfile.gettempdir()).glob("vademecum-bench-*")) <= before
