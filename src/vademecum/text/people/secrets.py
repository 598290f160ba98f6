"""Does a text hold a secret that must not be kept: a key, a password, a card's number?"""

import regex

from vademecum.text.late import late
from vademecum.text.normalise import plain

_KEYS = late(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----
    | \b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_A-Za-z0-9]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[\w-]{16,}
    | \bxox[abprs]-[A-Za-z0-9-]{10,}
    | \bAIza[\w-]{30,}
    | \bvade_[A-Za-z0-9]+\.[\w-]{16,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}
    | \bBearer\s+[\w.~+/-]{16,}
    | [a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@
    """,
    regex.VERBOSE,
)
# A word for a secret and, after "is" or a mark, the secret itself: one word with a digit or a sign
# in it, or anything in quotes, or what follows a colon. "My password manager is Bitwarden" is none.
_NAMED = late(
    r"""
    \b(?:pass(?:word|code|phrase)?|pwd|pin(?:\s+code)?|cvv|cvc|api[\s_-]?key|secret(?:\s+key)?
        |access[\s_-]?(?:token|key)|token|private\s+key|recovery\s+(?:code|phrase)|seed\s+phrase
        |senha|palavra[-\s]passe|chave\s+(?:secreta|de\s+api)|codigo\s+de\s+seguranca
        |contrase[nñ]a|clave(?:\s+(?:secreta|de\s+acceso))?|c[oó]digo\s+de\s+seguridad)
    (?:\s+(?:for|of|to|do|da|de|del|para|no|na|en|em|on)\s+(?:\w+\s+){0,3}?\w+)?
    \s*(?:
        (?:\b(?:is|was|e|é|es|are)\b\s*[:=]?|[:=])\s*
            (?:["'“«`]\S.{0,80}["'”»`]|(?=\S*[\d!@\#$%^&*_+=])\S{3,})
        |[:=]\s*\S{6,})
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_SEED = late(r"\b(?:seed|recovery)\s+phrase\b\W+(?:is\W+)?(?:\w+\W+){11,}", regex.IGNORECASE)
_CARD = late(r"(?<![\d.,])\d(?:[ -]?\d){12,18}(?![\d.,]?\d)")


def holds_secret(text: str) -> bool:
    """Return whether a text holds a key, a password, or the number of a payment card (13 to 19
    digits with the check digit of ISO/IEC 7812)."""
    normal = plain(text)
    return bool(
        _KEYS.search(normal)
        or _NAMED.search(normal)
        or _SEED.search(normal)
        or any(_is_card(match.group()) for match in _CARD.finditer(normal))
    )


def _is_card(text: str) -> bool:
    digits = [int(letter) for letter in text if letter.isdigit()]
    total = sum(
        digit if place % 2 == 0 else sum(divmod(2 * digit, 10))
        for place, digit in enumerate(reversed(digits))
    )
    return total % 10 == 0 and len(set(digits)) > 1
