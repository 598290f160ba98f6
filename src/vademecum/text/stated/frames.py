"""From whom to whom does something go, and who does it to what?"""

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from vademecum.text.content import alike, is_light
from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.quantities import is_unit

# Verbs by which the subject gives something to somebody, and those by which it gets it. Folded.
_GIVES = (
    r"sen[dt]s?|sending|giv(?:es?|en|ing)|gave|pays?|paid|paying|hand(?:s|ed|ing)?|pass(?:es|ed|ing)?"
    r"|deliver\w*|forward(?:s|ed)?|writes?|written|wrote|lends?|lent|sells?|sold|notif\w+|lets|provid(?:e|es|ed)|issue[sd]?|inform(?:s|ed)"
    r"|tells?|told|call(?:s|ed)?|phone[sd]?|rings?|rang|texts?|texted|e-?mail(?:s|ed)?|return(?:s|ed)?"
    r"|reports?|reported|suppl(?:y|ies|ied)|owe[sd]?|refund(?:s|ed)?|repa(?:y|ys|id)|transfer\w*"
    r"|submit\w*|grant(?:s|ed)?|brings?|brought|sublets?|let|offer(?:s|ed)?|award\w*|reimburse\w*"
    r"|leaves?|left|help(?:s|ed)?|remind(?:s|ed)?|warn(?:s|ed)?|answer(?:s|ed)?"
    r"|envi\w+|entreg\w+|paga[mn]?|pago|pagad?[oa]s?|dao|dad[oa]s?|repass\w+|encaminh\w+|devolv\w+"
    r"|devuelv\w+|devuelt\w+|restitu\w+|avis(?:a[mn]?|ad[oa]s?)|inform(?:a[mn]?|ad[oa]s?)"
    r"|comunic(?:a[mn]?|ad[oa]s?)|notific\w+|telefon\w+|liga[m]?|emprest\w+|vend\w+|doa[mn]?|manda[mn]?"
    r"|mandad[oa]s?|transfer\w+|transfier\w+|remit\w+|llama[n]?|presta[n]?|dona[n]?|abona[n]?"
    r"|lleg(?:ar|a)|ingresa[n]?|cede[mn]?|deixa(?:m|d[oa]s?)?|dej(?:a|an|ad[oa]s?)|ayuda[n]?|ajuda[m]?"
    r"|encarg(?:a[n]?|ad[oa]s?)|oferec\w+|ofrec\w+|pagamento|apresent\w+|recuerda\w*"
)
_GETS = (
    r"receiv(?:es?|ed|ing)|gets?|got|obtain(?:s|ed)?|buys?|bought|purchase[sd]?|borrow(?:s|ed)?"
    r"|collect(?:s|ed)?|takes?|taken|hears?|learns?|receb\w+|recib\w+|compr\w+|obt\w+|cobr\w+|retir\w+"
    r"|recog\w+|enter(?:a|an)|toma[mn]?|fica[m]?\s+sabendo"
)
# Which way depends on the preposition: leased to one, from another.
_BOTH = r"leas(?:es?|ed)|rents?|rented|hires?|hired|alug\w+|alquil\w+|arrend\w+"
_VERB = late(
    rf"(?<![\p{{L}}-])(?:(?P<gives>{_GIVES})|(?P<gets>{_GETS})|(?P<both>{_BOTH}))(?![\p{{L}}])"
)
_KEYS = ("to", "from", "by", "with", "bare", "object", "theme", "other")
_MARKS = {
    word: key
    for key, words in (
        ("to", "to a al ao aos para"),
        ("from", "from de do da dos das del"),
        ("by", "by por pelo pela pelos pelas"),
        ("with", "with com con"),
    )
    for word in words.split()
}
_OTHER = frozenset([
    "for", "in", "on", "at", "within", "until", "till", "before", "after", "during", "when", "if",
    "about", "over", "under", "em", "no", "na", "nos", "nas", "ate", "quando", "en", "hasta",
    "antes", "tras", "depois", "despues", "durante", "sobre", "cuando", "si", "unless", "once",
]
)  # fmt: skip
_TOKEN = late(r"[\p{L}\p{M}][\p{L}\p{M}'’-]*|\d+|[,;]")
_RELATIVE = frozenset(["que", "what", "which", "who", "whom", "quem", "quien", "cuyo", "cuya"])
_A_GRAVE = late(r"(?i)(?<!\p{L})à(s?)(?!\p{L})")
# "Dá", and in Spanish "le da"; in Portuguese "da" is "of the".
_GIVES_IT = late(r"(?i)(?<!\p{L})(?:dá|(?<=l[ea]s?\s)da)(?!\p{L})")
_BACK = late(r"(?<!\p{L})de\s+(?:volta|vuelta|novo|nuevo|graca)(?!\p{L})")
_ARTICLES = frozenset([
    "the", "a", "an", "o", "os", "as", "el", "la", "los", "las", "un", "una", "um", "uma", "su",
    "sus", "seu", "sua", "seus", "suas",
]
)  # fmt: skip
_PASSIVE = frozenset([
    "is", "are", "was", "were", "be", "been", "being", "e", "sao", "foi", "foram", "ser", "sido",
    "es", "son", "fue", "fueron", "seran", "sera", "serao", "fica", "ficam",
]
)  # fmt: skip
_CLITIC = late(r"(?<!\p{L})(?:les?|lhes?|them|him|her)(?!\p{L})")
_INFINITIVE = late(r"[aei]r(?:se|l[aeo]s?)?$")
_IT = late(r"(?<!\p{L})l[ao]s?\s+$")  # right before the verb: "se la paga el vendedor"
_BE = r"is|are|was|were|be|been|being|e|sao|foi|foram|ser|es|son|fue|fueron|sera|serao|seran"
_PASSIVE_BY = late(
    rf"(?<!\p{{L}})(?:{_BE})\s+(?P<verb>\p{{L}}+(?:ed|[ai]d[oa]s?|own|ken|ven|ten|ught))\b"
    r"(?=(?:\s+\p{L}+){0,4}\s+(?:by|por|pel[oa]s?)\s)"
)
_A_TO = late(
    r"(?i)(?<!\p{L})a\s+(?=(?:uma?s?|outr[oa]s?|quem|terceiros?|cada|tod[oa]s?|ess[ea]s?|est[ea]s?)\s)"
)
_PARTICIPLE = late(r"(?:ed|[ai]d[oa]s?|sent|paid|given|sold|told|lent|written)$")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Something goes from whom to whom: content words of both, folded."""

    sources: frozenset[str]
    targets: frozenset[str]

    def against(self, other: "Transfer") -> bool:
        """Return whether the two go opposite ways: the source of the one is the target of the
        other, and nothing goes the same way."""
        return sum(self.crossed(other)) > sum(self.straight(other))

    def like(self, other: "Transfer") -> bool:
        """Return whether both go the same way."""
        return sum(self.straight(other)) > sum(self.crossed(other))

    def straight(self, other: "Transfer") -> tuple[bool, bool]:
        """Return whether the sources are the same, and whether the targets are."""
        return _meet(self.sources, other.sources), _meet(self.targets, other.targets)

    def crossed(self, other: "Transfer") -> tuple[bool, bool]:
        """Return whether each side's source is the other's target."""
        return _meet(self.sources, other.targets), _meet(self.targets, other.sources)


def passive_verb(text: str, language: str) -> str:
    """Return the verb, folded, of a passive that names who does it ("is trained by"), or ""."""
    match = _PASSIVE_BY.search(_prepared(text, language))
    return match["verb"] if match else ""


def transfer(text: str, language: str, before: str = "", verb: str = "") -> Transfer | None:
    """Return from whom to whom the first verb of giving or getting in a text moves something, or
    None. A passive of any verb, and any form of the folded word `verb`, count as giving.

    `before` is what the sentence says before: its last noun is the subject of "who sends", and
    the one that "them" is.
    """
    folded = _prepared(text, language)
    found = _verb(folded, verb)
    if found is None:
        return None
    said = _marked(folded, found.span(), _way(found) != "gives", _marks(language))
    earlier = _nouns(_prepared(before, language))
    if not said["to"] and earlier and _CLITIC.search(folded):
        said["to"] = frozenset(earlier[-1:])
        said["bare"] = said["bare"] or frozenset(earlier[:-1])
    said["bare"] = said["bare"] or frozenset(earlier[-1:])
    if _way(found) == "gets" or (_way(found) == "both" and not said["to"]):
        sources, targets = _gets(said, clitic=_CLITIC.search(folded) is not None)
    else:
        doubled = _IT.search(folded, 0, found.start()) is not None
        sources, targets = _gives(said, found.group(), doubled=doubled)
    sources -= targets
    return Transfer(sources, targets) if sources and targets else None


_Said = dict[str, frozenset[str]]
_Sides = tuple[frozenset[str], frozenset[str]]


def _verb(text: str, verb: str) -> regex.Match[str] | None:
    """Return the verb of a text: of giving or getting, the given one, or a passive."""
    if verb:
        return next((m for m in _TOKEN.finditer(text) if alike(m.group(), verb)), None)
    return _VERB.search(text) or (
        regex.compile(regex.escape(m["verb"])).search(text, m.start("verb"))
        if (m := _PASSIVE_BY.search(text))
        else None
    )


def _way(verb: regex.Match[str]) -> str:
    return next((name for name, word in verb.groupdict().items() if word), "gives")


def _gets(said: _Said, *, clitic: bool) -> _Sides:
    """Return who gives and who gets where the verb is one of getting. In Spanish one buys "le ...
    al" another."""
    givers = said["from"] | said["by"] or (said["to"] if clitic else frozenset())
    return givers, said["bare"] | said["theme"] if givers else frozenset()


