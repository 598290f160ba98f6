"""How is it said that the documents do not answer, in the language of the question?"""

from vademecum.model.conversation import NO_PAST, Past
from vademecum.text.language import UNKNOWN as UNDETECTED
from vademecum.text.language import detect

UNKNOWN = {
    "en": "I don't know: the documents do not answer this.",
    "pt": "Não sei: os documentos não respondem a isto.",
    "es": "No lo sé: los documentos no responden a esto.",
    "de": "Das weiß ich nicht: Die Dokumente beantworten es nicht.",
    "fr": "Je ne sais pas : les documents n'y répondent pas.",
    "hi": "मुझे नहीं पता: दस्तावेज़ इसका उत्तर नहीं देते।",
    "ne": "मलाई थाहा छैन: कागजातहरूले यसको उत्तर दिँदैनन्।",
}
_PART_UNKNOWN = {
    "en": "The documents do not answer: {part}",
    "pt": "Os documentos não respondem: {part}",
    "es": "Los documentos no responden: {part}",
}
_LANGUAGES = frozenset(UNKNOWN)


def reply_language(question: str, past: Past = NO_PAST) -> str:
    """Return the language to answer in: the question's, or, where a few words or a code do not
    tell it, that of the last user turn which did. `und` where none does."""
    own = detect(question, _LANGUAGES)
    if own != UNDETECTED:
        return own
    before = (turn.language for turn in reversed(past.turns) if turn.role == "user")
    return next((known for known in before if known not in ("", UNDETECTED)), UNDETECTED)


def unknown(language: str) -> str:
    """Return, in a language, that nothing answers the question."""
    return UNKNOWN.get(language, UNKNOWN["en"])


def part_unknown(part: str, language: str) -> str:
    """Return, in a language, that nothing answers one part of a question."""
    return _PART_UNKNOWN.get(language, _PART_UNKNOWN["en"]).format(part=part)
