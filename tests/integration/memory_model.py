"""What should be remembered of three persons of two tenants, told by a model in memory?

Every text holds a word that is made for one tenant, person and statement, so that each byte that
comes back says whose it is. Days are counted from the machine's own zero.
"""

import hashlib
import re
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from vademecum.model.ids import ConversationId
from vademecum.model.principal import Scope
from vademecum.text.language import RULED, detect

TENANTS = {"one": "qua", "two": "quo"}
PEOPLE = {"user:a": "zim", "user:b": "zum", "user:c": "zem"}
PERSONAS = ("default", "work")
# Words that stand in a document, in what the assistant says, in nobody's memory.
OF_DOCUMENTS, OF_ASSISTANT = "vudoxxidoc", "vadexxiass"
WORD = re.compile(r"(?i)[a-z]{8}(qua|quo)(zim|zum|zem)")
FACTS = {
    "fact": "I keep my {} under the old stairs",
    "home": "I live in {}",
    "task": "I need to paint my {} again",
}
Sort = Literal["fact", "home", "task"]
TASK_DAYS, EXPIRED_DAYS, TRIVIA_DAYS = 30, 1, 180
TRIVIA, VITAL = 0.1, 0.9
_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aeiou"
_ATTEMPTS = 5

Key = tuple[str, str]
KEYS: tuple[Key, ...] = tuple((tenant, person) for tenant in TENANTS for person in PEOPLE)


def scope_of(key: Key) -> Scope:
    return Scope.for_principal(*key, frozenset())


def suffix(key: Key) -> str:
    return TENANTS[key[0]] + PEOPLE[key[1]]


def whose(word: str) -> str:
    return word[-6:].casefold()


class Words:
    """Statements that nobody has made before."""

    def __init__(self) -> None:
        self._numbers = count()

    def fresh(self, key: Key, sort: Sort) -> str:
        while True:
            digest = hashlib.blake2b(str(next(self._numbers)).encode(), digest_size=8).digest()
            stem = "".join(
                _CONSONANTS[digest[i] % 16] + _VOWELS[digest[i + 1] % 5] for i in range(0, 8, 2)
            )
            word = stem + suffix(key)
            text = FACTS[sort].format(word.capitalize() if sort == "home" else word)
            if detect(text, RULED) == "en":
                return text


@dataclass(slots=True, kw_only=True)
class Known:
    """A memory as it should be."""

    text: str
    sort: Sort
    persona: str
    state: str
    origin: str
    pinned: bool
    importance: float
    changed: int
    confirmed: int | None = None
    used: int | None = None
    expires: int | None = None
    turn: int | None = None
    # The same in every copy of a world.
    number: int = field(default_factory=count().__next__)

    def touched(self) -> int:
        return max(day for day in (self.changed, self.confirmed, self.used) if day is not None)

    def row(self) -> tuple[str, str, str, bool, str]:
        return (self.persona, self.text, self.state, self.pinned, self.origin)


@dataclass(slots=True, kw_only=True)
class Said:
    """A turn of a person that may be learned from: `text` is what it states, or says to forget."""

    number: int
    text: str
    sort: Sort
    forgets: bool = False
    # What it states was forgotten after it was said.
    dead: bool = False


@dataclass(slots=True, kw_only=True)
class Talked:
    """A conversation: what waits to be learned from it, and since when it is put off."""

    id: ConversationId
    persona: str
    waiting: list[Said] = field(default_factory=list)
    attempts: int = 0
    put_off: int | None = None
    turns: set[int] = field(default_factory=set)
    last: int = 0


