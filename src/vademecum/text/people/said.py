"""What does a person say of themselves in earnest, in their own words?

Not what they quote or paste, not what they only suppose, joke about, ask, or order. Patterns for
English, Portuguese and Spanish, and the marks that all scripts share. They err on the side of
keeping nothing: what matters is said again, or said plainly.
"""

import regex

from vademecum.text.late import late
from vademecum.text.normalise import fold
from vademecum.text.sentences import sentence_spans

_FENCED = late(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", regex.DOTALL)
_QUOTED_LINE = late(r"^\s*(?:>|\|).*$", regex.MULTILINE)
# A mail or a message that was passed on, with all that stands below.
_PASSED_ON = late(
    r"^\s*(?:-{2,}\s*)?(?:(?:original|forwarded)\s+message|begin\s+forwarded\s+message"
    r"|mensagem\s+(?:original|encaminhada)|mensaje\s+(?:original|reenviado)"
    r"|(?:from|de|subject|assunto|asunto)\s*:\s.*)$.*",
    regex.IGNORECASE | regex.MULTILINE | regex.DOTALL,
)
_LONG_QUOTE = late(r"[\"“«„][^\"“”«»„]{25,}[\"”»]|‘[^‘’]{25,}’")
_INLINE_CODE = late(r"`[^`]*`")

_SUPPOSED = late(
    r"""(?<!\p{L})(?:
      (?:if|suppose|supposing|imagine|pretend|let(?:'|’)?s\s+(?:say|pretend|imagine)|what\s+if|assuming
        |hypothetically|in\s+theory|as\s+if|i\s+wish|would\s+(?:be|have|love|like)|i(?:'|’)d\s+(?:live|be|have|move)
        |might|maybe|perhaps|could\s+be)
      |(?:suponha(?:mos)?|imagine|imagina|digamos|finja|e\s+se|hipoteticamente|quem\s+dera|talvez
        |supondo)
      |(?:supon(?:gamos)?|supongamos|imagina|digamos|y\s+si|hipoteticamente|ojala|quiza|quizas
        |tal\s+vez)
    )(?!\p{L})""",
    regex.VERBOSE,
)
# "Si" is also a yes with its accent, and "se" is also "himself": only at a clause's beginning.
_IF = late(r"(?:^|[,;:.!?]\s*|\b(?:e|y|mas|pero|que)\s+)(?:se|si)\s")
_JOKE = late(
    r"(?<!\p{L})(?:(?:ha){2,}h?|(?:he){2,}|(?:ja){2,}j?|k{3,}|rs(?:rs)+|lol|lmao|rofl|jk|j/k"
    r"|just\s+kidding|only\s+joking|i(?:'|’)?m\s+(?:kidding|joking)|brincadeira|brincando|zoeira"
    r"|es\s+broma|en\s+broma|bromeo|bromeando)(?!\p{L})|[😂🤣😜😝😆]"
)
_QUESTION = late(r"[?？؟]\s*$|^\s*¿")
_ORDERED = late(
    r"""^\W*(?:please\s+|por\s+favor,?\s+|kindly\s+)?(?:
      run|execute|open|show|write|summari[sz]e|translate|explain|tell\s+me|give\s+me|find|search
      |list|create|make|fix|generate|call|send|read|check|test|try|repeat|say|print|echo|help
      |rode|execute|abra|mostre|escreva|resuma|traduza|explique|diga|encontre|procure|liste|crie
      |fa[cç]a|gere|envie|leia|teste|repita|ajude
      |ejecuta|abre|muestra|escribe|resume|traduce|explica|dime|dame|busca|encuentra|lista|crea
      |haz|genera|envia|lee|prueba|repite|ayuda
    )(?!\p{L})""",
    regex.VERBOSE,
)


def own_words(turn: str) -> str:
    """Return a turn without what its speaker quotes or pastes: code, quoted lines, messages passed
    on, and quotations longer than a name."""
    kept = _FENCED.sub("\n", turn)
    kept = _PASSED_ON.sub("\n", kept)
    kept = _QUOTED_LINE.sub("", kept)
    kept = _LONG_QUOTE.sub(" ", kept)
    return _INLINE_CODE.sub(" ", kept).strip()


def statements(turn: str) -> list[str]:
    """Return the sentences of a turn that its speaker says in earnest, in their order. A joke takes
    the whole turn with it, since what is meant is not in one sentence."""
    own = own_words(turn)
    if _JOKE.search(fold(own)):
        return []
    sentences = [own[start:end].strip() for start, end in sentence_spans(own)]
    return [sentence for sentence in sentences if is_earnest(sentence)]


def is_earnest(sentence: str) -> bool:
    """Return whether a sentence states something: it supposes, asks, orders and jokes nothing. What
    stands before a request ("I prefer dark mode, can you set it up?") is a statement."""
    folded = fold(sentence)
    if _JOKE.search(folded) or _ORDERED.match(folded):
        return False
    if _QUESTION.search(folded) and not _stated_before_request(folded):
        return False
    return not (_SUPPOSED.search(folded) or _IF.search(folded))


_OF_SPEAKER = late(
    r"(?<!\p{L})(?:i|i(?:'|’)(?:m|ve|d|ll)|my|me|mine|myself|we|we(?:'|’)(?:re|ve)|our|ours|us)(?!\p{L})"
)


def tells_of_speaker(sentence: str) -> bool:
    """Return whether an English sentence speaks of its speaker, or of who is theirs. "Dinner ideas"
    and "it rains" do not."""
    return _OF_SPEAKER.search(fold(sentence)) is not None


_REQUEST = late(
    r"[,;]\s+(?:so\s+|and\s+)?(?:can|could|would|will)\s+you\b"
    r"|[,;]\s+(?:voce\s+|vc\s+)?(?:pode|poderia|consegue)\b|[,;]\s+(?:puedes|podrias|puede)\b"
)
_STATES = late(r"^\W*(?:i|i(?:'|’)m|my|we|eu|meu|minha|yo|mi|me)(?!\p{L})")


def _stated_before_request(folded: str) -> bool:
    return bool(_STATES.match(folded) and _REQUEST.search(folded))
