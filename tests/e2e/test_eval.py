"""Does `vade eval` measure a bookshop, stop at a gate, and say what a change did?"""

import json
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

BOOKSHOP = Path(__file__).parents[2] / "examples" / "bookshop"
GOLDEN = str(BOOKSHOP / "golden.toml")


@pytest.fixture(scope="module")
def shop(vade: Any) -> Any:
    """`vade` with the bookshop's documents in, and run once as things are."""
    done = vade.json("ingest", str(BOOKSHOP / "documents"), "-c", "bookshop")
    assert {one["status"] for one in done["documents"]} == {"ready"}
    return vade


@pytest.fixture(scope="module")
def before(shop: Any) -> dict[str, Any]:
    found: dict[str, Any] = shop.json("eval", "run", GOLDEN, "-c", "bookshop")
    return found


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first questions of each kind, which take seconds."""
    questions = tomllib.loads(Path(GOLDEN).read_text(encoding="utf-8"))["question"]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in questions:
        kinds.setdefault(one["kind"], []).append(one)
    chosen = [one for same in kinds.values() for one in same[:2]]
    path = tmp_path_factory.mktemp("golden") / "few.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in chosen), encoding="utf-8")
    return str(path)


def test_a_gate_that_holds_is_said_and_ends_well(
    shop: Any, before: dict[str, Any], few: str
) -> None:
    assert before["questions"] == 30
    assert [one["holds"] for one in before["gates"]] == [True, True]
    done = shop("eval", "run", few, "-c", "bookshop", "--gate", "recall@10/code>=0.5")
    assert done.returncode == 0, done.stderr
    assert "gate holds: recall@10/code>=0.5" in done.stdout


def test_a_gate_that_fails_ends_with_1_and_names_itself(shop: Any, few: str) -> None:
    done = shop("eval", "run", few, "-c", "bookshop", "--gate", "precision@10>=0.9")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "gate failed" in line]
    assert len(lines) == 1
    assert lines[0].startswith("gate failed: precision@10>=0.9, found 0.")
    found = shop.json(
        "eval", "run", few, "-c", "bookshop", "--gate", "precision@10>=0.9", failing=True
    )
    failed = found["gates"][-1]
    assert (failed["gate"], failed["holds"]) == ("precision@10>=0.9", False)


def test_a_change_is_compared_question_by_question(
    shop: Any, before: dict[str, Any], tmp_path: Path
) -> None:
    picture, samples = tmp_path / "run.svg", tmp_path / "ragas.jsonl"
    after = shop.json(
        "eval", "run", GOLDEN, "-c", "bookshop", "--set", "search.fusion=rrf",
        "--set", "models.reranker=", "--plot", str(picture), "--export-ragas", str(samples),
    )  # fmt: skip
    assert after["settings"] == {"search.fusion": "rrf", "models.reranker": ""}
    assert ET.parse(picture).getroot().tag.endswith("svg")
    told = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert len(told) == 30
    assert {"user_input", "retrieved_contexts", "response"} <= set(told[0])
    found = shop.json("eval", "compare", before["id"], after["id"])
    assert {one["paired"] for one in found["changes"] if one["metric"] == "mrr"} == {20}
    assert {"--set search.fusion", "fusion", "reranker", "settings"} <= set(found["versions"])
    moved = [abs(one["by"]) for one in found["questions"]]
    assert moved == sorted(moved, reverse=True)
    shown = shop("eval", "compare", before["id"], "latest")
    assert shown.returncode == 0
    assert "questions changed" in shown.stdout or "no question changed" in shown.stdout
    listed = shop.json("eval", "list")["evaluations"]
    assert listed[0]["id"] == after["id"]
    assert before["id"] in {one["id"] for one in listed}


def test_what_is_wrong_is_one_line(shop: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"id": "a", "question": "?", "kind": "x", "relevant": []}\n')
    line = shop.fails("eval", "run", str(wrong), status=2, code="usage")
    assert "wrong.jsonl line 1: kind is 'x'" in line
    shop.fails("eval", "run", str(tmp_path / "none"), status=3, code="source-not-found")
    shop.fails("eval", "run", GOLDEN, "--set", "chunking.size=9", status=2, code="usage")
    shop.fails("eval", "run", GOLDEN, "--gate", "mrr", status=2, code="usage")
    shop.fails("eval", "compare", "x", "y", status=2, code="usage")
    missing = "01890000-0000-7000-8000-000000000000"
    shop.fails("eval", "compare", missing, "latest", status=3, code="evaluation-not-found")
    line = shop.fails("eval", "generate", "--from", "corpus", status=2, code="setting-invalid")
    assert "language model" in line
