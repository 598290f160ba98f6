"""What does a statement allow, demand, charge, include, open, or deny of these?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from vademecum.text.content import content_words
from vademecum.text.late import late
from vademecum.text.normalise import fold

# Each axis has words that affirm and words that deny by themselves. Folded: English, Portuguese,
# Spanish, some of Hindi and Nepali.
_AXES: dict[str, tuple[str, str]] = {
    "allow": (
        (
            r"may|can|cannot|can['’]t|could|allow\w*|permit\w*|permission|admit\w*|accept\w*|authori[sz]\w*|welcome"
            r"|possible|within\s+the\s+rules|legal|pode(?:m|mos|ndo)?(?:-se)?|poder\w*|permiti\w*"
            r"|permite\w*|aceit\w*|admit\w*|autoriz\w*|liberad\w*|bem-vind\w*|possivel|posible"
            r"|da\s+para|possa[m]?|pued[ae][ns]?|podra[n]?|acept\w*|bienvenid\w*|apt[oa]s?|सक्छन्|सकिन्छ|पाइन्छ|अनुमति"
        ),
        (
            r"forbid\w*|forbade|prohibit\w*|banned|bans?|disallow\w*|refus\w*|reject\w*|illegal"
            r"|against\s+the\s+rules|impossible|turned\s+away|proib\w*|vedad[oa]s?|vetad[oa]s?|recus\w*"
            r"|impossivel|prohib\w*|rechaz\w*|imposible|impedid\w*|interdit\w*|verboten|मना|निषेध"
        ),
    ),
    "include": (
        (
            r"includ\w*|inclus[ao]s?|cover(?:s|ed|age)?|inclui\w*|incluye\w*|incluid\w*|cobert[oa]s?"
            r"|cobre[m]?|cubre[n]?|cubiert[oa]s?|faz(?:em)?\s+parte"
        ),
        r"exclu[dsiy]\w*|uncovered|left\s+out|deixa[m]?\s+de\s+fora|queda[n]?\s+fuera",
    ),
    "charge": (
        (
            r"pay(?:s|ing|able)?|paid|charge[sd]?|charging|costs?|(?<=no\s)fees?|paga[mnr]?|pague[mn]?"
            r"|cobra\w*|custa[mr]?|cuesta[n]?|(?<=(?:sem|sin|no)\s)(?:custos?|taxas?|costes?|cargos?)"
            r"|abona[nr]?|(?:r\$|us\$|[€£$])\s*\d[\d.,]*|\d\s*(?:€|euros?|reais|dollars?|pounds?|pesos)"
        ),
        (
            r"free\s+of\s+charge|for\s+free|free(?!\s+(?:of|from)(?!\s+charge))|gratis|gratuit\w*"
            r"|de\s+graca|exempt\w*|isent\w*|exent\w*"
        ),
    ),
    "demand": (
        (
            r"must|needs?|needed|requir\w*|necessary|mandatory|compulsory|oblig\w*|have\s+to|has\s+to"
            r"|deve[m]?|precis\w*|necess\w*|exig\w*|tem\s+(?:de|que)|debe[n]?|necesi\w*|necesari\w*"
            r"|requier\w*|hay\s+que|tiene[n]?\s+que|hace\s+falta|पर्छ|पर्दछ|ज़रूरी"
        ),
        r"optional\w*|waive[sd]?|unnecessary|dispens\w*|opciona\w*|facultativ\w*|innecesari\w*",
    ),
    "open": (
        r"open(?:s|ed|ing)?|abr(?:e[mn]?|ir\w*)|abert[oa]s?|abiert[oa]s?|खुल्छ|खुलता|खुला",
        (
            r"clos(?:e[sd]?|ing)|shut(?:s)?|fech\w*|encerrad[oa]s?|cerrad[oa]s?|cierra[n]?|cerrar\w*"
            r"|बन्द|बंद"
        ),
    ),
    "on": (
        r"(?:switch\w*|turn\w*)\s+on|on\s+by\s+default|enabled|ligad[oa]s?|ativad[oa]s?|encendid[oa]s?",
        r"(?:switch\w*|turn\w*)\s+off|off\s+by\s+default|disabled|desligad[oa]s?|apagad[oa]s?",
    ),
    "contain": (
        r"contain\w*|contem|contiene[n]?|lleva[n]?\s+(?=\p{L}+$)",
        r"free\s+(?:of|from)(?!\s+charge)|libre[s]?\s+de|livre[s]?\s+de|\w+-free",
    ),
    # Which of its two ends a span is told by.
    "begin": (
        (
            r"open\w*|start\w*|begin\w*|began|abre[mn]?|abrir\w*|comec\w*|inici\w*|empiez\w*|empez\w*"
            r"|comienz\w*|comenz\w*|from|desde|a\s+partir|खुल\w*"
        ),
        (
            r"clos\w*|end(?:s|ed)?|finish\w*|fech\w*|cierr\w*|cerr\w*|termin\w*|acab\w*|until|till|ate"
            r"|hasta|encerra\w*|last|ultim[oa]|बन्द|बंद"
        ),
    ),
    "end": (
        (
            r"end(?:s|ed|ing)?|expir\w*|lapse[sd]?|void\w*|forfeit\w*|perd\w*|pierd\w*|lose[s]?|lost"
            r"|anula\w*|caduc\w*|acaba\w*"
        ),
        r"keeps?|kept|conserva\w*|mantem|mantiene\w*|stays?\s+valid|remains?\s+valid",
    ),
}
SPAN = "begin"  # the axis that tells two ends apart, and denies nothing
_EDGE, _END = r"(?<![\p{L}\p{M}\p{N}-])", r"(?![\p{L}\p{M}\p{N}])"
_FORMS = {
    axis: tuple(late(rf"{_EDGE}(?:{form}){_END}") for form in forms)
    for axis, forms in _AXES.items()
}
# To be bound not to do something is to be forbidden it.
_MUST_NOT = late(
    rf"{_EDGE}(?:must\s+not|mustn['’]t|should\s+not|shouldn['’]t|(?:nao|nunca)\s+deve[m]?"
    rf"|no\s+debe[n]?|nunca\s+debe[n]?){_END}"
)
_NOT = late(
    rf"{_EDGE}(?:not(?!\s+(?:only|just|until|before|later|less|more|fewer))|cannot|\p{{L}}+n['’]t|never"
    r"|nobody|no[\s-]one|none|nothing|neither|nor|nowhere|no\s+longer|without"
    r"|nao|nunca|jamais|nenhum[as]?|nenhuns|ninguem|nada|nem|tampouco|sem"
    r"|jamas|ningun[oa]?s?|nadie|ni|tampoco|sin"
    r"|(?:em|en)\s+(?:caso|hipotese|modo|forma)\s+alg[u]\w+)"
    rf"{_END}|नहीं|छैन|हुँदैन|हुन्न|पाइँदैन|होइन|पर्दैन|सकिँदैन|सक्दैन"
)
_NO = late(rf"{_EDGE}no(?!\s+(?:more|less|fewer|later|earlier|sooner)\s){_END}")
_SOFT_WITHOUT = frozenset(["without", "sem", "sin"])
_WITH_OR_WITHOUT = late(r"(?:with\s+or\s+without|com\s+ou\s+sem|con\s+o\s+sin)")
_EXCEPT = late(
    rf"{_EDGE}(?:except(?:ed|ing)?|excep?to|salvo|other\s+than|apart\s+from|aside\s+from"
    rf"|a\s+nao\s+ser|a\s+excecao\s+d[eoa]s?|a\s+excepcion\s+de|unless|a\s+menos\s+que|menos"
    rf"(?=\s+(?:el|la|los|las|os?|as?)\s)){_END}"
)
_ONLY = late(
    rf"{_EDGE}(?:only|solely|exclusively|so|somente|apenas|unicamente|exclusivamente|solo|solamente"
    rf"|मात्र|केवल|सिर्फ){_END}"
)
# What is supposed is not said: "if it is not accepted, ...".
_CONDITION = late(
    r"^\W*(?:if|unless|when|once|while|se|si|caso|quando|cuando|mientras|enquanto)\s[^,]*,"
    r"|,?\s(?:if|unless|when|once|si|caso|quando|cuando)\s[^,]*$"
)
_YES = late(r"(?<!\p{L})sí(?!\p{L})", regex.IGNORECASE)
_MOST_RESTRICTED = 4  # content words that "only" is taken to be about


# How many words after a denial it reaches, and after "without".
_REACH, _REACH_WITHOUT = 5, 2
_WORD = late(r"[\p{L}\p{M}\p{N}'’-]+|[,;:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stance:
    """What a statement says on each axis, +1 or -1, all denials counted; `carried` the same with
    what a later statement of its sentence may take over. `denied`: it holds a denial. `excepted`:
    it names an exception from what was said before. `only`: what it is restricted to."""

    signs: Mapping[str, int]
    carried: Mapping[str, int]
    denied: bool
    excepted: bool
    only: tuple[str, ...]


def stance(text: str, language: str) -> Stance:
    """Return what a statement says on each axis. `language` (ISO 639-1) tells what "no" is."""
    # Folded, "sí" (yes) would be "si" (if).
    plain = fold(_YES.sub(" ", text))
    folded = _WITH_OR_WITHOUT.sub(" ", _CONDITION.sub(" ", plain))
    excepted = _EXCEPT.match(folded.lstrip()) is not None
    folded = _EXCEPT.sub(" ", folded)
    banned = _MUST_NOT.search(folded) is not None
    folded = _MUST_NOT.sub(" ", folded)
    denials = _denials(folded, language)
    signs = {axis: sign for axis in _FORMS if (sign := _sign(axis, folded, denials))}
    if banned:
        signs["allow"] = -1
    return Stance(
        signs=signs,
        carried=signs,
        denied=banned or any(reach == _REACH for _, _, reach in denials),
        excepted=excepted,
        only=_restricted(folded),
    )


def without_stance(text: str, language: str) -> str:
    """Return the text, folded, without its denials and the words of the axes: what it is about."""
    folded = fold(text)
    for axis, forms in _FORMS.items():
        if axis != SPAN:
            for form in forms:
                folded = form.sub(" ", folded)
    folded = _NOT.sub(" ", folded)
    return folded if language == "pt" else _NO.sub(" ", folded)


def completed(own: Stance, lead: Stance | None) -> Stance:
    """Return a statement with what it takes over from the ones before it in its sentence: "but not
    in the halls" denies what they allow, an exception turns it round, and a mere addition says
    the same."""
    if lead is None:
        return own
    signs = dict(own.signs)
    silent = not signs.keys() - {SPAN}
    if own.excepted:
        signs = {axis: -sign for axis, sign in lead.carried.items()} | signs
    elif silent and own.denied:
        turned = {a: s if lead.denied else -s for a, s in lead.carried.items()}
        signs = turned | signs
    elif silent:
        signs = dict(lead.carried) | signs
    return Stance(
        signs=signs,
        carried={**lead.carried, **signs},
        denied=own.denied,
        excepted=own.excepted,
        only=own.only,
    )


def _denials(text: str, language: str) -> list[tuple[int, int, int]]:
    """Return (start, end, reach in words) of each denial of a text."""
    found = [
        (m.start(), m.end(), _REACH_WITHOUT if m.group() in _SOFT_WITHOUT else _REACH)
        for m in _NOT.finditer(text)
    ]
    if language != "pt":
        found += [(m.start(), m.end(), _REACH) for m in _NO.finditer(text)]
    return found


def _sign(axis: str, text: str, denials: Sequence[tuple[int, int, int]]) -> int:
    """Return the sign of the last word of an axis; one that denies by itself, as in "exempt from
    paying", counts before those that it governs."""
    positive, negative = _FORMS[axis]
    found = [(m.start(), m.end(), -1) for m in negative.finditer(text)]
    found += [(m.start(), m.end(), 1) for m in positive.finditer(text) if not found]
    if not found:
        return 0
    start, end, sign = max(found)
    before = max((last for first, last, _ in found if first < start), default=0)
    reached = any(d[1] > before and _reaches(text, d, start, end) for d in denials)
    return -sign if reached else sign


def _reaches(text: str, denial: tuple[int, int, int], start: int, end: int) -> bool:
    """Return whether a denial governs the words `start:end`: it holds them, stands closely before
    them, or right behind."""
    first, last, reach = denial
    if first <= start < last:
        return True
    if last <= start:
        between = _WORD.findall(text[last:start])
        return len(between) < reach and "," not in between
    return reach == _REACH and len(_WORD.findall(text[end:first])) == 0


def _restricted(text: str) -> tuple[str, ...]:
    match = _ONLY.search(text)
    if not match:
        return ()
    after = content_words(text[match.end() :])[:_MOST_RESTRICTED]
    return tuple(after or content_words(text[: match.start()])[-1:])
