"""What does a question ask, part by part, and whom or what does it name?"""

import regex

from vademecum.text.analyse import codes
from vademecum.text.late import late
from vademecum.text.people.statements import SELF, canonical, statement_in
from vademecum.text.sentences import sentence_spans

# Words that begin a question in English, Portuguese and Spanish. Other languages are divided at
# question marks only. After a bare comma only those count that begin no relative clause.
_CLEAR = (
    r"what|why|how|is|are|was|were|can|could|may|do|does|did|will|would|should|must|have|has|"
    r"o que|qual|quais|por que|porque|quant[oa]s?|h[áa]|tem|t[êe]m|existem?|posso|podem?|preciso|"
    r"é|são|será|"
    r"qu[ée]|cu[áa]l(?:es)?|por qué|cu[áa]nt[oa]s?|hay|tienen?|tengo|puedo|pueden?|necesito|es|son"
)
_CLAUSE = (
    r"when|where|which|who|whom|whose|quando|onde|quem|como|cu[áa]ndo|d[óo]nde|qui[ée]n|c[óo]mo"
)
_ASKED = r"tell me|explain|diga|me diga|explique|quero saber|dime|explica|quiero saber"
_MANNERS = r"(?:(?:also|then|também|tambem|también|tambien)\s+)?"
_CUT = late(
    rf"(?<=[?؟])\s+|(?<=？)\s*"
    rf"|[,;]?(?<!\s)\s++(?:and|e|y|&)\s++{_MANNERS}(?=¿?(?:{_CLEAR}|{_CLAUSE})\b)"
    rf"|(?P<comma>[;,])\s+(?=¿?(?:{_CLEAR})\b)|[;,]\s+(?=¿(?:{_CLAUSE})\b)",
    regex.IGNORECASE,
)
_BEGINS = late(
    rf"¿|(?:(?:at|in|on|for|to|from|a|em|de|com|para|en|con)\s+)?(?:{_CLEAR}|{_CLAUSE}|{_ASKED})\b",
    regex.IGNORECASE,
)
# "When the show is cancelled, can I …": what comes before the comma is no question.
_CONDITION = late(rf"¿?(?:{_CLAUSE})\b", regex.IGNORECASE)
# "I use a wheelchair. Can I …": whole sentences before one that asks.
_REMARKS = late(r"^.*(?:[.!]\s+|[。！]\s*)(?=\S)", regex.DOTALL)
_MARKED = late(r"[?？؟]\s*$")
_UNSPACED = late(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_FEWEST_WORDS = 2

_NAME_WORD = r"\p{Lu}[\p{L}\p{N}'’-]"
_NAME = late(rf"\b{_NAME_WORD}+(?:\s+(?:d[aeo]s?\s+|de\s+l[ao]s?\s+|del\s+)?{_NAME_WORD}*)*")
_BEGINS_SENTENCE = frozenset(".!?？¿¡")
_OPENING_WORD = late(
    rf"(?:{_CLEAR}|{_CLAUSE}|if|the|a|an|in|on|at|for|and|i|my|se|si|o|a|os|as|um|uma|no|na|nos|nas|"
    r"em|e|meu|minha|el|la|los|las|un|una|en|y|mi)\b\s*",
    regex.IGNORECASE,
)


def parts(question: str) -> list[str]:
    """Return the parts of a question in the order asked, each a question of its own.

    What is no question by itself (a greeting, a condition, a remark) stays with its neighbour.
    """
    found: list[tuple[int, int]] = []
    begin = start = 0
    for match in [*_CUT.finditer(question), None]:
        end = match.start() if match else len(question)
        before_comma = bool(match and match["comma"])
        if _asks(question[begin:end].strip(), before_comma=before_comma):
            found.append((begin, end))
            begin = match.end() if match else end
        start = match.end() if match else end
    if found and question[begin:start].strip():
        found[-1] = (found[-1][0], start)
    return [question[a:b].strip(" ,;\n") for a, b in found] or [question.strip()]


def _asks(piece: str, *, before_comma: bool) -> bool:
    piece = _REMARKS.sub("", piece)
    if len(piece.split()) < _FEWEST_WORDS and not _UNSPACED.search(piece):
        return False
    if before_comma and _CONDITION.match(piece):
        return False
    return bool(_BEGINS.match(piece) or _MARKED.search(piece))


def names(text: str) -> list[str]:
    """Return the capitalised names of a text: no codes, and no single word that begins a sentence,
    since there every word has a capital."""
    found: list[str] = []
    for match in _NAME.finditer(text):
        name = match.group()
        before = text[: match.start()].rstrip()
        if not before or before[-1] in _BEGINS_SENTENCE:
            name = _OPENING_WORD.sub("", name, count=1) if _OPENING_WORD.match(name) else name
            if name == match.group() and " " not in name:
                continue
        if len(name) > 1 and not codes(name):
            found.append(name)
    return list(dict.fromkeys(found))


def search_text(part: str, question: str) -> str:
    """Return the part with the names of the whole question that it lacks.

    "… at Arena Paulista, and is there access to sector C?" asks about Arena Paulista twice. Names
    that stand behind the part are taken only where it has none of its own, and none of what people
    tell of themselves: "I live in Porto" asks about no place.
    """
    until = question.find(part)
    own = names(part)
    missing = [
        name
        for name in names(without_own_statements(question))
        if name not in part and (not own or question.find(name) < until)
    ]
    return " ".join([part, *missing])


def asked_alone(part: str) -> str:
    """Return the sentences of a part that ask, with the names of its remarks that they lack; the
    part itself where it has no remarks, or nothing that asks."""
    sentences = [part[a:b] for a, b in sentence_spans(part)]
    asking = [sentence for sentence in sentences if _asks(sentence, before_comma=False)]
    if not asking or len(asking) == len(sentences):
        return part
    return search_text(" ".join(asking), part)


def without_own_statements(text: str) -> str:
    """Return a text without the sentences in which people tell of themselves."""
    spans = [(a, b) for a, b in sentence_spans(text) if _tells_of_self(text[a:b])]
    for begin, end in reversed(spans):
        text = f"{text[:begin]} {text[end:]}"
    return text


def _tells_of_self(sentence: str) -> bool:
    if _asks(sentence, before_comma=False):
        return False
    told = statement_in(canonical(sentence))
    return told is not None and told.subject == SELF
