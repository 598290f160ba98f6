"""Is a turn an order to remember, to forget or to correct something, and what?

Only a whole turn in the imperative is one, in English, Portuguese or Spanish. What stands in
quotes, in a pasted text or in a question is none.
"""

from dataclasses import dataclass
from typing import Literal

import regex

from vademecum.text.late import late
from vademecum.text.sentences import sentence_spans

Verb = Literal["remember", "forget", "correct"]
Spoken = Literal["en", "es", "pt"]
_MOST_LETTERS = 1_000
_PLEASE = {
    "en": r"(?:(?:please|hey|ok(?:ay)?|and|also)[,!]?\s+)*",
    "pt": r"(?:(?:por\s+favor|ei|ok|e|também)[,!]?\s+)*",
    "es": r"(?:(?:por\s+favor|oye|ok|y|también)[,!]?\s+)*",
}
_REMEMBER = {
    "en": r"(?:(?:remember|memori[sz]e|keep\s+in\s+mind|bear\s+in\s+mind|note(?:\s+down)?"
    r"|take\s+note|make\s+a\s+note|don['’]?t\s+forget|do\s+not\s+forget)(?:\s+that\s+|\s*:\s*)"
    r"|remember,?\s+(?=(?:i|i['’]m|i['’]ve|my)\s))",
    "pt": r"(?:lembre(?:-se)?|lembra(?:-te)?|memorize|memoriza|anote|anota|guarde|guarda|grave"
    r"|n[ãa]o\s+(?:se\s+|te\s+)?esque[çc]as?)(?:\s+de)?(?:\s+que\s+|\s*:\s*)",
    "es": r"(?:recuerda|recuerde|acu[ée]rdate|anota|anote|apunta|guarda|memoriza|ten\s+en\s+cuenta"
    r"|no\s+(?:te\s+)?olvides)(?:\s+de)?(?:\s+que\s+|\s*:\s*)",
}
_FORGET = {
    "en": r"forget(?:\s+(?:that|about)\s+|\s*:\s*|\s+(?=(?:my|i)\s))",
    "pt": r"(?:esque[çc]a|esque[çc]e)(?:[- ]se)?(?:\s+(?:de\s+)?que\s+|\s+(?:de|do|da|sobre)\s+"
    r"|\s*:\s*|\s+(?=(?:o\s+|a\s+)?(?:meus?|minhas?)\s))",
    "es": r"(?:olvida|olvide|olv[íi]date)(?:\s+(?:de\s+)?que\s+|\s+(?:de|sobre)\s+|\s*:\s*"
    r"|\s+(?=(?:mis?)\s))",
}
_FORGET_LAST = {
    "en": r"forget\s+(?:that|this|it|about\s+(?:that|it|this))",
    "pt": r"(?:esque[çc]a|esque[çc]e)\s+(?:isso|isto|disso|disto)",
    "es": r"(?:olvida|olvide)\s+(?:eso|esto)|olv[íi]dalo|olv[íi]date\s+de\s+(?:eso|esto)",
}
_CORRECT = {
    "en": r"(?:no[,.!]?\s+)?(?:that|this)(?:['’]s|\s+is|\s+was)\s+(?:all\s+)?"
    r"(?:wrong|not\s+(?:right|true|correct)|incorrect|false|a\s+mistake)\s*[,.;:!–—-]+\s*",
    "pt": r"(?:n[ãa]o[,.!]?\s+)?(?:isso|isto)\s+(?:est[áa]|é|e)\s+"
    r"(?:errad[oa]|incorret[oa]|fals[oa]|mentira|um\s+erro)\s*[,.;:!–—-]+\s*",
    "es": r"(?:no[,.!]?\s+)?(?:eso|esto)\s+(?:est[áa]\s+mal|es\s+(?:incorrecto|falso|un\s+error)"
    r"|no\s+es\s+(?:cierto|verdad|correcto|as[íi])|est[áa]\s+equivocado)\s*[,.;:!–—-]+\s*",
}
# "It is …": what follows is only the part that was wrong.
_IT_IS = {
    "en": r"(?:it(?:['’]s|\s+is|\s+was)|make\s+it)\s+",
    "pt": r"(?:na\s+verdade\s+)?(?:é|são|era|foi)\s+",
    "es": r"(?:en\s+realidad\s+)?(?:es|son|era|fue)\s+",
}
_SPOKEN: tuple[Spoken, ...] = ("en", "pt", "es")
_PREPOSITION = late(
    r"\b(?:at|in|on|to|for|with|from|of|by|em|no|na|nos|nas|às|ao|à|para|com|de|do|da|por|en|con|al"
    r"|del|a\s+las?)\s+",
    regex.IGNORECASE,
)
_COPULA = late(
    r"\b(?:is|are|am|was|were|é|são|está|estão|era|es|son|eran|fica)\s+", regex.IGNORECASE
)
_END = late(r"[\s.!]+$")


