"""From whom to whom does something go, and who does it to what?"""

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from vademecum.text.content import alike, is_light
from vademecum.text.normalise import fold

# Verbs by which the subject gives something to somebody, and those by which it gets it. Folded.
_GIVES = (
    r"sen[dt]s?|sending|giv(?:es?|en|ing)|gave|pays?|paid|paying|hand(?:s|ed|ing)?|pass(?:es|ed|ing)?"
    r"|deliver\w*|forward(?:s|ed)?|writes?|written|wrote|lends?|lent|sells?|sold|notif\w+|inform(?:s|ed)"
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
_VERB = regex.compile(
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
_OTHER = frozenset(
    "for in on at within until till before after during when if about over under em no na nos nas"
    " ate quando en hasta antes tras depois despues durante sobre cuando si unless once".split()
)
_TOKEN = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}'’-]*|\d+|[,;]")
_A_GRAVE = regex.compile(r"(?i)(?<!\p{L})à(s?)(?!\p{L})")
# "Dá", and in Spanish "le da"; in Portuguese "da" is "of the".
_GIVES_IT = regex.compile(r"(?i)(?<!\p{L})(?:dá|(?<=l[ea]s?\s)da)(?!\p{L})")
_BACK = regex.compile(r"(?<!\p{L})de\s+(?:volta|vuelta|novo|nuevo|graca)(?!\p{L})")
_ARTICLES = frozenset("the a an o a os as el la los las un una um uma su sus seu sua seus suas".split())
_PASSIVE = frozenset(
    "is are was were be been being e sao foi foram ser sido es son fue fueron seran sera sera"
    " serao fica ficam".split()
)
_CLITIC = regex.compile(r"(?<!\p{L})(?:les?|lhes?|them|him|her)(?!\p{L})")
_INFINITIVE = regex.compile(r"[aei]r(?:se|l[aeo]s?)?$")
_DOUBLED = regex.compile(r"(?<!\p{L})se\s+l[ao]s?(?!\p{L})")  # "se la paga el vendedor"
_PARTICIPLE = regex.compile(r"(?:ed|[ai]d[oa]s?|sent|paid|given|sold|told|lent|written)$")


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


def transfer(text: str, language: str, before: str = "") -> Transfer | None:
    """Return from whom to whom the first verb of giving or getting in a text moves something, or
    None. `before` is what its sentence says before: its last noun is the subject of "who sends",
    and the one that "them" is."""
    folded = _romance(text)
    verb = _VERB.search(folded)
    if verb is None:
        return None
    said = _marked(folded, verb, _marks(language))
    earlier = _nouns(_romance(before))
    bare, to = said["bare"], said["to"]
    if not to and earlier and _CLITIC.search(folded):
        to, bare = frozenset(earlier[-1:]), bare or frozenset(earlier[:-1])
    bare = bare or frozenset(earlier[-1:])
    if verb["gets"] is not None or (verb["both"] is not None and not to):
        givers = said["from"] | said["by"]
        return Transfer(givers, bare | said["theme"]) if givers and bare else None
    if to and said["object"] and _DOUBLED.search(folded):
        return Transfer(said["object"], to)
    passive = bool(said["passive"]) or _PARTICIPLE.search(verb.group()) is not None
    sources = said["by"] if passive and said["by"] else bare
    targets = to or (frozenset() if passive else said["object"]) or said["with"]
    sources -= targets
    return Transfer(sources, targets) if sources and targets else None


def _romance(text: str) -> str:
    """Return the folded text, the preposition "à" apart from the article "a"."""
    return _BACK.sub(" ", fold(_GIVES_IT.sub("entrega", _A_GRAVE.sub(r"para \1", text))))


def _marks(language: str) -> Mapping[str, str]:
    """Return what each preposition marks; in English "a" is an article."""
    return {w: k for w, k in _MARKS.items() if w != "a"} if language == "en" else _MARKS


def _marked(
    text: str, verb: regex.Match[str], marks: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """Return the content words by what stands before them: to, from, by, with, other, or nothing:
    `bare` before the verb, `object` right behind it, `theme` further on; `passive` is its mark."""
    found: dict[str, set[str]] = {key: set() for key in (*_KEYS, "passive")}
    key = "bare"
    previous = ""
    for match in _TOKEN.finditer(text):
        word = match.group()
        behind = match.start() >= verb.end()
        if match.start() == verb.start():
            key = "object"
        elif match.end() <= verb.start() or behind:
            if word in _PASSIVE and not behind:
                found["passive"].add(word)
            gets, full = verb["gives"] is None, bool(found["object"])
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
    if word in _OTHER:
        return "other"
    begins = word in _ARTICLES and previous not in marks and previous not in _OTHER
    if not behind:
        return "bare" if begins or word in (",", ";") else key
    if key == "object":
        return "theme" if (begins and full) or word[0].isdigit() else key
    return "theme" if begins or word in (",", ";") else key


def _is_little(word: str) -> bool:
    return word in _ARTICLES or is_light(word) or not word[0].isalpha()


def _nouns(text: str) -> list[str]:
    words = _TOKEN.findall(text)
    return [w for w in words if not (_is_little(w) or w in _MARKS or _VERB.fullmatch(w))]


def _meet(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return any(alike(one, other) for one in mine for other in theirs)
