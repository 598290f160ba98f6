"""What may no other wording of a question change?"""

from dataclasses import dataclass

from vademecum.text.analyse import codes, words
from vademecum.text.dates import Day, days
from vademecum.text.late import late
from vademecum.text.names import is_named, name_words
from vademecum.text.number_words import with_digits
from vademecum.text.numbers import numbers
from vademecum.text.weekdays import weekdays

# A question may begin with the verb, which is no month there: "May I bring a rucksack?"
_VERB = late(r"(?:^|(?<=[.!?¿¡\n]))\s*May(?=\s+\p{L})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The codes, numbers, days and weekdays that a question states, each in one spelling, and the
    folded words that are names, in their order."""

    codes: frozenset[str]
    numbers: frozenset[str]
    days: frozenset[Day]
    weekdays: frozenset[int]
    names: tuple[str, ...]

    def same(self, other: "Facts") -> bool:
        """Return whether both state the same; names are compared by `named_in`."""
        mine = (self.codes, self.numbers, self.days, self.weekdays)
        return mine == (other.codes, other.numbers, other.days, other.weekdays)

    def named_in(self, text: str) -> bool:
        """Return whether a text holds every name, a plural or genitive of it included."""
        held = frozenset(words(text))
        return all(is_named(name, held) for name in self.names)


def facts(text: str, language: str) -> Facts:
    """Return what a question states; `language` (ISO 639-1) tells which words spell numbers."""
    return Facts(
        codes=frozenset(codes(text)),
        numbers=frozenset(numbers(with_digits(text, language))),
        days=frozenset(days(_VERB.sub(" may", text))[0]),
        weekdays=weekdays(text),
        names=tuple(name_words(text, language)),
    )