@dataclass(slots=True, kw_only=True)
class Person:
    memories: list[Known] = field(default_factory=list)
    talks: dict[str, Talked] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What is offered to be remembered."""

    text: str
    sort: Sort
    persona: str
    trusted: bool = True
    pending: bool = False
    pinned: bool = False
    importance: float = 0.5
    expires: int | None = None
    turn: int | None = None


@dataclass(slots=True, kw_only=True)
class Gone:
    """What was deleted, and what nothing is learned from any more, by number. No backup brings it
    back, so that all copies of a world have one."""

    memories: set[int] = field(default_factory=set)
    talks: set[ConversationId] = field(default_factory=set)
    turns: set[int] = field(default_factory=set)

    def __deepcopy__(self, _: object) -> "Gone":
        return self

    def copy(self) -> "Gone":
        return Gone(memories={*self.memories}, talks={*self.talks}, turns={*self.turns})


@dataclass(slots=True, kw_only=True)
class World:
    """Everybody, on a day. Each method is one thing that happens, as it should end."""

    today: int = 0
    people: dict[Key, Person] = field(default_factory=lambda: {key: Person() for key in KEYS})
    gone: Gone = field(default_factory=Gone)

    def copy(self) -> "World":
        return deepcopy(self)

    def delete_again(self) -> None:
        """What was deleted goes once more, out of a backup that still held it."""
        for key, person in self.people.items():
            person.memories = [m for m in person.memories if m.number not in self.gone.memories]
            for persona, talked in list(person.talks.items()):
                for said in talked.waiting:
                    said.dead |= said.number in self.gone.turns
                if talked.id in self.gone.talks:
                    self.end_talk(key, persona)

    def _drop(self, key: Key, memory: Known) -> None:
        self.people[key].memories.remove(memory)
        self.gone.memories.add(memory.number)
        if memory.turn is not None:
            self.gone.turns.add(memory.turn)

    def live(self, key: Key, persona: str | None = None) -> list[Known]:
        """What is known and not past its time, history included."""
        return [
            memory
            for memory in self.people[key].memories
            if (memory.expires is None or memory.expires > self.today)
            and persona in (None, memory.persona)
        ]

    def usable(self, key: Key, persona: str) -> list[Known]:
        return [memory for memory in self.live(key, persona) if memory.state == "active"]

    def remember(self, key: Key, offered: Offered) -> str:
        near = [m for m in self.live(key, offered.persona) if m.state != "superseded"]
        same = [m for m in near if m.text == offered.text]
        same = [m for m in same if m.state == "active"] or same
        against = self._against(key, offered.text, offered.sort, offered.persona)
        guarded = [
            m for m in against if m.pinned or m.confirmed is not None or m.origin != "extracted"
        ]
        trusted = offered.trusted and not offered.pending
        if same and (same[0].state == "active" or not guarded or trusted):
            if not offered.pending:  # what a program says makes nothing surer
                self._confirm(same[0], offered)
                self._supersede(same[0], [m for m in against if m is not same[0]])
            return "confirmed"
        if same:
            return "pending"  # what waits already goes on waiting
        asked = bool(guarded) and not trusted
        new = Known(
            text=offered.text,
            sort=offered.sort,
            persona=offered.persona,
            state="pending" if offered.pending or asked else "active",
            origin="explicit" if offered.turn is None or offered.trusted else "extracted",
            pinned=offered.pinned and not offered.pending,
            importance=offered.importance,
            changed=self.today,
            expires=offered.expires,
            turn=offered.turn,
        )
        self.people[key].memories.append(new)
        if new.state == "pending":
            return "pending"
        self._supersede(new, against)
        return "superseded" if against else "added"

    def _against(self, key: Key, text: str, sort: Sort, persona: str) -> list[Known]:
        if sort != "home":
            return []
        return [m for m in self.usable(key, persona) if m.sort == "home" and m.text != text]

    def _confirm(self, memory: Known, offered: Offered | None) -> None:
        memory.state, memory.confirmed = "active", self.today
        if offered is not None:
            memory.pinned = memory.pinned or offered.pinned
            memory.importance = max(memory.importance, offered.importance)

    def _supersede(self, by: Known, others: list[Known]) -> None:
        for other in others:
            # What was always shown is not lost when it changes.
            by.pinned = by.pinned or other.pinned
            other.state = "superseded"

    def confirm(self, key: Key, memory: Known) -> None:
        waited = memory.state != "active"
        self._confirm(memory, None)
        if waited:
            self._settle(key, memory)

    def _settle(self, key: Key, memory: Known) -> None:
        """A memory that holds from now on takes the place of what says it, or speaks against it."""
        near = [m for m in self.live(key, memory.persona) if m is not memory]
        same = [m for m in near if m.text == memory.text and m.state != "superseded"]
        same = [m for m in same if m.state == "active"] or same
        self._supersede(
            memory,
            same[:1] + self._against(key, memory.text, memory.sort, memory.persona),
        )

    def edit(self, key: Key, memory: Known, text: str) -> None:
        memory.text, memory.changed = text, self.today
        if memory.state == "active":
            self._settle(key, memory)

    def pin(self, memory: Known, pinned: bool) -> None:
        memory.pinned, memory.changed = pinned, self.today

    def forget(self, key: Key, memory: Known) -> None:
        """Nothing that was said before brings it back, only who says it again."""
        self._drop(key, memory)
        for talked in self.people[key].talks.values():
            for said in talked.waiting:
                said.dead |= said.number == memory.turn or (
                    said.text == memory.text and talked.persona == memory.persona
                )
                if said.dead:
                    self.gone.turns.add(said.number)

    def learn(self, *, unclear: bool) -> None:
        """All that was said in passing is kept once; an unclear reply puts it off, five times."""
        for key in KEYS:
            for talked in sorted(self.people[key].talks.values(), key=lambda talk: talk.last):
                waits = talked.put_off is not None and talked.put_off >= self.today
                if talked.waiting and not waits:
                    self._learn(key, talked, unclear=unclear)

    def _learn(self, key: Key, talked: Talked, *, unclear: bool) -> None:
        told = [
            said
            for place, said in enumerate(talked.waiting)
            if not said.dead
            and not said.forgets
            and not any(o.forgets and o.text == said.text for o in talked.waiting[place + 1 :])
        ]
        if told and unclear and talked.attempts + 1 < _ATTEMPTS:
            talked.attempts += 1
            talked.put_off = self.today
            return
        for said in [] if unclear else told:
            self.remember(
                key,
                Offered(
                    text=said.text, sort=said.sort, persona=talked.persona, trusted=False,
                    turn=said.number,
                ),
            )  # fmt: skip
        talked.waiting, talked.attempts, talked.put_off = [], 0, None

    def let_go(self) -> None:
        for key, person in self.people.items():
            for memory in list(person.memories):
                expired = memory.expires is not None
                idle = self.today - memory.touched()
                if (expired and self.today - EXPIRED_DAYS >= (memory.expires or 0)) or (
                    memory.sort == "task" and not memory.pinned and idle >= TASK_DAYS
                ):
                    self._drop(key, memory)
                elif (
                    memory.state == "active"
                    and not memory.pinned
                    and memory.confirmed is None
                    and memory.importance < 0.3
                    and idle >= TRIVIA_DAYS
                ):
                    memory.state = "archived"

    def end_talk(self, key: Key, persona: str) -> None:
        """A conversation is deleted, with what was taken from it."""
        talked = self.people[key].talks.pop(persona)
        self.gone.talks.add(talked.id)
        own = self.people[key].memories
        self.gone.memories |= {m.number for m in own if m.turn in talked.turns}
        self.people[key].memories = [m for m in own if m.turn not in talked.turns]

    def purge(self, key: Key) -> None:
        person, self.people[key] = self.people[key], Person()
        self.gone.memories |= {memory.number for memory in person.memories}
        self.gone.talks |= {talked.id for talked in person.talks.values()}