def _compiled(tables: dict[str, str], after: str) -> dict[str, regex.Pattern[str]]:
    return {
        spoken: late(rf"{_PLEASE[spoken]}(?:{table}){after}", regex.IGNORECASE)
        for spoken, table in tables.items()
    }


_REMEMBERS = _compiled(_REMEMBER, r"(?P<what>\S.*)")
_FORGETS = _compiled(_FORGET, r"(?P<what>\S.*)")
_FORGETS_LAST = _compiled(_FORGET_LAST, r"\s*[.!]*")
_CORRECTS = _compiled(_CORRECT, r"(?P<what>\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is to be done with memories. `text` is what is said after the order, "" where that
    means what was said last. `fragment`: it is only the part that was wrong. `language` is the
    one that the order is in."""

    verb: Verb
    text: str
    language: Spoken
    fragment: bool = False


def read_command(turn: str) -> Command | None:
    """Return the order that a turn is, None where it is none."""
    said = turn.strip()
    if len(said) > _MOST_LETTERS or "\n" in said or said.endswith(("?", "？")):
        return None
    for spoken in _SPOKEN:
        if _FORGETS_LAST[spoken].fullmatch(said):
            return Command(verb="forget", text="", language=spoken)
        if match := _CORRECTS[spoken].fullmatch(said):
            return _correction(match["what"], spoken)
        if len(sentence_spans(said)) > 1:
            continue
        if match := _FORGETS[spoken].fullmatch(said):
            return Command(verb="forget", text=_whole(match["what"]), language=spoken)
        if match := _REMEMBERS[spoken].fullmatch(said):
            return Command(verb="remember", text=_whole(match["what"]), language=spoken)
    return None


def _correction(what: str, spoken: Spoken) -> Command | None:
    if len(sentence_spans(what)) > 1:
        return None
    part = regex.match(_IT_IS[spoken], what, regex.IGNORECASE)
    text = what[part.end() :] if part else what
    return Command(
        verb="correct", text=_whole(text) if not part else text, language=spoken,
        fragment=part is not None,
    )  # fmt: skip


def _whole(text: str) -> str:
    return text[:1].upper() + text[1:]


def amended(text: str, part: str) -> str | None:
    """Return a statement with its last part replaced: "My appointment is at 4" with "5 pm" or with
    "at 5 pm". None where it cannot be told which part is meant."""
    statement, said = _END.sub("", text), _END.sub("", part)
    own = _PREPOSITION.match(said)
    places = list(_PREPOSITION.finditer(statement))
    if own is not None:
        word = own.group().split()[0].casefold()
        places = [place for place in places if place.group().split()[0].casefold() == word]
        return statement[: places[0].start()] + said if len(places) == 1 else None
    if len(places) == 1:
        return statement[: places[0].end()] + said
    copulas = list(_COPULA.finditer(statement))
    if not places and len(copulas) == 1:
        return statement[: copulas[0].end()] + said
    return None
