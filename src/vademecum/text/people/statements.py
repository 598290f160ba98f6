"""What does a statement say of whom: where somebody lives, what they like, on which port it runs?

Patterns for what people tell of themselves, in English, Portuguese and Spanish. A statement that
none of them fits has no attribute; it is compared by its words.
"""

from dataclasses import dataclass

import regex

from vademecum.text.content import content_words
from vademecum.text.late import late
from vademecum.text.normalise import fold, plain

SELF = "self"

_I = r"(?:i|eu|yo|(?:the |o |a |el |la )?(?:user|usuari[oa]))"
_MY = r"(?:my|meus?|minhas?|mis?|(?:the )?user['’]s)"
# No pronoun: of whom "she" tells is not known here.
_WHO = (
    r"(?!(?:nao|no|not|nunca|never|me|te|se|le|les|ya|ja|i|eu|yo|he|she|it|we|you|they|ele|ela|eles"
    r"|elas|voce|nos|ellos|ella|el|usted|who|that|this|and|but|if|it's|there|now|today|really|still"
    r"|also|currently|agora|hoje|ainda|tambem|atualmente|ahora|hoy|aun|todavia|tambien)\b)"
    rf"(?:{_MY} \p{{L}}+(?: \p{{L}}+)?|\p{{L}}+)"
)
_OFTEN = (
    r"(?:(?:really|still|now|also|just|currently|always|agora|tambem|ja|ainda|ahora|ya|aun"
    r"|tambien) )*"
)
# Words that date a statement or make it stronger, and change nothing of what it says.
_TIMES = late(
    r"\b(?:now|nowadays|currently|any ?more|any longer|no longer|these days|today|actually|lately"
    r"|agora|hoje|atualmente|ultimamente|na verdade|ahora|hoy|actualmente|ultimamente|en realidad"
    r"|very much|a lot|so much|too|as well|muito|demais|tambem|mucho|tambien|ja|ya|mais|mas"
    r"|really|still|ainda|todavia|aun)\b"
)
_DENIED = late(r"\b(?:not|never|no longer|nao|nunca|jamais|no|ya no)\b")
_SPACES = late(r"\s+")
_EDGES = " \t\n.,;:!?¡¿\"'“”«»-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """`subject` is `self`, or who or what it is about; `attribute` names what is told of it;
    `value` holds the content words of what it is. With `single` the attribute has one value at a
    time, so that another one replaces it. `positive` is False for a denial or a dislike."""

    subject: str
    attribute: str
    value: tuple[str, ...]
    positive: bool
    single: bool

    @property
    def topic(self) -> str:
        """A key that is equal for two values of one thing, "" where values may stand together."""
        return f"{self.subject}/{self.attribute}" if self.single else ""


# What "my … is" tells of, of which there is one at a time, in one name for all three languages.
_SINGLE = {
    "name": "name nome nombre", "birthday": "birthday aniversario cumpleanos",
    "age": "age idade edad", "address": "address endereco morada direccion",
    "phone": "phone telephone mobile telefone celular telemovel telefono movil",
    "e-mail": "email e-mail correo", "employer": "employer empregador empleador",
    "job": "job profession occupation trabalho emprego profissao trabajo empleo profesion",
    "size": "size tamanho talla", "height": "height altura estatura", "weight": "weight peso",
    "nationality": "nationality nacionalidade nacionalidad", "timezone": "timezone fuso",
    "appointment": "appointment consulta cita", "meeting": "meeting reuniao reunion",
    "flight": "flight voo vuelo", "train": "train comboio trem tren",
    "deadline": "deadline prazo plazo", "wedding": "wedding casamento boda",
    "boss": "boss chefe jefe", "dentist": "dentist dentista", "doctor": "doctor medico medica",
    "residence": "city cidade ciudad hometown", "port": "port porta puerto",
    "room": "room quarto habitacion", "seat": "seat assento asiento", "budget": "budget orcamento "
    "presupuesto",
}  # fmt: skip
_NAMES_OF_SINGLE = {word: name for name, words in _SINGLE.items() for word in words.split()}
_FAVOURITE = frozenset(["favourite", "favorite", "favorito", "favorita", "preferido", "preferida"])

_RESIDENCE = late(
    rf"(?:(?P<self>{_I} )|(?P<who>{_WHO}) )?{_OFTEN}(?P<verb>"
    rf"(?:do not |does not |am not |is not |no longer )?(?:live|lives|living|am living|is living"
    rf"|reside|resides|am based|is based) (?:in|at)"
    rf"|(?:have |has )?(?:just )?moved (?:house )?(?:to|into)"
    rf"|(?:nao )?(?:moro|vivo|resido|mora|vive|reside) (?:em|no|na|nos|nas)"
    rf"|(?:me )?mud(?:ei|ou)(?:[- ](?:me|se))? (?:para|pra|pro) (?:o |a )?"
    rf"|(?:ya )?(?:no )?(?:vivo|resido|vive|reside) en|(?:me|se) mud(?:e|o) a"
    rf") (?P<value>.+)"
)
_TASTE = late(
    rf"(?:(?P<self>{_I} )|(?:a )?(?P<who>{_WHO}) )?{_OFTEN}"
    rf"(?P<not>(?:do not|does not|did not|can not|cannot|no longer|never|nao|ya no|no) )?{_OFTEN}"
    rf"(?:(?:me|le|les) )?(?P<verb>"
    rf"loves?|likes?|enjoys?|adores?|prefers?|am fond of|is fond of|hates?|dislikes?|detests?|stand"
    rf"|amo|ama|adoro|adora|gosto d[eoa]s?|gosta d[eoa]s?|curto|curte|prefiro|prefere|odeio|odeia"
    rf"|detesto|detesta|gustan?|encantan?|odio|prefiero|prefiere"
    rf") (?P<value>.+)"
)
_DISLIKES = ("hate", "dislike", "detest", "odei", "odi")
_WORK = late(
    rf"(?:(?P<self>{_I} )|(?P<who>{_WHO}) )?{_OFTEN}(?P<verb>"
    rf"(?:work|works|working|am working|is working) (?P<en>at|for|in|as an?)"
    rf"|trabalh[oa] (?P<pt>para|em|no|na|como)|trabaj[oa] (?P<es>para|en|como)) (?P<value>.+)"
)
_AGE = late(
    rf"(?:(?P<self>{_I} )|(?P<who>{_WHO}) )?{_OFTEN}(?:am|is|turned|tenho|tem|tengo|tiene|fiz|fez)"
    rf" (?P<value>\d+) (?:years? old|anos)"
)
_CALLED = late(
    rf"(?:(?P<self>{_I} ))?(?:(?:am|want to be|prefer to be) called|(?:please )?call me|me chamo"
    rf"|chamo[- ]me|(?:pode )?me chamar? de|me llamo|llamame) (?P<value>.+)"
)
_PORT = late(
    r"(?P<who>.*?)(?:\b(?:port|porta|puerto) (?:number )?(?:is |e |es |= ?)?|\b(?:localhost"
    r"|[\d.]{7,15}|[\w-]+(?:\.[\w-]+)+):)(?P<value>\d{2,5})\b.*"
)
_PORT_WORDS = frozenset(
    """
    run runs running listen listens listening serve serves served server service available
    reachable roda corre escuta ouve servidor servico escucha servicio
    """.split()  # noqa: SIM905 - a list of so many strings would fill a page
)
_IS = late(
    rf"(?:(?P<self>{_MY}) |(?P<who>{_WHO})['’]s? |(?:the|o|a|el|la) )"
    r"(?P<attribute>[\p{L} -]{2,40}?)"
    rf"(?P<of> (?:of|d[eoa]s?|del) (?P<owner>{_WHO}))?"
    rf" (?:(?:is|are|was|e|sao|es|son|fica|comeca|starts|leaves)(?P<not> not)?|(?P<no>nao e|no es)"
    rf"|=|:) (?P<value>.+)"
)


def canonical(text: str) -> str:
    """Return the text as patterns read it: folded, contractions written out, without the marks at
    its ends and the words that only date it."""
    spread = fold(plain(text)).replace("’", "'")
    for short, long in (
        ("can't", "can not"), ("won't", "will not"), ("n't", " not"), ("i'm", "i am"),
        ("i've", "i have"), ("i'd", "i would"), ("i'll", "i will"), ("'re", " are"),
        ("'ve", " have"), ("he's", "he is"), ("it's", "it is"),
    ):  # fmt: skip
        spread = spread.replace(short, long)
    return _SPACES.sub(" ", spread).strip(_EDGES)


def statement(text: str) -> Statement | None:
    """Return what the text says, None where no pattern fits it."""
    return statement_in(canonical(text))


def statement_in(said: str) -> Statement | None:
    """Return what a text says that was made canonical, None where no pattern fits it."""
    for read in (_residence, _taste, _work, _age, _called, _port, _is):
        found = read(said)
        if found is not None and found.value:
            return found
    return None


def value_words(text: str) -> tuple[str, ...]:
    """Return the content words of a value, without words that only date it."""
    return tuple(content_words(without_times(text)))


def without_times(text: str) -> str:
    """Return the text without words that only date it."""
    return _TIMES.sub(" ", text)


def _subject(match: regex.Match[str]) -> str:
    """Return whom a sentence is about; without a subject of its own it is the person's."""
    who = match.groupdict().get("who")
    return " ".join(_named(who)) if who else SELF


