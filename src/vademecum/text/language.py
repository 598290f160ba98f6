"""Which language is a text in?"""

from functools import cache
from threading import Lock

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from vademecum.text.late import late

UNKNOWN = "und"
# The languages that our rules read: denials, numbers, orders, what people tell of themselves. A
# short text is taken for one of them unless it is clearly in another.
RULED = frozenset(["en", "es", "pt"])
_LOADING = Lock()
# In other scripts a few letters say enough, since few languages share the script.
_SHARED_SCRIPT = late(r"[\p{Latin}\p{Cyrillic}\p{Arabic}\p{Devanagari}]")
# Few letters say little: below this many, what is likely anyway decides.
_SHORT = 12
# How much more a likely language counts, for texts of a sentence and for short ones.
_LIKELY, _LIKELY_SHORT = 8.0, 100.0
# Below these probabilities the text alone says nothing: measured on words and questions, where
# one word of Portuguese passes for Norwegian at 0.20.
_DOUBTFUL, _DOUBTFUL_SHORT = 0.2, 0.5
# More than this is not read: a few sentences tell the language (.95 to 1.0 on single ones), and
# what is read costs its length.
_MOST = 500
# Codes, web addresses and e-mail addresses are in no language.
_NO_LANGUAGE = late(r"\S*(?:\d|@|://)\S*")
_HAS_NO_LANGUAGE = late(r"\d|@|://")


def _identifier() -> LanguageIdentifier:
    with _LOADING:  # or each of the first threads would load it
        return _loaded()


@cache
def _loaded() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def warm() -> None:
    """Load the model (0.7 s), so that the first text does not wait for it."""
    _identifier()


def detect(text: str, likely: frozenset[str] = frozenset()) -> str:
    """Return the ISO 639-1 code of the text's language, or `und`.

    `likely` names languages that are expected here (the document's, the collection's); they win
    where the text alone leaves a doubt, as one or two words do. A text without letters is in the
    likely language if there is one only.
    """
    head = text[:_MOST]
    if _HAS_NO_LANGUAGE.search(head, concurrent=False):
        head = _NO_LANGUAGE.sub(" ", head, concurrent=False)
    letters = sum(map(str.isalpha, head))
    if not letters:
        return next(iter(likely)) if len(likely) == 1 else UNKNOWN
    short = letters < _SHORT and bool(_SHARED_SCRIPT.search(head))
    boost = _LIKELY_SHORT if short else _LIKELY
    ranked = _identifier().rank(head)
    # Of those that nobody expects only the first can win.
    scores = dict(ranked[:1]) | {code: p * boost for code, p in ranked if code in likely}
    language = max(scores, key=lambda code: scores[code])
    enough = _DOUBTFUL_SHORT if short else _DOUBTFUL
    return language if scores[language] >= enough else UNKNOWN
