"""In which language are the pages, and what is each thing called in it?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

COOKIE: Final = "language"
NAMES: Final = {"en": "English", "pt": "Português", "es": "Español"}
_FOLDER = Path(__file__).parent / "languages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One catalogue: texts by key, with places like `{count}` to fill."""

    code: str
    texts: Mapping[str, str]

    def say(self, key: str, **values: object) -> str:
        """Return a text of the pages. A key that is missing is a fault, found by a test."""
        return self.texts[key].format(**values)

    def count(self, key: str, count: int) -> str:
        """Return a text that speaks of so many things: `key.one` or `key.many`."""
        return self.say(f"{key}.{'one' if count == 1 else 'many'}", count=count)

    def known(self, group: str, name: str) -> str:
        """Return what a value of the system is called; one that has no name here stands for
        itself."""
        return self.texts.get(f"{group}.{name}", name)


@cache
def language(code: str) -> Language:
    """Return the catalogue of a language that `NAMES` has."""
    text = (_FOLDER / f"{code}.json").read_text(encoding="utf-8")
    return Language(code=code, texts=json.loads(text))


def chosen(cookies: Mapping[str, str], accepted: str) -> Language:
    """Return the language that the cookie names, else the one that the browser likes best."""
    named = cookies.get(COOKIE, "")
    return language(named if named in NAMES else _liked(accepted))


def _liked(accepted: str) -> str:
    """Return the best of ours in an Accept-Language header, English where there is none."""
    best, best_weight = "en", 0.0
    for part in accepted.split(",")[:20]:
        tag, _, rest = part.partition(";")
        code = tag.strip().lower().split("-")[0]
        weight = _weight(rest)
        if code in NAMES and weight > best_weight:
            best, best_weight = code, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