def _gives(said: _Said, verb: str, *, doubled: bool) -> _Sides:
    """Return who gives and who gets where the verb is one of giving; `doubled`: what is given
    stands before the verb and in a pronoun, who gives behind it."""
    if said["to"] and said["object"] and doubled:
        return said["object"], said["to"]
    passive = bool(said["passive"]) or _PARTICIPLE.search(verb) is not None
    if passive and said["by"]:
        return said["by"], said["to"] or said["with"] or said["bare"]
    return said["bare"], said["to"] or (frozenset() if passive else said["object"]) or said["with"]


def _prepared(text: str, language: str) -> str:
    """Return the folded text, the preposition "à" and "a" apart from the article "a"."""
    text = _GIVES_IT.sub("entrega", _A_GRAVE.sub(r"para \1", text))
    if language == "pt":
        text = _A_TO.sub("para ", text)
    return _BACK.sub(" ", fold(text))


def _marks(language: str) -> Mapping[str, str]:
    """Return what each preposition marks; in English and Portuguese "a" is an article."""
    return _MARKS if language == "es" else {w: k for w, k in _MARKS.items() if w != "a"}


def _marked(
    text: str, verb: tuple[int, int], gets: bool, marks: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """Return the content words by what stands before them: to, from, by, with, other, or nothing:
    `bare` before the verb, `object` right behind it, `theme` further on; `passive` is its mark."""
    found: dict[str, set[str]] = {key: set() for key in (*_KEYS, "passive")}
    key = "bare"
    previous = ""
    for match in _TOKEN.finditer(text):
        word = match.group()
        behind = match.start() >= verb[1]
        if match.start() == verb[0]:
            key = "object"
        elif match.end() <= verb[0] or behind:
            if word in _PASSIVE and not behind:
                found["passive"].add(word)
            full = bool(found["object"])
            key = _next_key(word, previous, key, behind=behind, gets=gets, full=full, marks=marks)
            if key == "to" and word not in marks and previous == "a" and _INFINITIVE.search(word):
                key = "other"  # "ayudan a abrocharse"
            if not _is_little(word) and word not in _MARKS:
                found[key].add(word)
        previous = word
    return {name: frozenset(words) for name, words in found.items()}


def _next_key(
    word: str,
    previous: str,
    key: str,
    *,
    behind: bool,
    gets: bool,
    full: bool,
    marks: Mapping[str, str],
) -> str:
    """Return what the noun that follows is. An article that no preposition stands before begins
    another noun, and so does a number behind the verb's object."""
    if word in marks and not (word == "a" and not behind and previous in ("", ",")):
        mark = marks[word]
        return mark if mark != "from" or word == "from" or (gets and behind) else key
    if word in _OTHER or (behind and word in _RELATIVE):
        return "other"
    begins = word in _ARTICLES and previous not in marks and previous not in _OTHER
    if not behind:
        return "bare" if begins or word in (",", ";") else key
    if key == "object":
        return "theme" if (begins and full) or word[0].isdigit() else key
    return "theme" if begins or word in (",", ";") else key


def _is_little(word: str) -> bool:
    """Return whether a word is nobody who gives or gets."""
    return word in _ARTICLES or is_light(word) or not word[0].isalpha() or is_unit(word)


def _nouns(text: str) -> list[str]:
    words = _TOKEN.findall(text)
    return [w for w in words if not (_is_little(w) or w in _MARKS or _VERB.fullmatch(w))]


def _meet(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return any(alike(one, other) for one in mine for other in theirs)
