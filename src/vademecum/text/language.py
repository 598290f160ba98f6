"""Which language is a text in?"""

from functools import cache

import regex
from py3langid.langid import MODEL_FILE, LanguageIdentifier

UNKNOWN = "und"
_LETTERS = regex.compile(r"\p{L}")
# Few letters say little: below this many, what is likely anyway decides.
_SHORT = 12
# How much more a likely language counts, for texts of a sentence and for short ones.
_LIKELY, _LIKELY_SHORT = 8.0, 100.0
_DOUBTFUL = 0.05


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def warm() -> None:
    """Load the model (0.7 s), so that the first text does not wait for it."""
    _identifier()


def detect(text: str, likely: frozenset[str] = frozenset()) -> str:
    """Return the ISO 639-1 code of the text's language, or `und`.

    `likely` names languages that are expected here (the document's, the collection's); they win
    where the text alone leaves a doubt, as one or two words do.
    """
    letters = len(_LETTERS.findall(text[:2000]))
    if not letters:
        return next(iter(sorted(likely)), UNKNOWN)
    boost = _LIKELY_SHORT if letters < _SHORT else _LIKELY
    language, score = max(
        ((code, p * (boost if code in likely else 1.0)) for code, p in _identifier().rank(text)),
        key=lambda pair: pair[1],
    )
    return language if score >= _DOUBTFUL else UNKNOWN
