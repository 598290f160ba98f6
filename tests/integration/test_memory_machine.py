"""Does any history of memories and conversations end as it must? And would a bug be seen?"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import run
from memory_machine import Memories
from memory_model import KEYS, TASK_DAYS, TRIVIA, TRIVIA_DAYS, Known, Offered, Sort
from planted import Plant, attribute, both, cut, function, sql

RULES = {
    "remember", "edit", "pin", "unpin", "confirm", "reject", "forget", "chat",
    "delete_conversation", "purge", "extract", "tick", "let_go", "backup", "restore", "crash",
    "quiesce",
}  # fmt: skip


def test_any_history_of_memories_ends_as_it_must(database_url: str, tmp_path: Path) -> None:
    rules = run(Memories, database_url, tmp_path, examples=8, steps=25, shrink=False)
    print(sorted(rules.items()))
    assert len(set(rules) & RULES) >= len(RULES) - 2, "hardly a rule was not used"


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_histories_of_memories_end_as_they_must(database_url: str, tmp_path: Path) -> None:
    rules = run(Memories, database_url, tmp_path, examples=150, steps=40)
    print(sorted(rules.items()))
    assert min(rules[name] for name in RULES) >= 40


ANA, BEN = KEYS[:2]
_QUICK = {"forgetting forgets nothing", "a backup brings back what was forgotten"}


def _fact(sort: Sort = "fact", *, machine: Memories, **told: Any) -> Offered:
    return Offered(text=machine.words.fresh(ANA, sort), sort=sort, persona="default", **told)


def _known(machine: Memories, offered: Offered) -> Known:
    (known,) = (m for m in machine.world.people[ANA].memories if m.text == offered.text)
    return known


def forgotten_before_it_was_learned(machine: Memories) -> None:
    """Told in passing, then remembered by hand, then forgotten, and only then read in the turn."""
    told = _fact(machine=machine)
    machine.chatted(ANA, "default", "passing", told)
    machine.remembered(ANA, told)
    machine.forgot(ANA, _known(machine, told), BEN)
    machine.extracted(unclear=False)


def past_its_time(machine: Memories) -> None:
    """And nothing has let go of it yet."""
    machine.remembered(ANA, _fact(machine=machine, pinned=True, expires=machine.world.today + 5))
    machine.pass_days(6)


def pinned_past_retention(machine: Memories) -> None:
    kept, gone = _fact("task", machine=machine, pinned=True), _fact("task", machine=machine)
    machine.remembered(ANA, kept)
    machine.remembered(ANA, gone)
    machine.pass_days(TASK_DAYS + 1)
    machine.let_go()
    assert [m.text for m in machine.world.people[ANA].memories] == [kept.text]


def confirmed_trivia(machine: Memories) -> None:
    kept, idle = (_fact(machine=machine, importance=TRIVIA) for _ in range(2))
    machine.remembered(ANA, kept)
    machine.remembered(ANA, idle)
    machine.confirmed(ANA, _known(machine, kept))
    machine.pass_days(TRIVIA_DAYS + 1)
    machine.let_go()
    assert [m.state for m in machine.world.people[ANA].memories] == ["active", "archived"]


def pinned_and_replaced(machine: Memories) -> None:
    old, new = _fact("home", machine=machine, pinned=True), _fact("home", machine=machine)
    machine.remembered(ANA, old)
    machine.remembered(ANA, new)
    assert (_known(machine, old).state, _known(machine, new).pinned) == ("superseded", True)


def edited(machine: Memories) -> None:
    old = _fact(machine=machine)
    machine.remembered(ANA, old)
    machine.edited(ANA, _known(machine, old))


def forgotten_after_a_backup(machine: Memories) -> None:
    """Remembered, told and waiting, and learned out of a turn that the backup holds too."""
    known, told, learned = (_fact(machine=machine) for _ in range(3))
    machine.remembered(ANA, known)
    machine.chatted(ANA, "default", "passing", learned)
    machine.chatted(ANA, "work", "order", replace(told, persona="work"))
    machine.store()
    machine.extracted(unclear=False)
    machine.forgot(ANA, _known(machine, known), BEN)
    machine.forgot(ANA, _known(machine, learned), BEN)
    machine.ended(ANA, "work")
    machine.bring_back()
    machine.extracted(unclear=False)
    assert machine.world.people[ANA].memories == []


# What happens too seldom by chance for forty histories.
WRITTEN: dict[str, Callable[[Memories], None]] = {
    "what was forgotten is learned from its turn again": forgotten_before_it_was_learned,
    "what is past its time is used": past_its_time,
    "retention erases what is pinned": pinned_past_retention,
    "decay puts away what was confirmed": confirmed_trivia,
    "a pin is lost where a memory is replaced": pinned_and_replaced,
    "an edited memory is found by its old words": edited,
    "a backup brings back what was forgotten": forgotten_after_a_backup,
    "after a restore it is learned again": forgotten_after_a_backup,
    "a deleted conversation comes back": forgotten_after_a_backup,
}


def go_through(history: Callable[[Memories], None], url: str, folder: Path) -> None:
    """Let a written history happen; the invariants are looked at after it, and in quiet."""
    machine = Memories(url, folder, Counter())
    try:
        machine.begin()
        history(machine)
        machine.all_is_what_was_said()
    finally:
        machine.teardown()


def test_written_histories_end_as_they_must(database_url: str, tmp_path: Path) -> None:
    for history in dict.fromkeys(WRITTEN.values()):
        go_through(history, database_url, tmp_path)


@pytest.mark.parametrize(
    "name",
    [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in WRITTEN],
)
def test_a_written_history_catches_its_bug(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    PLANTED[name](monkeypatch, database_url)
    with pytest.raises(AssertionError) as caught:
        go_through(WRITTEN[name], database_url, tmp_path)
    print(name, "->", str(caught.value)[:200])


def _nothing_left(*_: Any, **__: Any) -> list[Any]:
    return []


def _all_is_said(proposal: Any, told: Any, persona: str) -> Any:
    """What a model says is taken for what the person said."""
    from vademecum.memory.remember import Offer
    from vademecum.model.memory import MemorySource

    source = MemorySource(kind="turn", words=proposal.quote, turn_id=told.turn.id)
    return Offer(text=proposal.text, source=source, origin="extracted", persona=persona)


PLANTED: dict[str, Plant] = {
    "a persona recalls another's": function(
        "usable_memories", "m.persona = usable_memories.wanted_persona", "true"
    ),
    "what is past its time is used": function("usable_memories", "m.expires_at > now()", "true"),
    "forgetting forgets nothing": sql("memory.store", "erase", "SELECT 1"),
    "what was forgotten is learned from its turn again": sql(
        "memory.store", "bury_turn", "SELECT 1"
    ),
    "what a model proposes is not compared with what was said": attribute(
        "vademecum.memory.extract.checked", _all_is_said
    ),
    "the assistant's turns are learned from": cut(
        "learning", "unlearned_turns", "t.role = 'user'", "true"
    ),
    "a person's traces stay": function(
        "erase_person", "person_tables()", "person_tables() WHERE name <> 'trace'"
    ),
    "a receipt does not count what it found": attribute(
        "vademecum.postgres.erasure.counted", _nothing_left
    ),
    "the ledger is not replayed": sql("erasure", "restore", "SELECT 1"),
    "a backup brings back what was forgotten": sql(
        "erasure", "delete_memories_again", "SELECT 1"
    ),
    "after a restore it is learned again": sql("erasure", "bury_turns_again", "SELECT 1"),
    "a deleted conversation comes back": cut(
        "erasure", "conversations_of", "id = ANY (%(conversations)s::uuid[])", "false"
    ),
    "retention erases what is pinned": cut("memory.upkeep", "erase_old", "NOT m.pinned", "true"),
    "decay puts away what was confirmed": cut(
        "memory.upkeep", "archive_trivia", "m.confirmed_at IS NULL", "true"
    ),
    "a pin is lost where a memory is replaced": sql(
        "memory.store", "keep_pinned",
        "SELECT m.*, m.state AS state_now FROM memory m WHERE m.id = %(id)s::uuid",
    ),
    "an edited memory is found by its old words": both(
        function("unindex_memory", "i.memory = NEW.id", "false"),
        function(
            "index_memory",
            "DO UPDATE\n            SET embedding = excluded.embedding, terms = excluded.terms,\n"
            "                weights = excluded.weights",
            "DO NOTHING",
        ),
    ),
}  # fmt: skip
# That recall looks at everybody's rows is not among them: what it finds there is read through
# row-level security, so that nothing comes of it.


@pytest.mark.parametrize(
    "name",
    [
        n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow)
        for n in PLANTED
        if n not in WRITTEN
    ],
)
def test_a_planted_bug_of_memory_is_caught(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    PLANTED[name](monkeypatch, database_url)
    with pytest.raises(Exception) as caught:  # whatever shows that something is wrong
        run(Memories, database_url, tmp_path, examples=40, steps=40, shrink=False)
    print(name, "->", type(caught.value).__name__, str(caught.value)[:200])
