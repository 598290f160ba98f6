"""Are denials and roles read of the clause that they belong to?"""

import pytest

from vademecum.text.clauses import Clause, clauses, contradicts
from vademecum.text.roles import inverted, matching, swapped


def one(text: str, language: str = "en") -> Clause:
    (clause,) = clauses(text, language)
    return clause


@pytest.mark.parametrize(
    ("claim", "source", "language"),
    [
        ("Dogs are not admitted", "Dogs are admitted", "en"),
        ("Smoking is allowed", "Smoking is forbidden", "en"),
        ("Os cães não entram", "Os cães entram", "pt"),
        ("Los perros no entran", "Los perros entran", "es"),
        ("tickets without a name", "tickets with a name", "en"),
    ],
)
def test_a_denial_contradicts_what_it_denies(claim: str, source: str, language: str) -> None:
    assert contradicts(one(claim, language), one(source, language))
    assert contradicts(one(source, language), one(claim, language))


@pytest.mark.parametrize(
    ("claim", "source", "language"),
    [
        ("Dogs are admitted", "Dogs are admitted", "en"),
        ("Smoking is not forbidden", "Smoking is allowed", "en"),
        ("O portão abre no domingo", "O portão abre domingo", "pt"),
        ("if it is not accepted", "it is accepted", "en"),
        ("the lift does not stop", "the show goes on", "en"),
    ],
)
def test_no_denial_no_contradiction(claim: str, source: str, language: str) -> None:
    assert not contradicts(one(claim, language), one(source, language))


def test_two_things_that_changed_places_are_seen() -> None:
    source = clauses("adults pay 20 euros; children pay 10 euros", "en")
    assert swapped(clauses("adults pay 10 euros; children pay 20 euros", "en"), source)
    assert not swapped(clauses("children pay 10 euros; adults pay 20 euros", "en"), source)


def test_mirrored_words_around_a_verb_are_seen() -> None:
    said, told = "The buyer sends the form to the seller", "The seller sends the form to the buyer"
    mine, theirs = one(said), one(told)
    assert inverted(said, told, [(mine, theirs)])
    assert not inverted(said, said, [(mine, mine)])


def test_the_matching_clause_shares_most_words() -> None:
    source = clauses("the gate opens at nine, the office closes at noon", "en")
    assert matching(one("when the office closes"), source) == source[1]
    assert matching(one("quokka"), source) is None
