"""Are intervals, curves, gates and comparisons those that a pencil gives?"""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from evaluations import result, run

from vademecum.errors import UsageError
from vademecum.evaluate import plot
from vademecum.evaluate.bootstrap import interval
from vademecum.evaluate.compare import compare
from vademecum.evaluate.gates import check, gates_of, read_gate
from vademecum.evaluate.report import refusal, summarise

# ---- intervals


def test_equal_values_have_no_width() -> None:
    assert interval([0.7] * 30) == (0.7, 0.7)
    assert interval([0.25]) == (0.25, 0.25)


def test_two_values_reach_from_one_to_the_other() -> None:
    """Of two draws of 0 and 1 a quarter are 0 and a quarter 1: more than 2.5 % at each end."""
    assert interval([0.0, 1.0]) == (0.0, 1.0)


def test_a_coin_of_a_hundred_throws_has_the_binomial_s_interval() -> None:
    """1.96 * sqrt(.25 / 100) = .098 to each side of .5; of 1,000 draws within .015."""
    low, high = interval([0.0, 1.0] * 50)
    assert low == pytest.approx(0.402, abs=0.015)
    assert high == pytest.approx(0.598, abs=0.015)


def test_the_same_values_give_the_same_interval_and_the_seed_is_ours() -> None:
    values = [0.0, 0.3, 1.0, 0.9, 0.2]
    np.random.default_rng(1)
    assert interval(values) == interval(values)


