"""What changed between two runs, and is it more than noise?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vademecum.evaluate.bootstrap import interval
from vademecum.evaluate.score import FALLING, METRICS
from vademecum.model.evaluation import Result, Run
from vademecum.model.ids import TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One metric over the questions of which both runs measured it: `difference` is the mean of
    after - before a question, with the ends of its 95 % interval."""

    metric: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    paired: int

    @property
    def more_than_noise(self) -> bool:
        """Whether the interval leaves out 0: with other questions of the kind, it would have gone
        the same way."""
        return self.low > 0 or self.high < 0

    @property
    def better(self) -> bool | None:
        """Whether the change is for the better; None where there is none."""
        if self.difference == 0:
            return None
        return (self.difference < 0) == (self.metric in FALLING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One question: what each metric that changed was and is, the metric that changed most, and
    the traces of both."""

    question: str
    kind: str
    most: str
    by: float
    before: Mapping[str, float]
    after: Mapping[str, float]
    trace_before: TraceId
    trace_after: TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`versions` maps what is not the same (settings of the run too) to its two values; `moved`
    begins with the question that changed most; `only_*` are questions that one run alone has."""

    changes: tuple[Change, ...]
    moved: tuple[Moved, ...]
    versions: Mapping[str, tuple[str, str]]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


def compare(
    before: tuple[Run, Sequence[Result]], after: tuple[Run, Sequence[Result]]
) -> Comparison:
    """Compare two runs on the questions that both have.

    The bootstrap is paired: whole questions are drawn, and the difference is taken on each, so
    that what makes a question hard for both does not count as noise.
    """
    old = {one.question: one for one in before[1]}
    new = {one.question: one for one in after[1]}
    both = [name for name in old if name in new]
    changes = (_change(metric, [(old[n], new[n]) for n in both]) for metric in METRICS)
    moved = [one for name in both if (one := _moved(old[name], new[name])) is not None]
    return Comparison(
        changes=tuple(change for change in changes if change is not None),
        moved=tuple(sorted(moved, key=lambda one: (-abs(one.by), one.question))),
        versions=_differing(before[0], after[0]),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
    )


def _change(metric: str, pairs: Sequence[tuple[Result, Result]]) -> Change | None:
    values = [
        (one.scores[metric], other.scores[metric])
        for one, other in pairs
        if metric in one.scores and metric in other.scores
    ]
    if not values:
        return None
    differences = [after - before for before, after in values]
    low, high = interval(differences)
    return Change(
        metric=metric,
        before=sum(before for before, _ in values) / len(values),
        after=sum(after for _, after in values) / len(values),
        difference=sum(differences) / len(values),
        low=low,
        high=high,
        paired=len(values),
    )


def _moved(before: Result, after: Result) -> Moved | None:
    changed = {
        metric: after.scores[metric] - before.scores[metric]
        for metric in METRICS
        if metric in before.scores
        and metric in after.scores
        and before.scores[metric] != after.scores[metric]
    }
    if not changed:
        return None
    most = max(changed, key=lambda metric: abs(changed[metric]))
    return Moved(
        question=before.question,
        kind=before.kind,
        most=most,
        by=changed[most],
        before={metric: before.scores[metric] for metric in changed},
        after={metric: after.scores[metric] for metric in changed},
        trace_before=before.trace_id,
        trace_after=after.trace_id,
    )


def _differing(before: Run, after: Run) -> dict[str, tuple[str, str]]:
    old, new = _told(before), _told(after)
    return {
        name: (old.get(name, ""), new.get(name, ""))
        for name in sorted({*old, *new})
        if old.get(name, "") != new.get(name, "")
    }


def _told(run: Run) -> dict[str, str]:
    own = {f"--set {key}": str(value) for key, value in run.settings.items()}
    return dict(run.versions) | own | {"golden set": f"{run.name} {run.sha256[:12]}"}
