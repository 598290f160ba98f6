"""How is it said that the documents do not answer, in the language of the question?"""

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


def unknown(question: str) -> str:
    """Return that nothing answers the question."""
    return UNKNOWN.get(detect(question, _LANGUAGES), UNKNOWN["en"])


def part_unknown(part: str) -> str:
    """Return that nothing answers one part of a question."""
    return _PART_UNKNOWN.get(detect(part, _LANGUAGES), _PART_UNKNOWN["en"]).format(part=part)
