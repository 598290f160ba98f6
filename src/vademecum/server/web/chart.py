"""Where do the bars of a chart stand? Plain numbers, for SVG that the server draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 900
ROW = 26
_LEFT = 190
_RIGHT = 110
_ROOM = WIDTH - _LEFT - _RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar in pixels: at `x`, `y`, so wide; `second` is the width of a paler one behind it, 0
    where there is none. `value` is what is written at its end."""

    name: str
    x: float
    y: float
    width: float
    second: float
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Bars one under the other, and the picture's height in pixels."""

    bars: tuple[Bar, ...]
    height: int
    width: int = WIDTH
    left: int = _LEFT


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """When a stage began and how long it took, in milliseconds."""

    name: str
    began: float
    took: float


def waterfall(stages: Sequence[Stage]) -> Chart:
    """Return stages as bars on one axis of time."""
    end = max((stage.began + stage.took for stage in stages), default=0.0) or 1.0
    bars = tuple(
        Bar(
            name=stage.name,
            x=round(_LEFT + _ROOM * stage.began / end, 1),
            y=row * ROW,
            width=round(max(1.0, _ROOM * stage.took / end), 1),
            second=0,
            value=f"{stage.took:.1f}",
        )
        for row, stage in enumerate(stages)
    )
    return Chart(bars=bars, height=max(1, len(bars)) * ROW)


def pairs(rows: Sequence[tuple[str, float, float]]) -> Chart:
    """Return for each name a bar of its middle value before one of its slow value."""
    most = max((slow for _, _, slow in rows), default=0.0) or 1.0
    bars = tuple(
        Bar(
            name=name,
            x=_LEFT,
            y=row * ROW,
            width=round(max(1.0, _ROOM * middle / most), 1),
            second=round(max(1.0, _ROOM * slow / most), 1),
            value=f"{middle:.0f} / {slow:.0f}",
        )
        for row, (name, middle, slow) in enumerate(rows)
    )
    return Chart(bars=bars, height=max(1, len(bars)) * ROW)


def stages_of(record: Mapping[str, Any]) -> list[Stage]:
    """Return the stages of a trace, as one follows another: both legs of a search begin together,
    then candidates are confirmed and reranked; the searches of an answer begin together."""
    own = {name: float(ms) for name, ms in record.get("timings_ms", {}).items()}
    searches = record.get("searches")
    if searches is None:
        return _search("", own, 0.0)
    rewrite = own.get("rewrite", 0.0)
    stages = [Stage(name="rewrite", began=0.0, took=rewrite)] if "rewrite" in own else []
    for number, search in enumerate(searches, 1):
        name = f" {number}" if len(searches) > 1 else ""
        timings = {key: float(ms) for key, ms in search.get("timings_ms", {}).items()}
        stages += _search(name, timings, rewrite)
    if "write" in own:
        began = rewrite + own.get("retrieve", 0.0)
        stages.append(Stage(name="write", began=began, took=own["write"]))
    if "total" in own:
        stages.append(Stage(name="total", began=0.0, took=own["total"]))
    return stages


def _search(name: str, timings: Mapping[str, float], began: float) -> list[Stage]:
    legs = [leg for leg in ("dense", "keyword") if leg in timings]
    stages = [Stage(name=f"{leg}{name}", began=began, took=timings[leg]) for leg in legs]
    at = began + max((timings[leg] for leg in legs), default=0.0)
    for step, took in sorted(timings.items(), key=lambda item: item[0] != "signs"):
        if step not in (*legs, "total"):
            stages.append(Stage(name=f"{step}{name}", began=at, took=took))
            # Token states are read while candidates are confirmed.
            at += 0.0 if step == "signs" else took
    return stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row of the table of candidates: gauges lie in 0..1, None where a leg did not see it;
    `moved` is how many places reranking raised it."""

    rank: int
    uri: str
    document_id: str
    gauges: Mapping[str, float | None]
    values: Mapping[str, float | None]
    dense_rank: int | None
    keyword_rank: int | None
    moved: int


def candidates_of(search: Mapping[str, Any]) -> list[Candidate]:
    """Return the candidates of a search with each signal as a share of the largest one."""
    rows = search.get("candidates", ())
    names = ("dense", "keyword", "maxsim", "final")
    ranges = {name: _range([row["signals"].get(name) for row in rows]) for name in names}
    fused = sorted(rows, key=lambda row: -(row["signals"].get("fused") or 0.0))
    places = {row["chunk_id"]: place for place, row in enumerate(fused, 1)}
    return [
        Candidate(
            rank=int(row["rank"]),
            uri=str(row["uri"]),
            document_id=str(row["document_id"]),
            gauges={name: _share(row["signals"].get(name), ranges[name]) for name in names},
            values={name: row["signals"].get(name) for name in names},
            dense_rank=row["signals"].get("dense_rank"),
            keyword_rank=row["signals"].get("keyword_rank"),
            moved=places[row["chunk_id"]] - int(row["rank"]),
        )
        for row in rows
    ]


def _range(values: Sequence[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return min(0.0, *known, 0.0), max(known, default=0.0)


def _share(value: float | None, limits: tuple[float, float]) -> float | None:
    low, high = limits
    if value is None:
        return None
    return round((value - low) / (high - low), 3) if high > low else 0.0