def _named(who: str) -> list[str]:
    return [w for w in content_words(who) if not regex.fullmatch(_MY, w)] or [who]


def _residence(said: str) -> Statement | None:
    match = _RESIDENCE.fullmatch(said)
    if match is None:
        return None
    return Statement(
        subject=_subject(match),
        attribute="residence",
        value=value_words(match["value"]),
        positive=not _DENIED.search(match["verb"]),
        single=True,
    )


def _taste(said: str) -> Statement | None:
    match = _TASTE.fullmatch(said)
    if match is None or (match["verb"] == "stand" and not match["not"]):
        return None
    disliked = match["verb"].startswith(_DISLIKES)
    denied = bool(match["not"]) or match["value"].endswith(("no longer", "any longer"))
    negative = denied if match["verb"] == "stand" else disliked != denied
    return Statement(
        subject=_subject(match),
        attribute="taste",
        value=value_words(match["value"]),
        positive=not negative,
        single=False,
    )


def _work(said: str) -> Statement | None:
    match = _WORK.fullmatch(said)
    if match is None:
        return None
    how = match["en"] or match["pt"] or match["es"]
    return Statement(
        subject=_subject(match),
        attribute="job" if how.startswith(("as", "como")) else "employer",
        value=value_words(match["value"]),
        positive=True,
        single=True,
    )


