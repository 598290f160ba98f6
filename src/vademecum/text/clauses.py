"""What does each part of a sentence say, and what does it deny?"""

from dataclasses import dataclass

from vademecum.text.content import alike, content_words
from vademecum.text.late import late
from vademecum.text.names import name_words
from vademecum.text.normalise import fold
from vademecum.text.number_words import with_digits
from vademecum.text.numbers import with_one_spelling

# Words that turn a clause round, and others that only come with them ("não ... nenhum").
_NOT = (
    r"not|cannot|\w+n['’]t|never|nobody|no\s+one|none|nothing|neither|nor|nowhere"
    r"|nao|nunca|jamais|nenhum[as]?|nenhuns|ninguem|nada|nem|tampouco"
    r"|no|jamas|ningun[oa]?s?|nadie|ni|tampoco"
    r"|(?:em|en)\s+(?:caso|hipotese|modo|forma)\s+alg?un[oa]?s?"
    r"|(?:em|en)\s+(?:caso|hipotese|modo|forma)\s+algum[as]?|de\s+(?:modo|forma)\s+algum[a]?"
    r"|nicht|kein\w*|pas|aucun\w*|niet|geen"
)
_WITHOUT = late(r"(?<!\p{L})(?:without|sem|sin|ohne|sans)\s(?!mas\b|mais\b|embargo)")
# "Those who are not members": what is said of them is not denied.
_RELATIVE = late(r"(?:who|that|which|quem|que|quien|quienes)(?:\s+se)?\s+(?:\p{L}+\s+)?$")
_NOT_WORD = late(rf"(?<![\p{{L}}\p{{N}}])(?:{_NOT})(?![\p{{L}}\p{{N}}])")
# Scripts whose denials stand inside words or runs.
_NOT_ANYWHERE = late(
    r"不(?!仅|僅|但|同|断|斷|久|少)|没|沒|未(?!来|來)|勿|禁|无法|無法|ない|ません|なかった|ず、"
    r"|않|없|못|아니|नहीं|छैन|हुँदैन|हुन्न|पाइँदैन|होइन|मत\b|ليس|لا\b|لم\b|لن\b|غير|ممنوع"
    r"|(?<!\p{L})(?:не|нет|ни|нельзя|никогда|никто)(?!\p{L})"
)
_FORBIDDEN = late(
    r"(?<!\p{L})(?:forbid\w*|forbade|prohibit\w*|ban|bans|banned|disallow\w*"
    r"|proib\w*|vedad[oa]s?|vetad[oa]s?|prohib\w*|impedid[oa]s?"
    r"|interdit\w*|verboten)(?!\p{L})"
)
# Verbs and adjectives by which rules allow, demand, or hold. Forms of one kind say the same.
_KINDS = {
    "allow": late(
        r"(?<!\p{L})(?:may|can|could|cannot|can['’]t|allow\w*|permit\w*|admit\w*|accept\w*"
        r"|authori[sz]\w*|welcome|pode|podem|poder\w*|permitid[oa]s?|permite[m]?|permitir"
        r"|aceit\w*|admite[mn]?|admitid[oa]s?|autoriza\w*|puede[ns]?|acepta\w*|valid[oa]?s?"
        r"|vale[mn]?|serve[m]?|sirve[n]?)(?!\p{L})"
    ),
    "demand": late(
        r"(?<!\p{L})(?:must|need\w*|requir\w*|necessary|mandatory|compulsory|deve[m]?|precisa[m]?"
        r"|necess\w*|obrigatori[oa]s?|exig\w*|debe[n]?|necesi\w*|requier\w*|obligatori[oa]s?"
        r"|falta)(?!\p{L})"
    ),
}
_PARTS = late(
    r"[;()–—。；，、：।!?]\s*|[,.:]+(?=\s|$)|\s+-\s+"
    r"|(?<!\w)(?:and|but|while|whereas|e|mas|porém|enquanto|y|pero|mientras|sino|und|et)(?!\w)"
)
_CONDITION = late(
    r"^\W*(?:if|unless|when|si|caso|quando|cuando|a\s+menos|salvo|senao|quien|quem|those\s+who)\s"
)
_CONDITION_PT = late(rf"^\W*se\s|{_CONDITION.pattern}")
# To be lacking is to be without.
_LACKS = frozenset(["falta", "faltam", "faltan", "faltar", "lack", "lacks", "lacking", "fails"])
_NEAR = 3  # content words after the denial that it is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a sentence. `hard` holds its numbers and names, `denied` the words that a denial
    stands before, `without` those that something is said to be without. What is said under a
    condition ("if it is not accepted") denies nothing."""

    words: tuple[str, ...]
    hard: tuple[str, ...]
    negative: bool
    conditional: bool
    denied: tuple[str, ...]
    without: tuple[str, ...]
    kinds: frozenset[str]


def clauses(text: str, language: str) -> list[Clause]:
    """Return the parts of a text between its marks and conjunctions, in order.

    `language` (ISO 639-1) tells what "no" is: in Portuguese no denial.
    """
    text = with_one_spelling(with_digits(text, language))
    names = frozenset(name_words(text, language))
    pieces = _PARTS.split(text.casefold())
    return [clause for piece in pieces if (clause := _clause(fold(piece), language, names)).words]


def _clause(text: str, language: str, names: frozenset[str]) -> Clause:
    denials = [
        match.end()
        for match in _NOT_WORD.finditer(text)
        if not (language == "pt" and match.group() == "no")
        and not _RELATIVE.search(text, 0, match.start())
    ]
    denials += [match.end() for match in _NOT_ANYWHERE.finditer(text)]
    forbidden = bool(_FORBIDDEN.search(text))
    kinds = frozenset(name for name, pattern in _KINDS.items() if pattern.search(text))
    denied = [word for end in denials for word in content_words(text[end:])[:_NEAR]]
    without = [content_words(text[m.end() :])[:1] for m in _WITHOUT.finditer(text)]
    words = content_words(text)
    return Clause(
        words=tuple(words),
        hard=tuple(word for word in words if word in names or word[0].isdigit()),
        # "Not forbidden" denies a denial.
        negative=bool(denials) != forbidden,
        # In Spanish "se" is no "if".
        conditional=bool((_CONDITION_PT if language == "pt" else _CONDITION).search(text)),
        denied=tuple(dict.fromkeys(denied)),
        without=tuple(word for found in without for word in found),
        kinds=kinds | {"allow"} if forbidden else kinds,
    )


def contradicts(claim: Clause, source: Clause) -> bool:
    """Return whether two clauses about the same thing stand against each other: one denies what
    the other says. A denial of something else ("does not stop" beside "goes on") does not count.
    """
    if _lacks(claim, source) or _lacks(source, claim):
        return True
    if claim.negative == source.negative or claim.conditional != source.conditional:
        return False
    if claim.kinds & source.kinds:
        return True
    negative, positive = (claim, source) if claim.negative else (source, claim)
    about = negative.denied or negative.words
    return any(alike(word, other) for word in about[:1] for other in positive.words)


def _lacks(one: Clause, other: Clause) -> bool:
    """Return whether one is without what the other has."""
    return any(
        any(alike(word, has) for has in other.words)
        and not other.negative
        and not any(lack in other.words for lack in _LACKS)
        and not any(alike(word, has) for has in other.without)
        for word in one.without
    )
