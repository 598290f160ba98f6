"""What is told of what was spent?"""

from datetime import date

import pytest

from vademecum.model.answer import Usage
from vademecum.model.serving.spending import Budget, Spent
from vademecum.server.web.costs import costs, since

TODAY = date(2026, 3, 10)
NO_BUDGET = Budget(tokens=0, cost=0.0)


def spent(tokens: int, cost: float = 0.0) -> Spent:
    return Spent(usage=Usage(prompt_tokens=tokens - 1, completion_tokens=1), cost=cost)


def test_today_and_this_month_are_told_and_the_month_before_only_drawn() -> None:
    days = {
        TODAY: spent(100, 1.5),
        date(2026, 3, 1): spent(300, 2.0),
        date(2026, 2, 28): spent(600),
    }
    found = costs(days, NO_BUDGET, TODAY)
    today, month = found.bills
    assert (today.name, today.tokens, today.cost, today.part) == ("today", 100, 1.5, None)
    assert (month.name, month.tokens, month.cost) == ("month", 400, 3.5)
    assert (len(found.columns), found.most) == (31, 600)
    assert (found.columns[-1].day, found.columns[-1].tokens) == (TODAY, 100)
    highest = next(column for column in found.columns if column.tokens == 600)
    assert (highest.day, highest.y, highest.height) == (date(2026, 2, 28), 0.0, 60.0)
    assert found.columns[-1].height == 10.0


@pytest.mark.parametrize(
    ("budget", "today", "month"),
    [
        (Budget(tokens=200, cost=0.0), 0.5, 400 / 2000),
        (Budget(tokens=0, cost=3.0), 0.5, 3.5 / 30),
        (Budget(tokens=200, cost=1.0), 1.5, 0.35),
    ],
)
def test_the_share_is_that_of_the_budget_that_is_nearest_to_its_end(
    budget: Budget, today: float, month: float
) -> None:
    """A month's budget is that of the days of it that have begun."""
    days = {TODAY: spent(100, 1.5), date(2026, 3, 1): spent(300, 2.0)}
    found = costs(days, budget, TODAY)
    assert [bill.part for bill in found.bills] == [pytest.approx(today), pytest.approx(month)]


def test_nothing_spent_is_nothing_drawn() -> None:
    found = costs({}, Budget(tokens=10, cost=0), TODAY)
    assert found.most == 0
    assert [(bill.tokens, bill.part) for bill in found.bills] == [(0, 0.0), (0, 0.0)]
    assert {column.height for column in found.columns} == {0.0}


def test_a_month_of_31_days_is_asked_for_whole() -> None:
    assert since(date(2026, 3, 31)) == date(2026, 3, 1)
    assert since(date(2026, 3, 10)) == date(2026, 2, 8)