def _age(said: str) -> Statement | None:
    return _single(_AGE.fullmatch(said), "age")


def _called(said: str) -> Statement | None:
    return _single(_CALLED.fullmatch(said), "name")


def _single(match: regex.Match[str] | None, attribute: str) -> Statement | None:
    if match is None:
        return None
    return Statement(
        subject=_subject(match),
        attribute=attribute,
        value=value_words(match["value"]),
        positive=True,
        single=True,
    )


def _port(said: str) -> Statement | None:
    match = _PORT.fullmatch(said)
    if match is None:
        return None
    who = [word for word in content_words(match["who"]) if word not in _PORT_WORDS]
    return Statement(
        subject=" ".join(who),
        attribute="port",
        value=(match["value"],),
        positive=not _DENIED.search(match["who"]),
        single=True,
    )


def _is(said: str) -> Statement | None:
    match = _IS.fullmatch(said)
    if match is None:
        return None
    words = content_words(match["attribute"])
    favourite = [word for word in words if word not in _FAVOURITE]
    known = [_NAMES_OF_SINGLE[word] for word in words if word in _NAMES_OF_SINGLE]
    if len(favourite) < len(words) and favourite:
        attribute = f"favourite {' '.join(favourite)}"
    elif known:
        # "My dentist appointment": what is said before the last word tells which one it is.
        attribute = " ".join(_NAMES_OF_SINGLE.get(word, word) for word in words)
    else:
        return None
    owner = match["who"] or match["owner"]
    if owner is None and match["self"] is None:
        return None  # "the meeting is at 4" is of nobody in particular
    subject = " ".join(_named(owner)) if owner else SELF
    return Statement(
        subject=SELF if regex.fullmatch(_I, subject) else subject,
        attribute=attribute,
        value=value_words(match["value"]),
        positive=not (match["not"] or match["no"]),
        single=True,
    )
