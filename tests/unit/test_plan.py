"""Is the size of an index estimated as the table of VALUES has it, and recall counted rightly?"""

import json
import sys
from typing import Any

import pytest

from vademecum.cli import plan as command
from vademecum.cli.main import run
from vademecum.cli.options import COMMON, Common
from vademecum.evaluate.plan import (
    Size,
    bytes_a_chunk,
    found_share,
    graph_gigabytes,
    price,
    seconds,
)
from vademecum.planning import Measured


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    for name in Common.__slots__:
        monkeypatch.setattr(COMMON, name, getattr(Common(), name))


def vade(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    return int(left.value.code or 0)


# VALUES.md, "Index size estimate": gigabytes with one decimal, of (dimension, bytes a number).
COLUMNS = [(384, 4), (1024, 4), (1024, 2), (3072, 4)]
TABLE = {
    100_000: (0.2, 0.4, 0.2, 1.3),
    1_000_000: (1.8, 4.4, 2.3, 12.5),
    10_000_000: (17.9, 43.5, 23.0, 125.4),
    100_000_000: (179.2, 435.2, 230.4, 1254.4),
}


@pytest.mark.parametrize("chunks", TABLE)
def test_the_estimate_is_that_of_the_table(chunks: int) -> None:
    sizes = [Size(chunks=chunks, dimension=d, number_bytes=b) for d, b in COLUMNS]
    assert tuple(round(graph_gigabytes(size), 1) for size in sizes) == TABLE[chunks]


def test_the_estimate_is_exact() -> None:
    # (1,000,000 * 384 * 4 + 1,000,000 * 2 * 16 * 8) / 1e9
    size = Size(chunks=1_000_000, dimension=384, number_bytes=4)
    assert graph_gigabytes(size) == pytest.approx(1.792, abs=1e-12)


def test_a_token_keeps_a_bit_a_dimension_and_a_vector_two_bytes_a_number() -> None:
    few = bytes_a_chunk(Size(chunks=10, dimension=384, tokens=100), graph=False)
    more = bytes_a_chunk(Size(chunks=10, dimension=1024, tokens=200), graph=False)
    assert more.vector - few.vector == 2 * (1024 - 384)
    # 48 bytes a token, and what the database takes to cut long values up: never less.
    assert 100 * 48 <= more.states - few.states <= 100 * 48 * 1.25
    none = bytes_a_chunk(Size(chunks=10, dimension=384, token_dimension=0), graph=False)
    assert none.states == 0
    assert few.graph == 0
    assert few.total == few.text + few.terms + few.vector + few.states


def test_what_a_chunk_takes_is_what_was_measured() -> None:
    """The table "What a chunk takes" of docs/explanation/performance.md, to 3 %."""
    size = Size(
        chunks=10_000, dimension=384, tokens=81, letters_a_token=592 / 81, terms_a_token=61 / 81
    )
    measured = {"text": 1629, "terms": 2821, "vector": 997, "states": 4555}
    told = bytes_a_chunk(size, graph=False)
    assert {name: getattr(told, name) for name in measured} == pytest.approx(measured, rel=0.03)
    # PERFORMANCE.md, G9: at most 20 KB for a chunk of 200 tokens, its token states included.
    assert bytes_a_chunk(Size(chunks=10_000, dimension=384), graph=False).total <= 20_000


def test_a_graph_holds_the_vectors_once_more() -> None:
    size = Size(chunks=100_000, dimension=384)
    without, whole = bytes_a_chunk(size, graph=False), bytes_a_chunk(size, graph=True)
    assert whole.graph >= 2 * 384
    assert whole.total - without.total == whole.graph
    assert seconds(size, graph=False).graph == 0 < seconds(size, graph=True).graph


def test_what_embedding_takes_and_costs() -> None:
    size = Size(chunks=100_000, dimension=384, tokens=200)
    # 0.36 ms a token on two cores (docs/explanation/performance.md): 20,000,000 of them.
    assert seconds(size, graph=True).embed == pytest.approx(7_200)
    assert price(size, 0.02) == pytest.approx(0.40)
    assert price(size, 0.0) == 0.0


@pytest.mark.parametrize("wrong", ["chunks", "dimension", "number_bytes", "tokens"])
def test_no_size_below_one(wrong: str) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        Size(**{"chunks": 1, "dimension": 1, "number_bytes": 1, "tokens": 1, wrong: 0})


@pytest.mark.parametrize(
    ("scores", "exact", "k", "share"),
    [
        ([0.9, 0.8, 0.7], [0.9, 0.8, 0.7], 3, 1.0),
        ([0.9, 0.7, 0.6], [0.9, 0.8, 0.7], 3, 2 / 3),
        ([0.9, 0.7, 0.6], [0.9, 0.8, 0.7], 2, 1 / 2),
        ([0.9], [0.9, 0.8, 0.7, 0.6], 4, 1 / 4),
        ([], [0.9], 1, 0.0),
        # Equally near: whichever of the two stands there is as good.
        ([0.9, 0.8], [0.9, 0.8, 0.8], 2, 1.0),
        # Fewer than k are there at all.
        ([0.9, 0.8], [0.9, 0.8], 10, 1.0),
        ([], [], 10, 1.0),
    ],
)
def test_recall_by_how_near_things_are(
    scores: list[float], exact: list[float], k: int, share: float
) -> None:
    assert found_share(scores, exact, k) == pytest.approx(share)


def test_recall_at_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        found_share([], [], 0)


def test_a_plan_as_json(capsys: Any) -> None:
    assert vade("plan", "--chunks", "1000000", "--dim", "1024", "--price", "0.1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["measured"] is None
    plan = told["plan"]
    assert (plan["chunks"], plan["dim"], plan["bytes"], plan["tokens"]) == (10**6, 1024, 2, 200)
    assert plan["index_gb"] == pytest.approx(2.304)
    assert plan["graph"] is True
    assert plan["price"] == pytest.approx(20.0)
    parts = plan["bytes_a_chunk"]
    assert parts.pop("total") == pytest.approx(sum(parts.values()))
    assert plan["stored_gb"] == pytest.approx(sum(parts.values()) / 1000)
    assert set(plan["seconds"]) == {"embed", "store", "graph"}


def test_a_plan_for_a_person(capsys: Any) -> None:
    assert vade("plan", "--chunks", "100000", "--dim", "384", "--bytes", "4") == 0
    told = capsys.readouterr().out
    assert "100,000 chunks of 200 tokens, 384 numbers of 4 bytes" in told
    assert "by the usual formula  0.2 GB" in told
    assert "embedding with the local model on two cores  2.0 h" in told
    assert "provider" not in told


@pytest.mark.parametrize(
    "arguments", [[], ["--chunks", "10"], ["--dim", "384"], ["--chunks", "10", "--measure"]]
)
def test_half_a_plan_is_refused(arguments: list[str], capsys: Any) -> None:
    assert vade("plan", *arguments) == 2
    assert "needs both --chunks and --dim" in capsys.readouterr().err


def test_what_was_measured_says_where_its_queries_came_from(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    async def measured(k: int, queries: int) -> Measured:
        return Measured(
            chunks=60_000, k=k, queries=queries, origin="chunks", recall=0.985, lowest=0.9,
            plans={"graph": 6, "exact": 1}, p50_ms=4.2, exact_p50_ms=31.0,
        )  # fmt: skip

    monkeypatch.setattr(command, "_measured", measured)
    assert vade("plan", "--measure", "--k", "5", "--queries", "7") == 0
    told = capsys.readouterr().out
    assert "60,000 chunks here, 7 queries: texts of chunks" in told
    for part in ("recall@5", "0.985", "0.900", "4.2 ms", "31.0 ms", "graph 6, exact 1"):
        assert part in told
    assert vade("plan", "--measure", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "plan": None,
        "measured": {
            "chunks": 60_000, "k": 10, "queries": 100, "origin": "chunks", "recall": 0.985,
            "lowest": 0.9, "plans": {"graph": 6, "exact": 1}, "p50_ms": 4.2, "exact_p50_ms": 31.0,
        },
    }  # fmt: skip
