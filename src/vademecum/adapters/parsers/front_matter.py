"""What does a Markdown document say of itself before its text?"""

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

import regex

from vademecum.model.document import MetadataValue
from vademecum.text.normalise import clean

_FENCED = regex.compile(
    r"\A\ufeff?(---|\+\+\+)[^\S\n]*\n(.*?)^(?:\1|\.\.\.)[^\S\n]*(?:\n|\Z)", regex.S | regex.M
)
_MOST_CHARACTERS = 100_000
_MOST_KEYS = 200


def split_front_matter(text: str) -> tuple[dict[str, MetadataValue], str]:
    """Return what a block of YAML (`---`) or TOML (`+++`) at the very top says, and the rest.

    Only the top level's single values and lists of them are kept, dates as ISO text. What is
    broken, or says nothing, is part of the text.
    """
    match = _FENCED.match(text)
    if match is None or match.end(2) > _MOST_CHARACTERS:
        return {}, text
    loads = _yaml if match[1] == "---" else _toml
    values = loads(match[2])
    if not isinstance(values, Mapping) or not values:
        return {}, text
    found: dict[str, MetadataValue] = {}
    for key, value in list(values.items())[:_MOST_KEYS]:
        plain = _plain(value)
        if plain is not None and isinstance(key, str | int):
            found[clean(str(key)).strip()] = plain
    return found, text[match.end() :]


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506  # a SafeLoader without aliases
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None


def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            # An alias of an alias grows without end, and no front matter needs one.
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)

    return Loader


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> MetadataValue:
    """Return a value as metadata holds it; None where it has no such form."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, str):
        return clean(value).strip()
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    if isinstance(value, list) and all(
        isinstance(item, str | int | float | date) for item in value
    ):
        return ", ".join(str(_plain(item)) for item in value)
    return None
