"""Do the charts and excerpts of the pages stand where the numbers say?"""

import pytest

from vademecum.model.chunk import Chunk
from vademecum.model.ids import ChunkId, new_uuid
from vademecum.server.web.chart import Stage, candidates_of, pairs, stages_of, waterfall
from vademecum.server.web.excerpt import around, outlined

# On the right there is room for two times of five figures.
_LEFT, _ROOM = 190, 900 - 190 - 110


def test_bars_of_a_waterfall_share_one_axis_of_time() -> None:
    chart = waterfall([Stage(name="a", began=0, took=25), Stage(name="b", began=25, took=75)])
    first, second = chart.bars
    assert (first.x, first.width) == (_LEFT, _ROOM / 4)
    assert (second.x, second.width) == (_LEFT + round(_ROOM / 4, 1), _ROOM * 3 / 4)
    assert (first.y, second.y, chart.height) == (0, 26, 52)
    assert waterfall([]).bars == ()


def test_the_paler_bar_is_the_slow_one() -> None:
    chart = pairs([("dense", 10.0, 40.0), ("write", 5.0, 100.0)])
    assert [(bar.width, bar.second) for bar in chart.bars] == [
        (_ROOM / 10, _ROOM * 4 / 10),
        (round(_ROOM / 20, 1), _ROOM),
    ]
    assert chart.bars[0].value == "10 / 40"


def test_stages_follow_one_another_as_they_ran() -> None:
    """Both legs begin with the search; what comes after waits for the slower one."""
    record = {
        "timings_ms": {"rewrite": 2.0, "retrieve": 60.0, "write": 30.0, "total": 92.0},
        "searches": [
            {"timings_ms": {"dense": 20.0, "keyword": 30.0, "confirm": 10.0, "total": 60.0}}
        ],
    }
    began = {stage.name: (stage.began, stage.took) for stage in stages_of(record)}
    assert began == {
        "rewrite": (0.0, 2.0),
        "dense": (2.0, 20.0),
        "keyword": (2.0, 30.0),
        "confirm": (32.0, 10.0),
        "write": (62.0, 30.0),
        "total": (0.0, 92.0),
    }
    alone = stages_of({"timings_ms": {"dense": 5.0, "keyword": 1.0, "rerank": 3.0}})
    assert [(stage.name, stage.began) for stage in alone] == [
        ("dense", 0.0),
        ("keyword", 0.0),
        ("rerank", 5.0),
    ]
    assert stages_of({"temporary": True}) == []


def _row(rank: int, **signals: float | None) -> dict[str, object]:
    return {
        "rank": rank,
        "chunk_id": str(rank),
        "document_id": "d",
        "uri": f"{rank}.md",
        "signals": {"dense": None, "keyword": None, "maxsim": None, "final": 0.0} | signals,
    }


def test_gauges_are_shares_of_the_best_and_moves_are_told() -> None:
    rows = candidates_of(
        {
            "candidates": [
                _row(1, dense=0.5, fused=0.2, final=2.0),
                _row(2, dense=-0.5, fused=0.9, final=1.0),
            ]
        }
    )
    assert [row.gauges["dense"] for row in rows] == [1.0, 0.0]
    assert [row.gauges["final"] for row in rows] == [1.0, 0.5]
    assert [row.gauges["keyword"] for row in rows] == [None, None]
    assert [row.moved for row in rows] == [1, -1]


def _chunk(ordinal: int, start: int, end: int, text: str) -> Chunk:
    return Chunk(
        id=ChunkId(new_uuid()), ordinal=ordinal, start=start, end=end, text=text[start:end],
        context="", tokens=1, heading_path=(), page_start=None, page_end=None, page_breaks=(),
        language="en",
    )  # fmt: skip


def test_every_letter_of_a_text_stands_in_one_stretch() -> None:
    text = "Header. One two. Two three. Tail."
    pieces = outlined(text, [_chunk(0, 8, 20, text), _chunk(1, 17, 27, text)])
    assert [(piece.ordinal, piece.text) for piece in pieces] == [
        (None, "Header. "),
        (0, "One two. Two"),
        (1, " three."),
        (None, " Tail."),
    ]
    assert "".join(piece.text for piece in pieces) == text


@pytest.mark.parametrize(("start", "end"), [(0, 3), (10, 13), (30_000, 30_010)])
def test_an_excerpt_marks_the_very_span(start: int, end: int) -> None:
    text = "abcdefghij" * 4_000
    excerpt = around(text, start, end)
    assert excerpt.marked == text[start:end]
    assert text.find(excerpt.before + excerpt.marked + excerpt.after) >= 0
    assert excerpt.cut_before == (start > 6_000)
    assert excerpt.cut_after
    assert len(excerpt.before) <= 6_000
