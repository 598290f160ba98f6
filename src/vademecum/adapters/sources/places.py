"""What do the words of one call name: files, folders, patterns, URLs, objects of a store?"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.adapters.sources import files
from vademecum.adapters.sources.files import Facts, make
from vademecum.errors import EgressRefused, InvalidSetting, ServiceAway, UsageError
from vademecum.model.document import Refused, Source, State

if TYPE_CHECKING:
    from vademecum.adapters.sources.egress import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One document that can be read; its uri is an absolute path or a URL."""

    uri: str
    read: Callable[[], bytes]


def networks(text: str) -> "tuple[Network, ...]":
    """Read the networks of `ingest.allow_networks`. Raises: InvalidSetting."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InvalidSetting(
            f"ingest.allow_networks is not valid: {error}", hint="write it like 10.1.0.0/16"
        ) from error


def find(words: Sequence[str], allowed: "Sequence[Network]" = ()) -> list[Place]:
    """Return the places that words name, each once, in a stable order.

    Raises: SourceNotFound for one that names nothing; UsageError, SourceAway for a store.
    """
    found: dict[str, Place] = {}
    for word in words:
        for place in _places(word, allowed):
            found.setdefault(place.uri, place)
    return list(found.values())


def _places(word: str, allowed: "Sequence[Network]") -> Iterator[Place]:
    scheme, separator, _ = word.partition("://")
    if not separator or Path(word).exists():
        for path in files.find([word]):
            yield Place(uri=str(path), read=partial(files.content, path))
    elif scheme.lower() in ("http", "https"):
        url = word.partition("#")[0]
        yield Place(uri=url, read=partial(_fetched, url, allowed))
    else:
        from vademecum.adapters.sources import stores

        for uri, read in stores.find(word):
            yield Place(uri=uri, read=read)


def _fetched(url: str, allowed: "Sequence[Network]") -> bytes:
    from vademecum.adapters.sources.egress import fetch  # loads an HTTP client

    return fetch(url, allowed=allowed).content


def read(places: Iterable[Place], facts: Facts) -> Iterator[Source | Refused]:
    """Read places one by one; one that cannot be read costs itself only."""
    for place in places:
        try:
            yield make(place.uri, place.read(), facts)
        except EgressRefused as error:
            yield Refused(uri=place.uri, reason=str(error), state=State.REJECTED)
        except (UsageError, ServiceAway) as error:
            yield Refused(uri=files.shown(place.uri), reason=str(error))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            yield Refused(uri=files.shown(place.uri), reason=f"it cannot be read ({reason})")
