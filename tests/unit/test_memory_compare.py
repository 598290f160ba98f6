"""Does a new fact repeat, extend, contradict or leave alone what is known?"""

from dataclasses import replace

import pytest

from vademecum.memory.compare import Fact, fact, judge, relation
from vademecum.testing.memories import make_memory
from vademecum.text.language import detect


def read(text: str) -> Fact:
    return fact(text, detect(text, frozenset(["en", "es", "pt"])))


@pytest.mark.parametrize(
    ("new", "old", "wanted"),
    [
        ("I use a wheelchair", "i use a wheelchair!", "same"),
        ("The user lives in Porto", "I live in Porto", "same"),
        ("I'm based in Porto", "I moved to Porto", "same"),
        ("I can't stand jazz", "I hate jazz", "same"),
        ("Detesto jazz", "Odeio jazz", "same"),
        ("at localhost:8090", "runs on port 8090", "same"),
        ("at localhost:8091", "runs on port 8090", "contrary"),
        ("The API runs on port 8091", "The API runs on port 8090", "contrary"),
        ("The web page runs on port 8090", "The API runs on port 8090", "different"),
        ("I live in Lisbon", "I live in Porto", "contrary"),
        ("My sister lives in Lisbon", "I live in Porto", "different"),
        ("I don't live in Porto any more", "I live in Porto", "contrary"),
        ("I hate spicy food now", "I love spicy food", "contrary"),
        ("No me gusta el té", "Me gusta el té", "contrary"),
        ("Não gosto de café", "Gosto de café", "contrary"),
        ("I love spicy noodles", "I love spicy food", "different"),
        ("My sister hates spicy food", "I love spicy food", "different"),
        ("My favourite colour is red", "My favourite colour is blue", "contrary"),
        ("My favourite film is Stalker", "My favourite colour is blue", "different"),
        ("Mi cumpleaños es el 4 de mayo", "Mi cumpleaños es el 3 de mayo", "contrary"),
        ("My name is Robin", "My name is Rosa", "contrary"),
        ("My dentist appointment is at 5 pm", "My eye appointment is at 4 pm", "different"),
        ("I work as a nurse", "I work at the harbour", "different"),
        ("I have 3 cats", "I have 2 cats", "contrary"),
        ("Flight TP 401 leaves at 10", "Flight TP 402 leaves at 10", "different"),
        ("I am allergic to peanuts and shrimp", "I am allergic to peanuts", "more"),
        ("I am allergic to peanuts", "I am allergic to peanuts and shrimp", "less"),
        ("I am not allergic to peanuts", "I am allergic to peanuts", "contrary"),
        ("I am allergic to shrimp", "I am allergic to peanuts", "different"),
        ("The train goes from Lisbon to Porto", "The train goes from Porto to Lisbon", "different"),
        ("Ana sends the keys to Rui", "Rui sends the keys to Ana", "different"),
        ("I play the violin", "I live in Porto", "different"),
    ],
)
def test_two_statements_stand_as_they_should(new: str, old: str, wanted: str) -> None:
    assert relation(read(new), read(old)) == wanted


def test_what_a_program_says_against_the_person_waits() -> None:
    known = make_memory("I love spicy food")
    new = read("I hate spicy food")
    assert judge(new, [known], trusted=False).action == "ask"
    trusted = judge(new, [known], trusted=True)
    assert (trusted.action, list(trusted.supersedes)) == ("add", [known])
    guessed = replace(known, origin="extracted")
    assert list(judge(new, [guessed], trusted=False).supersedes) == [guessed]
    pinned = replace(guessed, pinned=True)
    assert judge(new, [pinned], trusted=False).action == "ask"


def test_what_waits_or_was_put_away_is_not_spoken_against() -> None:
    waiting = make_memory("I love spicy food", state="pending")
    assert judge(read("I hate spicy food"), [waiting], trusted=True).supersedes == ()
    same = judge(read("I love spicy food"), [waiting], trusted=True)
    assert (same.action, same.known) == ("confirm", waiting)


def test_what_waits_or_was_put_away_takes_the_place_of_what_speaks_against_it() -> None:
    """Else a person would live in two cities: the one they say again, and the one before."""
    lisbon = make_memory("I live in Lisbon", number=1)
    for state in ("pending", "archived"):
        porto = make_memory("I live in Porto", number=2, state=state)
        said = judge(read("I live in Porto"), [lisbon, porto], trusted=True)
        assert (said.action, said.known, list(said.supersedes)) == ("confirm", porto, [lisbon])
        told = judge(read("I live in Porto"), [lisbon, porto], trusted=False)
        assert (told.action, told.known, list(told.supersedes)) == ("wait", porto, [])
        assert told.why
