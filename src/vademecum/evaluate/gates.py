"""Is a run good enough? Each gate is a metric and the least, or the most, that it may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from vademecum.errors import UsageError
from vademecum.evaluate.score import FALLING, METRICS
from vademecum.model.evaluation import Summary

_GATE = regex.compile(r"\s*(?P<metric>[^<>=/\s]+)(?:/(?P<group>[^<>=\s]+))?\s*(?P<sign>[<>]=)\s*"
                      r"(?P<value>[0-9.]+)\s*")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A bound on a metric over all questions, or over those of one kind or language (`group`)."""

    metric: str
    group: str
    least: bool
    value: float

    def __str__(self) -> str:
        name = f"{self.metric}/{self.group}" if self.group else self.metric
        return f"{name}{'>=' if self.least else '<='}{self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A gate and what was found; None was not measured, and then the gate does not hold."""

    gate: Gate
    found: float | None

    @property
    def holds(self) -> bool:
        if self.found is None:
            return False
        if self.gate.least:
            return self.found >= self.gate.value
        return self.found <= self.gate.value


def read_gate(text: str) -> Gate:
    """Return the gate that `name>=value` or `name/group>=value` means. Raises: UsageError."""
    match = _GATE.fullmatch(text)
    if match is None:
        hint = "write it like recall@5>=0.9 or mrr/code>=0.8"
        raise UsageError(f"{text!r} is no gate", hint=hint)
    return _gate(match["metric"], match["group"] or "", match["sign"] == ">=", match["value"])


def gates_of(bounds: Mapping[str, float]) -> tuple[Gate, ...]:
    """Return the gates of a mapping from `name` or `name/group` to the least that it may be, and
    of what is better the less it is, the most. Raises: UsageError."""
    found = []
    for name, value in bounds.items():
        metric, _, group = name.partition("/")
        found.append(_gate(metric, group, metric not in FALLING, str(value)))
    return tuple(found)


def check(gates: Sequence[Gate], summaries: Sequence[Summary]) -> tuple[Checked, ...]:
    """Return what each gate finds."""
    means = {(one.group.partition(":")[2], one.metric): one.mean for one in summaries}
    return tuple(Checked(gate=gate, found=means.get((gate.group, gate.metric))) for gate in gates)


def _gate(metric: str, group: str, least: bool, value: str) -> Gate:
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}", hint=f"use one of {', '.join(METRICS)}")
    try:
        number = float(value)
    except ValueError as error:
        raise UsageError(f"{value!r} is no number", hint="a gate's value lies in 0..1") from error
    if not 0 <= number <= 1:
        raise UsageError(f"{metric} lies in 0..1, not {value}", hint="give the gate such a value")
    return Gate(metric=metric, group=group, least=least, value=number)
