"""What was spent today, this month and on each day, and how much of the budget is that?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from vademecum.model.serving.spending import Budget, Spent

DAYS = 31
_COLUMN, _GAP, _HEIGHT = 12, 4, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Tokens and money of some days; `part` is the share of the tenant's budget of these days,
    None where it has none."""

    name: str
    tokens: int
    cost: float
    part: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One day's tokens as a column of a chart, in pixels."""

    day: date
    tokens: int
    x: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Bills of today and of this month (UTC), and a column for each of the last 31 days; `most` is
    the tokens of the highest."""

    bills: tuple[Bill, ...]
    columns: tuple[Column, ...]
    most: int
    width: int = DAYS * (_COLUMN + _GAP)
    height: int = _HEIGHT
    column: int = _COLUMN


def since(today: date) -> date:
    """Return the first day that `costs` asks for."""
    return min(today.replace(day=1), today - timedelta(days=DAYS - 1))


def costs(spent: Mapping[date, Spent], budget: Budget, today: date) -> Costs:
    """Return what is shown of the spending since `since(today)`."""
    first = today.replace(day=1)
    month = [own for day, own in spent.items() if day >= first]
    days = [today - timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    tokens = [_tokens([spent[day]]) if day in spent else 0 for day in days]
    most = max(tokens)
    heights = [_HEIGHT * count / most if most else 0.0 for count in tokens]
    return Costs(
        bills=(
            _bill("today", [spent[today]] if today in spent else [], budget, 1),
            _bill("month", month, budget, today.day),
        ),
        columns=tuple(
            Column(
                day=day,
                tokens=count,
                x=place * (_COLUMN + _GAP),
                y=round(_HEIGHT - height, 1),
                height=round(height, 1),
            )
            for place, (day, count, height) in enumerate(zip(days, tokens, heights, strict=True))
        ),
        most=most,
    )


def _bill(name: str, spent: list[Spent], budget: Budget, days: int) -> Bill:
    tokens, cost = _tokens(spent), sum(own.cost for own in spent)
    parts = [
        used / (days * most)
        for used, most in ((tokens, budget.tokens), (cost, budget.cost))
        if most > 0
    ]
    return Bill(name=name, tokens=tokens, cost=cost, part=max(parts, default=None))


def _tokens(spent: list[Spent]) -> int:
    return sum(own.usage.prompt_tokens + own.usage.completion_tokens for own in spent)
