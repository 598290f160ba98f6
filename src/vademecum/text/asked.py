"""What may no other wording of a question change?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import regex

from vademecum.text.analyse import codes, stem, words
from vademecum.text.dates import Day, days
from vademecum.text.late import late
from vademecum.text.names import is_named, name_words
from vademecum.text.normalise import fold
from vademecum.text.number_words import with_digits
from vademecum.text.numbers import numbers, with_one_spelling
from vademecum.text.stated.stances import stance
from vademecum.text.weekdays import weekdays

# A question may begin with the verb, which is no month there: "May I bring a rucksack?"
_VERB = late(r"(?:^|(?<=[.!?¿¡\n]))\s*May(?=\s+\p{L})")
# Folded. Words that another wording may leave out or change: articles, forms of "be", "do" and
# "have" in the present, who asks, and the prepositions that say nothing of direction, order or
# measure. What is not here must stand in both; in other languages, every word.
_ENGLISH = """
    a an the am is are be do does s re ve have has i me my we us our you your there it its of for
    to at in on will would shall
"""
_PORTUGUESE = """
    o a os as um uma uns umas em no na nos nas num numa ao aos para pra e eu me meu minha meus
    minhas nosso nossa voce voces seu sua se ha sao ser esta estao tem ter
"""
_SPANISH = """
    el la los las un una unos unas al a en para yo me mi mis nosotros nuestro usted ustedes su sus
    se hay es son ser esta estan tiene tienen tener
"""
_FREE = {
    "en": frozenset(_ENGLISH.split()),
    "pt": frozenset(_PORTUGUESE.split()),
    "es": frozenset(_SPANISH.split()),
}
# Words that are one: leave to do something, and "of" or "from", which "to" is no other form of.
_ALIKE = {
    "en": dict.fromkeys(("can", "could", "might"), "may"),
    "pt": dict.fromkeys(("posso", "podem", "podemos", "poderia"), "pode")
    | dict.fromkeys(("do", "da", "dos", "das"), "de"),
    "es": dict.fromkeys(("puedo", "pueden", "podemos", "podria"), "puede") | {"del": "de"},
}
_POLITE = late(
    r"(?:^|(?<=[\s,.!?¿¡]))(?:please|kindly|hi|hello|thanks|thank you"
    r"|(?:could|can|would) you (?:please )?tell (?:me|us)|tell me|i (?:would|'d) like to know"
    r"|i want to know|do you know|i wonder"
    r"|por favor|ola|bom dia|obrigad[oa]|(?:voce )?(?:pode|poderia) me (?:dizer|informar)|me diga"
    r"|diga-me|gostaria de saber|queria saber|quero saber|(?:voce )?sabe"
    r"|hola|buenos dias|gracias|(?:me )?(?:puede|podria)s?(?: usted)? decir(?:me)?|digame|dime"
    r"|quisiera saber|quiero saber|me gustaria saber|sabe usted)(?=$|[\s,.!?])",
    regex.IGNORECASE,
)
# The plainest question of all has several plain forms in each language.
_PRICE_OF = late(
    r"(?:what(?: is|'s| are) the (?:price|prices|cost|fee) (?:of|for)|how much (?:is|are)"
    r"|quanto (?:custam?|e|sai)|qual e o (?:preco|valor) (?:de|do|da|dos|das|para)"
    r"|cuanto (?:cuestan?|valen?|es)|cual es el (?:precio|coste|costo) (?:de|del|para))(?![\p{L}'])"
)
_COSTS = late(
    r"(?:how much|what)(?: (?:do|does|will|would))?(?= )(?P<of>[^?.!,;]*?) costs?(?![\p{L}'])"
)
# Marks that tell C# from C++, 5 % from 5 and -5 from 5.
_MARKS = late(r"[^\p{L}\p{M}\p{N}\s.,?!¿¡;:'’\"“”()…–—-]|(?<![\p{L}\p{N}])-(?=\d)")
# "US" is not "us".
_CAPITALS = late(r"(?<![\p{L}\p{N}])\p{Lu}{2,}(?![\p{L}\p{N}-])")
_FEWEST_TO_TURN = 4


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


def meaning(text: str, language: str) -> list[Any]:
    """Return, as JSON values, what two questions must have equal to ask the same in other words.

    Codes, numbers, days, and names and marks in their order; whether something is denied, and what
    is left out or all that is meant; and every word but the few that say nothing, by its stem, in
    the same order or in one that begins elsewhere, as "On Sundays, when" and "When ... on Sundays".
    It is strict on purpose: opposite questions are nearer to each other, in cosine, than most
    paraphrases.
    """
    stated = facts(text, language)
    stand = stance(text, language)
    return [
        language,
        sorted(stated.codes),
        sorted(stated.numbers),
        sorted(repr(day) for day in stated.days),
        sorted(stated.weekdays),
        list(stated.names),
        _CAPITALS.findall(text),
        _MARKS.findall(text),
        [stand.denied, stand.excepted, list(stand.only)],
        list(_turned(_said(text, language))),
    ]


def _said(text: str, language: str) -> list[str]:
    """Return the stems of the words that count, in order; a question for a price in one form."""
    plain = fold(_POLITE.sub(" ", fold(with_digits(with_one_spelling(text), language))))
    plain = _PRICE_OF.sub(" price ", plain)
    plain = _COSTS.sub(r" price \g<of>", plain)
    free, same = _FREE.get(language, frozenset()), _ALIKE.get(language, {})
    return [stem(same.get(word, word), language) for word in words(plain) if word not in free]


def _turned(said: Sequence[str]) -> tuple[str, ...]:
    """Return the words so that those which go round the same way are equal."""
    if len(said) < _FEWEST_TO_TURN:
        return tuple(said)
    return min(tuple(said[at:]) + tuple(said[:at]) for at in range(len(said)))