@pytest.mark.parametrize("values", [[], [float("nan")], [0.5, float("inf")]])
def test_what_has_no_mean_has_no_interval(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite number"):
        interval(values)


# ---- the report


def test_a_summary_is_made_of_all_and_of_each_kind_and_language() -> None:
    summaries = summarise(
        [
            result("a", scores={"mrr": 1.0}),
            result("b", scores={"mrr": 0.5}, kind="code"),
            result("c", scores={"mrr": 0.0}, kind="code", language="ne"),
        ]
    )
    means = {(one.group, one.metric): (one.mean, one.measured) for one in summaries}
    assert means == {
        ("", "mrr"): (0.5, 3),
        ("kind:code", "mrr"): (0.25, 2),
        ("kind:concept", "mrr"): (1.0, 1),
        ("language:en", "mrr"): (0.75, 2),
        ("language:ne", "mrr"): (0.0, 1),
    }


def test_the_refusal_curve_by_hand() -> None:
    """Answerable .9, .6, .2; without an answer .5, .1. Below .5 (the product's point): of those
    without an answer .1 is refused (1/2), of those with one .2 is lost (1/3). Right pairs: .9 and
    .6 over both, .2 over .1: 5 of 6."""
    results = [
        *(result(f"a{c}", confidence=c) for c in (0.9, 0.6, 0.2)),
        *(result(f"u{c}", confidence=c, answerable=False) for c in (0.5, 0.1)),
    ]
    found = refusal(results, 0.5)
    assert found is not None
    assert (found.chosen.refused, found.chosen.lost) == (0.5, pytest.approx(1 / 3))
    assert found.auc == pytest.approx(5 / 6)
    assert [(p.refused, round(p.lost, 3)) for p in found.points] == [
        (0.0, 0.0), (0.5, 0.0), (0.5, 0.333), (1.0, 0.333), (1.0, 0.667), (1.0, 1.0),
    ]  # fmt: skip
    assert refusal(results[:3], 0.5) is None
    tied = [result("a", confidence=0.4), result("b", confidence=0.4, answerable=False)]
    assert refusal(tied, 0.5).auc == 0.5  # type: ignore[union-attr]


# ---- gates


def test_a_gate_holds_at_its_value_and_fails_below() -> None:
    summaries = summarise(
        [
            result("a", scores={"mrr": 1.0, "wrongly_refused": 0.0}),
            result("b", scores={"mrr": 0.5, "wrongly_refused": 1.0}, kind="code"),
        ]
    )
    gates = [*map(read_gate, ("mrr>=0.75", "mrr>=0.76", "mrr/code >= 0.5", "refused>=0.1"))]
    checked = check(gates, summaries)
    assert [(one.holds, one.found) for one in checked] == [
        (True, 0.75), (False, 0.75), (True, 0.5), (False, None),
    ]  # fmt: skip
    # Of what is better the less it is, a bound is the most.
    least = check(gates_of({"wrongly_refused": 0.4, "mrr/concept": 1.0}), summaries)
    assert [(str(one.gate), one.holds) for one in least] == [
        ("wrongly_refused<=0.4", False), ("mrr/concept>=1", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mrr", "is no gate"),
        ("mrr=0.5", "is no gate"),
        ("mrr>0.5", "is no gate"),
        ("bleu>=0.5", "there is no metric 'bleu'"),
        ("mrr>=1.5", r"lies in 0\.\.1"),
        ("mrr>=1.2.3", "is no number"),
    ],
)
def test_what_is_no_gate_is_said(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_gate(text)


# ---- comparison


def test_a_change_of_every_question_is_more_than_noise_and_one_of_some_is_not() -> None:
    names = [f"q{at}" for at in range(12)]
    before = [result(name, scores={"mrr": 0.25, "recall@5": 0.5}) for name in names]
    after = [
        result(name, scores={"mrr": 0.5, "recall@5": 1.0 if at == 0 else 0.0 if at == 1 else 0.5})
        for at, name in enumerate(names)
    ]
    found = compare((run(), before), (run(), after))
    changes = {change.metric: change for change in found.changes}
    steady = changes["mrr"]
    assert (steady.difference, steady.low, steady.high, steady.paired) == (0.25, 0.25, 0.25, 12)
    assert steady.more_than_noise
    assert steady.better is True
    mixed = changes["recall@5"]
    assert mixed.difference == 0
    assert not mixed.more_than_noise
    assert mixed.better is None
    # Both moved .5 in recall, which is more than .25 in mrr.
    assert [(one.question, one.most, one.by) for one in found.moved[:2]] == [
        ("q0", "recall@5", 0.5), ("q1", "recall@5", -0.5),
    ]  # fmt: skip
    assert len(found.moved) == 12


def test_more_wrong_refusals_are_worse() -> None:
    before = [result(f"q{at}", scores={"wrongly_refused": 0.0}) for at in range(9)]
    after = [result(f"q{at}", scores={"wrongly_refused": 1.0}) for at in range(9)]
    [change] = compare((run(), before), (run(), after)).changes
    assert change.more_than_noise
    assert change.better is False


def test_only_what_both_measured_is_compared_and_the_rest_is_named() -> None:
    before = [result("a", scores={"mrr": 1.0, "judged": 1.0}), result("old", scores={"mrr": 0.0})]
    after = [
        result("a", scores={"mrr": 0.5}, apart={"judged": "unreadable verdict"}),
        result("new", scores={"mrr": 1.0}),
    ]
    found = compare(
        (run(versions={"code": "1", "fusion": "rrf"}), before),
        (run(versions={"code": "1", "fusion": "upper_bound"}, settings={"search.k": 3}), after),
    )
    assert [(change.metric, change.before, change.after) for change in found.changes] == [
        ("mrr", 1.0, 0.5)
    ]
    assert (found.only_before, found.only_after) == (("old",), ("new",))
    assert found.versions == {"fusion": ("rrf", "upper_bound"), "--set search.k": ("", "3")}


# ---- pictures


def test_a_picture_is_whole_and_holds_no_markup_of_a_name() -> None:
    summaries = summarise([result("a", scores={"mrr": 0.5}), result("b", scores={"mrr": 1.0})])
    curve = refusal([result("a"), result("b", answerable=False, confidence=0.1)], 0.5)
    assert curve is not None
    figures = {
        "<script>x</script>": plot.intervals(summaries),
        "curve": plot.curve(curve, "lost", "refused", "<b>"),
    }
    text = plot.standalone(figures)
    root = ET.fromstring(text)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names == {"svg", "style", "rect", "text", "g", "path", "polyline", "circle"}
    told = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "<script>x</script>" in told
    assert "0.75 [0.50, 1.00] n=2" in told
    bars = [e for e in root.iter() if e.get("class") == "bar"]
    assert [float(bar.get("width", 0)) for bar in bars] == [pytest.approx(0.75 * 440)]


def test_a_line_over_time_has_a_point_a_run_and_its_band() -> None:
    runs = [
        run(
            summaries=summarise(
                [result("a", scores={"mrr": low}), result("b", scores={"mrr": 1.0})]
            )
        )
        for low in (0.0, 0.5, 1.0)
    ]
    figure = plot.over_time(runs, "mrr")
    assert figure is not None
    assert figure.shapes.count("<circle") == 3
    assert 'class="band"' in figure.shapes
    assert plot.over_time(runs, "judged") is None
    alone = plot.over_time(runs[:1], "mrr")
    assert alone is not None
    assert 'class="band"' not in alone.shapes
