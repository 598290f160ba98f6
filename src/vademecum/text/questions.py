"""What does a question ask, part by part, and whom or what does it name?"""

import regex

# Words that begin a question in English, Portuguese and Spanish; a comma or "and" before one of
# them begins a new part. Other languages are divided at question marks only.
_STARTS = (
    r"what|when|where|which|who|whom|whose|why|how|is|are|was|were|can|could|may|do|does|did|will|"
    r"would|should|must|have|has|"
    r"o que|qual|quais|quando|onde|quem|por que|porque|como|quanto|quanta|quantos|quantas|há|"
    r"tem|têm|existe|existem|posso|pode|podem|preciso|é|são|será|"
    r"qué|que|cuál|cuáles|cuándo|dónde|quién|por qué|cómo|cuánto|cuánta|cuántos|cuántas|hay|"
    r"tiene|puedo|puede|pueden|necesito|es|son"
)
_PART = regex.compile(
    rf"(?<=[?？])\s+|[,;]?\s+(?:and|e|y|&)\s+(?:also\s+|também\s+|también\s+)?(?=¿?(?:{_STARTS})\b)"
    rf"|[;,]\s+(?=¿?(?:{_STARTS})\b)",
    regex.IGNORECASE,
)
_NAME_WORD = r"\p{Lu}[\p{L}\p{N}'’-]"
_NAME = regex.compile(
    rf"(?<!^)(?<![.?!¿¡]\s)(?<![¿¡])\b{_NAME_WORD}+"
    rf"(?:\s+(?:d[aeo]s?\s+|de\s+l[ao]s?\s+)?{_NAME_WORD}*)*"
)
_FEWEST_WORDS = 2


def parts(question: str) -> list[str]:
    """Return the parts of a question in the order asked, each a question of its own."""
    pieces = [piece.strip() for piece in _PART.split(question) if piece.strip(" ,;?¿？")]
    if len(pieces) < 2 or any(len(piece.split()) < _FEWEST_WORDS for piece in pieces):
        return [question.strip()]
    return pieces


def names(text: str) -> list[str]:
    """Return the capitalised names of a text, leaving out the word that begins it."""
    return list(dict.fromkeys(match.group() for match in _NAME.finditer(text)))


def search_text(part: str, question: str) -> str:
    """Return the part with those names of the whole question that it lacks.

    "… at Arena Paulista, and is there access to sector C?" asks about Arena Paulista twice.
    """
    missing = [name for name in names(question) if name not in part]
    return " ".join([part, *missing])
