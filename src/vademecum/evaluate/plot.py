"""How does a run look? Small pictures in SVG, for a file and for the pages.

Shapes carry classes; a file brings its own colours, the pages have theirs. Sizes are in pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from vademecum.evaluate.report import Refusal
from vademecum.model.evaluation import Run, Summary

WIDTH = 760
_ROW = 26
_LEFT, _RIGHT = 170, 150
_TOP, _BOTTOM = 28, 44
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f24}.faint{fill:#555e68}"
    ".axis,.grid{stroke:#d3d7dc;fill:none}.bar{fill:#1a5a86}.whisker{stroke:#1b1f24;fill:none}"
    ".band{fill:#1a5a86;fill-opacity:.18;stroke:none}.line{stroke:#1a5a86;fill:none;stroke-width:2}"
    ".dot{fill:#1a5a86}.chosen{fill:#a3231b}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The inside of a picture, and how high it is."""

    shapes: str
    height: int

    def svg(self, label: str, classes: str = "chart") -> str:
        """Return the picture with its name for who does not see it."""
        return (
            f'<svg class={quoteattr(classes)} viewBox="0 0 {WIDTH} {self.height}" role="img"'
            f" aria-label={quoteattr(label)}>{self.shapes}</svg>"
        )


def intervals(summaries: Sequence[Summary], group: str = "") -> Figure:
    """Return each metric of a group as a bar from 0 to its mean, with its interval."""
    rows = [one for one in summaries if one.group == group and one.mean is not None]
    room = WIDTH - _LEFT - _RIGHT
    shapes: list[str] = []
    for at, one in enumerate(rows):
        assert one.mean is not None
        assert one.low is not None
        assert one.high is not None
        y = at * _ROW + 4
        shapes += [
            _text(_LEFT - 10, y + 14, one.metric, anchor="end"),
            _bar(y + 3, max(1.0, room * one.mean)),
            _path(
                "whisker",
                f"M{_LEFT + room * one.low:.1f} {y + 10}H{_LEFT + room * one.high:.1f}"
                f"m0 -5v10M{_LEFT + room * one.low:.1f} {y + 5}v10",
            ),
            _text(
                WIDTH - _RIGHT + 10,
                y + 14,
                f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}] n={one.measured}",
                faint=True,
            ),
        ]
    return Figure(shapes="".join(shapes), height=max(1, len(rows)) * _ROW + 8)


def curve(refusal: Refusal, across: str, up: str, chosen: str) -> Figure:
    """Return the refusal curve: to the right what is lost of the answerable, upwards what is
    refused of the unanswerable, each 0..1; `chosen` is written beside the product's point."""
    frame, at = _frame(240, across, up)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(p.lost, p.refused) for p in refusal.points))
    x, y = at(refusal.chosen.lost, refusal.chosen.refused)
    beside = f"{chosen}: {refusal.chosen.refused:.2f} / {refusal.chosen.lost:.2f}"
    left = x > WIDTH / 2
    shapes = (
        f"{frame}"
        f'<polyline class="line" points="{line}"/>'
        f'<circle class="chosen" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        + _text(
            x - 10 if left else x + 10,
            y + 18 if y < 60 else y - 8,
            beside,
            anchor="end" if left else "start",
        )
    )
    return Figure(shapes=shapes, height=240 + _TOP + _BOTTOM)


def over_time(runs: Sequence[Run], metric: str, group: str = "") -> Figure | None:
    """Return a metric of runs, oldest first, as a line with the band of its intervals; None where
    no run measured it."""
    held = [one for one in (_found(run, metric, group) for run in runs) if one is not None]
    if not held:
        return None
    frame, at = _frame(180, "", metric)
    step = 1 / max(1, len(held) - 1)
    xs = [0.5] if len(held) == 1 else [number * step for number in range(len(held))]
    upper = [at(x, one[2]) for x, one in zip(xs, held, strict=True)]
    lower = [at(x, one[1]) for x, one in zip(xs, held, strict=True)]
    means = [at(x, one[0]) for x, one in zip(xs, held, strict=True)]
    band = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*upper, *reversed(lower)))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in means)
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in means)
    alone = _path("whisker", f"M{upper[0][0]:.1f} {upper[0][1]:.1f}V{lower[0][1]:.1f}")
    shapes = (
        f"{frame}"
        + (alone if len(held) == 1 else f'<polygon class="band" points="{band}"/>')
        + f'<polyline class="line" points="{line}"/>{dots}'
    )
    return Figure(shapes=shapes, height=180 + _TOP + 16)


def standalone(figures: Mapping[str, Figure]) -> str:
    """Return one SVG document of several figures, each under its title."""
    y = 8
    shapes: list[str] = []
    for title, figure in figures.items():
        shapes.append(f'<text x="8" y="{y + 16}" font-weight="600">{escape(title)}</text>')
        shapes.append(f'<g transform="translate(0 {y + 28})">{figure.shapes}</g>')
        y += 28 + figure.height + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}"'
        f' height="{y}"><style>{_STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(shapes)}</svg>\n"
    )


def _found(run: Run, metric: str, group: str) -> tuple[float, float, float] | None:
    for one in run.summaries:
        if one.metric == metric and one.group == group:
            if one.mean is None or one.low is None or one.high is None:
                return None
            return one.mean, one.low, one.high
    return None


class _Scale:
    """Where a pair of shares (0..1) stands in a frame of a height."""

    def __init__(self, height: int) -> None:
        self._height = height

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        return 60 + (WIDTH - 90) * x, _TOP + self._height * (1 - y)


def _frame(height: int, across: str, up: str) -> tuple[str, _Scale]:
    """Return lines at quarters with their numbers, the names of both axes, and the scale."""
    at = _Scale(height)
    shapes: list[str] = []
    for quarter in range(5):
        share = quarter / 4
        left, y = at(0, share)
        right, _ = at(1, share)
        shapes.append(_path("grid", f"M{left:.1f} {y:.1f}H{right:.1f}"))
        shapes.append(_text(left - 8, y + 4, f"{share:g}", anchor="end", faint=True))
        if across:
            x, bottom = at(share, 0)
            shapes.append(_text(x, bottom + 18, f"{share:g}", anchor="middle", faint=True))
    if across:
        x, bottom = at(0.5, 0)
        shapes.append(_text(x, bottom + 36, across, anchor="middle"))
    if up:
        x, top = at(0, 1)
        shapes.append(_text(x - 20, top - 12, up))
    return "".join(shapes), at


def _bar(y: float, width: float) -> str:
    place = f'x="{_LEFT}" y="{y}" width="{width:.1f}"'
    return f'<rect class="bar" {place} height="14" rx="2"/>'


def _path(name: str, steps: str) -> str:
    return f'<path class="{name}" d="{steps}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", faint: bool = False) -> str:
    tone = ' class="faint"' if faint else ""
    return f'<text{tone} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
