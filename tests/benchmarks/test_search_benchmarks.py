"""Do the search benchmarks ask every store the same, and count what they say they count?"""

from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

CHUNKS = 10_000


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def corpus() -> Any:
    return import_module("search_corpus")


@pytest.fixture
def peers() -> Any:
    return import_module("search_peers")


def test_each_chunk_is_in_one_document_and_a_document_has_one_tenant(corpus: Any) -> None:
    documents = corpus.documents_of(CHUNKS)
    assert sorted(chunk for own in documents for chunk in own) == list(range(CHUNKS))
    assert max(map(len, documents)) == 15
    assert all(len({corpus.tenant_of(chunk) for chunk in own}) == 1 for own in documents)


def test_the_tenants_that_are_asked_for_hold_what_the_filters_say(corpus: Any) -> None:
    held = Counter(map(corpus.tenant_of, range(CHUNKS)))
    assert {held[corpus.large_tenant(n)] for n in range(300)} == {CHUNKS // 100}
    assert {held[corpus.small_tenant(n)] for n in range(300)} == {CHUNKS // 1000}
    assert len({corpus.small_tenant(n) for n in range(300)}) == 50
    for n in range(300):
        assert held[corpus.large_tenant(n)] == len(
            [c for c in range(CHUNKS) if c % 100 == int(corpus.large_tenant(n)[1:])]
        )  # which the harness's own parts take for granted


def test_the_labels_share_what_they_say(corpus: Any) -> None:
    for label, share in corpus.LABELS.items():
        assert corpus.visible_to(label, CHUNKS).mean() == pytest.approx(share)


def test_questions_are_kept_whole(corpus: Any, tmp_path: Path) -> None:
    asked = corpus.Questions(
        texts=["ação um", "two"], vectors=np.eye(2, 4, dtype=np.float32), targets=[3, 9], chunks=10
    )
    asked.save(tmp_path / "q.npz")
    again = corpus.Questions.load(tmp_path / "q.npz")
    assert (again.texts, again.targets, again.chunks) == (["ação um", "two"], [3, 9], 10)
    assert np.array_equal(again.vectors, asked.vectors)


async def test_looked_up_states_are_a_row_a_token_and_equal_for_equal_tokens() -> None:
    lookup = import_module("bench_support").Lookup({"ba  bo ba": np.ones(8, np.float32)})
    [states] = await lookup.encode(["ba  bo ba"], "passage")
    assert states.states.shape == (3, 8)
    assert np.array_equal(states.states[0], states.states[2])
    assert not np.array_equal(states.states[0], states.states[1])
    assert lookup.embedded == 1
    assert np.array_equal(states.vector, np.ones(8))


class Slow:
    """A store whose every search takes processor time as told."""

    def __init__(self) -> None:
        self.spent = 0.0

    def ask(self, question: int) -> list[int]:
        self.spent += 0.002
        return [question]

    def cpu_seconds(self) -> float:
        return self.spent


def test_processor_time_is_that_of_one_search_and_the_limit_ends_it(peers: Any) -> None:
    store = Slow()
    figures, found = peers.timed(store, store.ask, range(50), 60.0)
    assert figures["cpu"] == pytest.approx(2.0)
    assert found == [[n] for n in range(50)]
    figures, found = peers.timed(store, store.ask, range(50), 0.0)
    assert found == [[0]]
    assert figures["p50"] == figures["p95"]


def test_leaks_and_missing_rows_are_counted(peers: Any, corpus: Any) -> None:
    def filtered(question: int, tenant: str) -> list[int]:
        own = [c for c in range(CHUNKS) if corpus.tenant_of(c) == tenant][:20]
        return own[:-1] if question == 1 else [*own[:-1], int(tenant[1:]) + 1]

    store = SimpleNamespace(
        hybrid=lambda _: [0] * 20, filtered=filtered, cpu_seconds=lambda: 0.0
    )  # fmt: skip
    row = peers.one_round(store, range(3), CHUNKS, 60.0)
    assert (row["rows"], row["1%_leaks"], row["1%_short"]) == (20, 2, 1)
    # A thousandth of 10,000 is ten: none is missing where all ten are there.
    assert (row["0.1%_leaks"], row["0.1%_short"]) == (2, 1)


def test_ratios_are_to_the_rows_that_they_name(peers: Any) -> None:
    rows = [
        {"row": "ours", "hybrid_p50": 8.0, "hybrid_cpu": 6.0, "1%_p50": 4.0, "0.1%_p50": 2.0},
        {"row": "parts", "hybrid_p50": 1.0, "hybrid_cpu": 2.0, "1%_p50": 1.0, "0.1%_p50": 1.0},
        {"row": "lancedb_ann", "hybrid_p50": 16.0, "hybrid_cpu": 12.0, "1%_p50": 1.0,
         "0.1%_p50": 1.0},
    ]  # fmt: skip
    assert peers.ratios(rows)[0] == {
        "row": "ours", "hybrid_p50/parts": 8.0, "hybrid_cpu/parts": 3.0,
        "hybrid_p50/lancedb_ann": 0.5, "hybrid_cpu/lancedb_ann": 0.5, "1%/unfiltered": 0.5,
        "0.1%/unfiltered": 0.25,
    }  # fmt: skip
