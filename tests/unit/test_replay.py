"""Which reason is named first, where several could be?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from vademecum.evaluate.replay import Now, compared_answer, compared_search, versions_that_differ
from vademecum.model.ids import ChunkId, DocumentId, new_uuid
from vademecum.model.replay import Fate, Version, Why

ASKED = datetime(2026, 3, 1, tzinfo=UTC)
ONE, TWO, THREE = (ChunkId(new_uuid()) for _ in range(3))
DOCUMENT = DocumentId(new_uuid())


def record(*found: ChunkId, confidence: float = 0.5) -> dict[str, Any]:
    return {
        "query": "q",
        "abstain": {"confidence": confidence},
        "candidates": [
            {"rank": rank, "chunk_id": str(item), "uri": str(item)}
            for rank, item in enumerate(found, start=1)
        ],
    }


def fate(*, in_force: bool = True, revision: int = 1, current: int | None = 1) -> Fate:
    return Fate(
        document_id=DOCUMENT,
        revision=revision,
        current=current,
        in_force=in_force,
        published_at=ASKED - timedelta(days=1),
    )


def now(
    fates: dict[ChunkId, Fate],
    *versions: Version,
    seen: frozenset[ChunkId] = frozenset({ONE, TWO, THREE}),
    changed: bool = True,
) -> Now:
    return Now(fates=fates, seen=seen, versions=versions, asked_at=ASKED, documents_changed=changed)


def test_equal_orders_move_nothing() -> None:
    same = compared_search(record(ONE, TWO), record(ONE, TWO, confidence=0.6), now({}))
    assert (same.moved, same.overlap) == ((), 1.0)
    assert (same.confidence_was, same.confidence) == (0.5, 0.6)
    assert compared_search(record(), record(), now({})).overlap == 1.0


@pytest.mark.parametrize(
    ("moment", "why"),
    [
        (now({}), "deleted"),
        (now({ONE: fate(in_force=False, current=2)}), "changed"),
        (now({ONE: fate(in_force=False)}), "lapsed"),
        (now({ONE: fate(in_force=False, current=None)}), "lapsed"),
        (now({ONE: fate()}, seen=frozenset({TWO})), "permission"),
        (now({ONE: fate()}, Version(name="search.fusion", was="a", now="b")), "setting"),
        (now({ONE: fate()}, Version(name="space", was="a", now="b")), "model"),
        (now({ONE: fate()}, Version(name="generation", was=1, now=2)), "index"),
        (now({ONE: fate()}, Version(name="release", was="1", now="2")), "release"),
        (now({ONE: fate()}), "corpus"),
        (now({ONE: fate()}, changed=False), "unexplained"),
    ],
)
def test_why_one_is_gone(moment: Now, why: Why) -> None:
    (gone,) = compared_search(record(TWO, ONE), record(TWO), moment).moved
    assert (gone.chunk_id, gone.was, gone.now, gone.why) == (ONE, 2, None, why)


def test_what_happened_to_it_comes_before_what_else_differs() -> None:
    setting = Version(name="search.fusion", was="a", now="b")
    (gone,) = compared_search(record(ONE), record(), now({}, setting)).moved
    assert gone.why == "deleted"


def test_two_that_changed_places() -> None:
    setting = Version(name="search.dense_weight", was=0.5, now=0.1)
    moved = compared_search(
        record(ONE, TWO, THREE), record(TWO, ONE, THREE), now({ONE: fate(), TWO: fate()}, setting)
    ).moved
    assert [(m.chunk_id, m.was, m.now, m.why) for m in moved] == [
        (ONE, 1, 2, "setting"),
        (TWO, 2, 1, "setting"),
    ]
    assert moved[0].detail == "search.dense_weight 0.5 is now 0.1"


def test_versions_that_only_one_side_knows_differ() -> None:
    assert versions_that_differ({"a": 1, "b": 2}, {"b": 2, "c": 3}) == (
        Version(name="a", was=1, now=None),
        Version(name="c", was=None, now=3),
    )


def test_an_answer_is_the_same_whatever_order_it_cites_in() -> None:
    def answer(*cited: ChunkId, abstained: bool = False) -> dict[str, Any]:
        citations = [{"chunk_id": str(item)} for item in cited]
        return {"abstained": abstained, "mode": "extractive", "citations": citations}

    assert compared_answer(answer(ONE, TWO, ONE), answer(TWO, ONE)).same
    assert compared_answer(answer(ONE, TWO, ONE), answer(TWO, ONE)).cited_was == (ONE, TWO)
    assert not compared_answer(answer(ONE), answer(ONE, TWO)).same
    assert not compared_answer(answer(), answer(abstained=True)).same
