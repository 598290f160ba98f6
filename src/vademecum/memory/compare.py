"""Is a new fact known already, does it say more, or does it speak against what is known?

Explicit checks decide, never a cosine: opposite statements are as near as equal ones. A memory
that shares no word and no topic with the new one is not judged; both stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from vademecum.model.memory import Memory
from vademecum.ports.memory import Verdict
from vademecum.text.analyse import codes, words
from vademecum.text.clauses import clauses
from vademecum.text.content import alike, is_light
from vademecum.text.facts import Facts, facts, lacking
from vademecum.text.people.statements import (
    Statement,
    canonical,
    statement_in,
    without_times,
)

# same: nothing new. less: it is said already, and more. more: the same, and more. contrary: both
# cannot hold. different: they speak of different things.
Relation = Literal["same", "less", "more", "contrary", "different"]

# Who speaks is the person anyway, so these tell nothing apart.
_OWN_WORDS = frozenset(
    """
    i eu yo me my mine meu minha meus minhas mi mis user usuario usuaria longer anymore
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_FEWEST_TO_EXTEND = 2
_AGAINST = "it speaks against what is known"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A statement. Each part of it is read when a comparison needs it, since each new memory is
    compared with thirty others."""

    text: str
    language: str
    spread: str
    all_words: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Its words in order, folded: equal for the same fact said again."""
        return " ".join(self.all_words)

    @cached_property
    def said(self) -> Statement | None:
        return statement_in(self.spread)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Those that carry content."""
        undated = without_times(self.spread)
        found = self.all_words if undated == self.spread else words(undated)
        return tuple(w for w in found if not is_light(w) and w not in _OWN_WORDS)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if not word[0].isdigit())

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if word[0].isdigit())

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(codes(self.text))

    @property
    def facts(self) -> Facts:
        return facts(self.text, self.language)

    @property
    def negative(self) -> bool:
        return sum(clause.negative for clause in clauses(self.text, self.language)) % 2 == 1


def fact(text: str, language: str) -> Fact:
    """Return what is compared of a text in a language (ISO 639-1)."""
    spread = canonical(text)
    return Fact(text=text, language=language, spread=spread, all_words=tuple(words(spread)))


def relation(new: Fact, old: Fact) -> Relation:
    """Return how the new fact stands to the old one."""
    if new.all_words == old.all_words:
        return "same"
    if new.said is not None and old.said is not None and new.said.attribute == old.said.attribute:
        return _of_statements(new, new.said, old, old.said)
    return _of_words(new, old)


def _of_statements(new: Fact, mine: Statement, old: Fact, theirs: Statement) -> Relation:
    if not _same_subject(mine, theirs):
        return "different"
    order = _order(mine.value, theirs.value)
    agree = order == "same" and not _facts_differ(new, old)
    if agree:
        return "same" if mine.positive == theirs.positive else "contrary"
    if order in ("more", "less") and mine.positive and theirs.positive:
        return order
    if mine.single and mine.positive and theirs.positive:
        return "contrary"
    return "different"


def _same_subject(mine: Statement, theirs: Statement) -> bool:
    if mine.attribute == "port" and not (mine.subject and theirs.subject):
        return True  # "at localhost:8090" names nobody: what runs there is what is known to
    return mine.subject == theirs.subject


def _of_words(new: Fact, old: Fact) -> Relation:
    mine, theirs = new.plain, old.plain
    order = _order(mine, theirs)
    if order == "different" or not mine or not theirs or new.codes != old.codes:
        return "different"
    if order == "same":
        return _of_same_words(new, old)
    denied = new.negative or old.negative
    if denied or min(len(mine), len(theirs)) < _FEWEST_TO_EXTEND:
        return "different"
    less, more = (old, new) if order == "more" else (new, old)
    return "different" if lacking(less.facts, more.facts, more.facts) else order


def _of_same_words(new: Fact, old: Fact) -> Relation:
    if new.negative != old.negative:
        return "contrary" if new.numbers == old.numbers else "different"
    if not _facts_differ(new, old):
        return "same"
    return "contrary" if len(new.numbers) == len(old.numbers) else "different"


def _facts_differ(new: Fact, old: Fact) -> bool:
    return bool(
        lacking(new.facts, old.facts, old.facts) or lacking(old.facts, new.facts, new.facts)
    )


def _order(mine: Sequence[str], theirs: Sequence[str]) -> Relation:
    """Return whether two lists hold the same words in order, or one begins with the other."""
    if not all(alike(a, b) for a, b in zip(mine, theirs, strict=False)):
        return "different"
    if len(mine) == len(theirs):
        return "same"
    return "more" if len(mine) > len(theirs) else "less"


def judge(new: Fact, known: Sequence[Memory], *, trusted: bool) -> Verdict:
    """Return what to do with a new fact beside its neighbours.

    `trusted` is what the person says or writes; what is not waits for their word where it speaks
    against something pinned, confirmed, or said by them.
    """
    related = [(memory, relation(new, fact(memory.text, memory.language))) for memory in known]
    usable = [(m, r) for m, r in related if m.state in ("active", "held")]
    if same := [m for m, r in usable if r in ("same", "less")]:
        return Verdict(action="confirm", known=same[0])
    against = tuple(m for m, r in usable if r == "contrary")
    guarded = [m for m in against if m.pinned or m.confirmed_at or m.origin != "extracted"]
    asked = bool(guarded) and not trusted
    why = _AGAINST if asked else ""
    if waiting := [m for m, r in related if r == "same"]:
        # What waits, or was put away, counts from now on, unless it speaks against what is guarded.
        if asked:
            return Verdict(action="wait", known=waiting[0], why=why)
        return Verdict(action="confirm", known=waiting[0], supersedes=against)
    if asked:
        return Verdict(action="ask", known=guarded[0], why=why)
    fuller = [m for m, r in usable if r == "more"]
    if fuller and trusted and not against:
        return Verdict(action="update", known=fuller[0])
    return Verdict(action="add", supersedes=against)
