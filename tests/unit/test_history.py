"""Is each turn verbatim or in the summary, and is a turn folded when VALUES says so?"""

from datetime import UTC, datetime

import pytest

from vademecum.answer.history import Window, arrange, due, settled, spoken
from vademecum.answer.summarise import SUMMARY_TOKENS, extractive, usable
from vademecum.model.conversation import Past, Turn, TurnState
from vademecum.model.ids import TurnId, new_uuid

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


class Words:
    """Counts words, so that a test can count too."""

    def count(self, text: str) -> int:
        return len(text.split())


def turn(
    number: int, text: str = "", state: TurnState = "complete", role: str | None = None
) -> Turn:
    return Turn(
        id=TurnId(new_uuid()),
        position=number,
        role=role or ("user", "assistant")[number % 2],  # type: ignore[arg-type]
        text=text or f"Turn number {number}.",
        state=state,
        created_at=NOON,
    )


def dialogue(count: int, tokens: int = 3) -> list[Turn]:
    """Turns of so many words, each with a word of its own that is neither number nor code."""
    own = ["".join(chr(ord("a") + int(digit)) for digit in f"{n:03}") for n in range(count)]
    return [turn(n, " ".join(["word"] * (tokens - 1) + [f"{own[n]}."])) for n in range(count)]


def cost(said: Turn) -> int:
    return len(said.text.split())


@pytest.mark.parametrize(
    ("turns", "tokens", "budget", "folded"),
    [
        (19, 3, 1_000, 0),  # fewer than 20 stand verbatim
        (20, 3, 1_000, 10),  # 20: all but the last 10
        (21, 3, 1_000, 12),  # the last 10 would begin with an answer
        (30, 3, 1_000, 20),
        (12, 50, 500, 2),  # the budget forces it, though fewer than 5 are folded
        (12, 50, 499, 4),  # fewer than 10 where they do not fit
        (20, 100, 400, 16),
        (2, 600, 1_000, 2),  # a pair that alone does not fit
        (0, 3, 1_000, 0),
    ],
)
def test_what_is_due(turns: int, tokens: int, budget: int, folded: int) -> None:
    assert due(dialogue(turns, tokens), cost, budget) == folded


def test_fewer_than_five_are_not_worth_a_fold_unless_the_budget_forces_it() -> None:
    window = Window(most=12, kept=8, fewest=5)
    assert due(dialogue(12), cost, 1_000, window) == 0
    assert due(dialogue(14), cost, 1_000, window) == 6
    assert due(dialogue(12), cost, 35, window) == 4


@pytest.mark.parametrize("roles", ["uauaua", "auauau", "uuaaua", "aaaa"])
def test_the_rest_begins_with_a_user_turn(roles: str) -> None:
    names = {"u": "user", "a": "assistant"}
    turns = [turn(n, "one two three.", role=names[r]) for n, r in enumerate(roles)]
    start = due(turns, cost, 9)
    assert start == len(turns) or turns[start].role == "user"


def test_only_what_makes_the_dialogue_is_spoken() -> None:
    asked = turn(0)
    first = Turn(
        id=TurnId(new_uuid()), position=1, role="assistant", text="First.", state="interrupted",
        created_at=NOON, reply_to=asked.id, variant=0,
    )  # fmt: skip
    second = Turn(
        id=TurnId(new_uuid()), position=2, role="assistant", text="Second.", state="complete",
        created_at=NOON, reply_to=asked.id, variant=1,
    )  # fmt: skip
    later = turn(4)
    writing = turn(5, state="writing")
    said = [asked, first, second, later, writing]
    assert [t.text for t in spoken(said)] == [asked.text, "Second.", later.text]
    assert settled(said) == said[:4]
    assert settled([asked, writing, later]) == [asked], "what comes later may not be folded before"


@pytest.mark.parametrize("budget", [30, 60, 120, 400, 1_000])
@pytest.mark.parametrize("count", [2, 9, 19, 40])
def test_no_turn_is_left_out_whatever_the_background_work_has_done(count: int, budget: int) -> None:
    """CO-04: what the prompt cannot hold word for word is folded for the prompt alone."""
    past = Past(summary="User: my locker is number 717.", turns=tuple(dialogue(count, 12)))

    def summary_cost(summary: str) -> int:
        return len(summary.split()) + 4 if summary else 0

    shown = arrange(past, cost, summary_cost, Words(), budget)
    assert summary_cost(shown.summary) + sum(map(cost, shown.turns)) <= budget
    assert shown.turns == past.turns[len(past.turns) - len(shown.turns) :]
    assert not shown.turns or shown.turns[0].role == "user"
    assert "717" in shown.summary
    if len(shown.turns) == count:
        assert shown.summary == past.summary


def test_a_summary_keeps_what_people_told_of_themselves() -> None:
    turns = [
        turn(0, "Hello! I use a wheelchair and my sister Ana marries on 14 June."),
        turn(1, "How lovely. The weather is quite nice at this time of the year, as they say."),
        turn(2, "Which gate is open?"),
        turn(3, "Gate 4 of the Arena Paulista."),
        turn(4, "Thank you"),
    ]
    summary = extractive("", turns, Words(), 27)
    assert summary == (
        "User: I use a wheelchair and my sister Ana marries on 14 June.\n"
        "User: Which gate is open?\n"
        "Assistant: Gate 4 of the Arena Paulista."
    )
    assert extractive("", turns, Words(), 13) == summary.splitlines()[0]


def test_folding_a_summary_again_changes_nothing_of_it() -> None:
    first = extractive("", dialogue(12, 8), Words())
    assert extractive(first, (), Words()) == first
    assert extractive(first, dialogue(12, 8), Words()) == first, "nothing stands in it twice"


@pytest.mark.parametrize("count", [1, 5, 200])
def test_a_summary_is_never_empty_nor_too_long(count: int) -> None:
    summary = extractive("", [turn(2 * n, f"ok number {n}") for n in range(count)], Words())
    assert summary
    assert len(summary.split()) <= SUMMARY_TOKENS


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\n \n",
        "Summary:",
        "# Summary\n\n- Decisions:\n- Next steps:",
        "[the user's locker and gate are named here]",
        "Nothing of this was ever mentioned anywhere.",
        "Keep from the old summary and the turns who the user is, locker 717 at gate Norte.",
    ],
)
def test_what_is_no_summary(reply: str) -> None:
    turns = [turn(0, "My locker is number 717 at gate Norte.")]
    assert usable(reply, "", turns, Words()) is None


def test_what_is_a_summary() -> None:
    turns = [turn(0, "My locker is number 717 at gate Norte.")]
    good = "The user's locker is number 717 at gate Norte."
    assert usable(f"# Summary\n{good}\n- Decisions:", "", turns, Words()) == good
    long = " ".join([good] * 100)
    cut = usable(long, "", turns, Words())
    assert cut is not None
    assert len(cut.split()) <= SUMMARY_TOKENS
    assert long.startswith(cut)
